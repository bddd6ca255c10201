# Programs without shared libraries, for packages (scripts/package).
#
# memprof_use_static_packages()
#   The packages that this folder found (find_package, pkg_check_modules) are linked as archives. Only with
#   MEMPROF_STATIC_PROGRAMS.
# memprof_link_statically(TARGET)
#   The program TARGET has the C library in it, and then runs on every Linux of its architecture. Only
#   with MEMPROF_STATIC_PROGRAMS.
option(MEMPROF_STATIC_PROGRAMS "Link bin/memprof without shared libraries" OFF)

# Of each path such as /usr/lib/libz.so.1.2.3 in the list, the archive beside it, where there is one.
function(memprof_archives_of list)
  set(archives)
  foreach(path IN LISTS ${list})
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${path}")
    if(EXISTS "${archive}")
      set(path "${archive}")
    endif()
    list(APPEND archives "${path}")
  endforeach()
  set(${list} "${archives}" PARENT_SCOPE)
endfunction()

function(memprof_use_static_packages)
  if(NOT MEMPROF_STATIC_PROGRAMS)
    return()
  endif()
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    list(TRANSFORM configurations PREPEND IMPORTED_LOCATION_)
    foreach(property IMPORTED_LOCATION INTERFACE_LINK_LIBRARIES ${configurations})
      get_target_property(paths ${target} ${property})
      if(paths)
        memprof_archives_of(paths)
        set_property(TARGET ${target} PROPERTY ${property} ${paths})
      endif()
    endforeach()
  endforeach()
endfunction()

function(memprof_link_statically target)
  if(MEMPROF_STATIC_PROGRAMS)
    target_link_options(${target} PRIVATE -static)
  endif()
endfunction()
