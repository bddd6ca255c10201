# Modules: a folder of sources names the other folders that it may use.
#
# memprof_module_library(NAME)
#   One static library for all modules in the folder NAME that follow, so that sources of several modules are compiled
#   as one: names in unnamed namespaces must be unique within NAME.
# memprof_module(FOLDER [OBJECTS | OWN] [DEPENDS FOLDER…] [PUBLIC TARGET…] [PRIVATE TARGET…])
#   All sources in FOLDER and in its internal/, as the target memprof_<folder with underscores>. Files of this project
#   that they include must be in FOLDER itself or, except in an internal/, in a folder of DEPENDS. tests/layers checks
#   that, and the same for links between libraries.
#   OBJECTS: an object library instead, without Abseil, for code that is loaded into the programs of
#     users. It is linked by $<TARGET_OBJECTS:…>. Without sources there is none.
#   OWN: a library of its own.
#   PUBLIC, PRIVATE: other targets, as in target_link_libraries.
# memprof_name_module(FOLDER TARGET)
#   TARGET, whose sources are in FOLDER and use no module, can be named in DEPENDS.
# memprof_write_modules(FILE)
#   Writes "FOLDER;LIBRARY OR OBJECTS,…;DEPENDS,…" of each module, one a line, when the build is generated; of a library
#   of several modules "NAME/", and what they need of others.
function(memprof_static_library target)
  add_library(${target} STATIC)
  target_link_libraries(${target} PUBLIC memprof_options)
  memprof_group_sources(${target})
  set_property(GLOBAL APPEND PROPERTY MEMPROF_MODULE_TARGETS ${target})
endfunction()

function(memprof_module_library name)
  memprof_static_library(memprof_${name}_modules)
  set_property(GLOBAL APPEND PROPERTY MEMPROF_MODULE_LIBRARIES ${name})
endfunction()

function(memprof_module folder)
  cmake_parse_arguments(PARSE_ARGV 1 module "OBJECTS;OWN" "" "DEPENDS;PUBLIC;PRIVATE")
  string(REPLACE "/" "_" target "memprof_${folder}")
  string(REGEX MATCH "^[^/]+" top ${folder})
  file(GLOB sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/${folder}/*.cc ${PROJECT_SOURCE_DIR}/${folder}/internal/*.cc)
  set(files)
  if(module_OBJECTS AND sources)
    add_library(${target} OBJECT ${sources})
    target_link_libraries(${target} PUBLIC memprof_options ${module_PUBLIC} PRIVATE ${module_PRIVATE})
    set(files "$<JOIN:$<TARGET_OBJECTS:${target}>,$<COMMA>>")
  elseif(NOT module_OBJECTS)
    list(TRANSFORM module_DEPENDS REPLACE "/" "_" OUTPUT_VARIABLE used)
    list(TRANSFORM used PREPEND memprof_)
    set(library memprof_${top}_modules)
    if(module_OWN OR NOT TARGET ${library})
      memprof_static_library(${target})
      set(library ${target})
      set(files "$<TARGET_FILE:${target}>")
    else()
      add_library(${target} INTERFACE)
      target_link_libraries(${target} INTERFACE ${library})
      list(FILTER used EXCLUDE REGEX "^memprof_${top}_")
      set(outside ${module_DEPENDS})
      list(FILTER outside EXCLUDE REGEX "^${top}/")
      set_property(GLOBAL APPEND PROPERTY MEMPROF_MODULES_NEED_${top} ${outside})
    endif()
    target_sources(${library} PRIVATE ${sources})
    target_link_libraries(${library} PUBLIC ${used} ${module_PUBLIC} PRIVATE ${module_PRIVATE})
  endif()
  list(JOIN module_DEPENDS "," depends)
  set_property(GLOBAL APPEND PROPERTY MEMPROF_MODULES "${folder}\;${files}\;${depends}")
endfunction()

function(memprof_name_module folder target)
  string(REPLACE "/" "_" name "memprof_${folder}")
  add_library(${name} ALIAS ${target})
  set_property(GLOBAL APPEND PROPERTY MEMPROF_MODULES "${folder}\;$<TARGET_FILE:${target}>\;")
endfunction()

function(memprof_write_modules path)
  get_property(modules GLOBAL PROPERTY MEMPROF_MODULES)
  get_property(libraries GLOBAL PROPERTY MEMPROF_MODULE_LIBRARIES)
  foreach(name IN LISTS libraries)
    get_property(needed GLOBAL PROPERTY MEMPROF_MODULES_NEED_${name})
    foreach(other IN LISTS libraries)  # as one library
      list(TRANSFORM needed REPLACE "^${other}/.*" "${other}/")
    endforeach()
    list(REMOVE_DUPLICATES needed)
    list(JOIN needed "," needed)
    list(APPEND modules "${name}/\;$<TARGET_FILE:memprof_${name}_modules>\;${needed}")
  endforeach()
  list(JOIN modules "\n" lines)
  file(GENERATE OUTPUT ${path} CONTENT "${lines}\n")
endfunction()
