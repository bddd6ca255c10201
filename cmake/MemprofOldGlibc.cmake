# Links what is loaded into programs of users so that it runs with old C libraries too.
#
# memprof_link_for_glibc(VERSION TARGET…)
#   Each TARGET, a shared library or a program, needs glibc VERSION or younger, and no shared C++ library. A
#   function that is younger is an error of the linker, unless old_glibc/compat.c has it. Does nothing under
#   sanitizers, whose runtimes need the build machine's C library. tests/install checks the libraries.

# Fills FOLDER with stubs of glibc VERSION for the linker (old_glibc/make_stubs.py).
function(memprof_make_glibc_stubs version folder)
  set(script ${PROJECT_SOURCE_DIR}/cmake/old_glibc/make_stubs.py)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
  if(EXISTS ${folder}/libc.so AND ${folder}/libc.so IS_NEWER_THAN ${script})
    return()
  endif()
  string(REGEX MATCH "aarch64|x86_64" machine ${CMAKE_SYSTEM_PROCESSOR})
  set(loader_aarch64 ld-linux-aarch64.so.1)
  set(loader_x86_64 ld-linux-x86-64.so.2)
  set(options)
  foreach(option "libc libc.so.6" "libm libm.so.6" "nonshared libc_nonshared.a" "loader ${loader_${machine}}")
    separate_arguments(option)
    list(GET option 1 name)
    execute_process(COMMAND ${CMAKE_C_COMPILER} --sysroot=${CMAKE_SYSROOT} -print-file-name=${name}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    list(GET option 0 option)
    list(APPEND options --${option} ${path})
  endforeach()
  execute_process(
    COMMAND ${Python3_EXECUTABLE} ${script} --floor ${version} --cc ${CMAKE_C_COMPILER}
            --objdump ${CMAKE_OBJDUMP} ${options} --out ${folder}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(memprof_link_for_glibc version)
  if(MEMPROF_SANITIZE)
    return()
  endif()
  set(stubs ${PROJECT_BINARY_DIR}/glibc-${version})
  memprof_make_glibc_stubs(${version} ${stubs})
  if(NOT TARGET memprof_glibc_compat)
    add_library(memprof_glibc_compat OBJECT ${PROJECT_SOURCE_DIR}/cmake/old_glibc/compat.c)
    target_link_libraries(memprof_glibc_compat PRIVATE memprof_options)
    set_target_properties(memprof_glibc_compat PROPERTIES C_STANDARD 11)
  endif()
  foreach(target IN LISTS ARGN)
    target_link_options(${target} PRIVATE -L${stubs} -static-libstdc++ -static-libgcc)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:memprof_glibc_compat>)
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL EXECUTABLE)
      target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/old_glibc/start.c)
    endif()
  endforeach()
endfunction()
