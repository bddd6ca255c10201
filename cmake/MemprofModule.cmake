# Modules: a folder of sources is a library, and lists the other folders that it may use.
#
# memprof_module(FOLDER [OBJECTS] [DEPENDS FOLDER…] [PUBLIC TARGET…] [PRIVATE TARGET…]
#                [PRECOMPILED OF HEADER…])
#   Makes the static library memprof_<folder with underscores> of all sources in FOLDER and in its
#   internal/. Files of this project that it includes must be in FOLDER itself or, except in an
#   internal/, in a folder of DEPENDS. tests/layers checks that, and the same for links.
#   OBJECTS: an object library instead, without Abseil, for code that is loaded into the programs of
#     users. It is linked by $<TARGET_OBJECTS:…>. Without sources there is none.
#   PUBLIC, PRIVATE: other targets, as in target_link_libraries.
#   PRECOMPILED: with these headers too, as in memprof_precompile.
# memprof_name_module(FOLDER TARGET)
#   TARGET, whose sources are in FOLDER and use no module, can be named in DEPENDS.
# memprof_write_modules(FILE)
#   Writes "FOLDER;LIBRARY OR OBJECTS,…;DEPENDS,…" of each module, one a line, when the build is generated.
function(memprof_module folder)
  cmake_parse_arguments(PARSE_ARGV 1 module "OBJECTS" "" "DEPENDS;PUBLIC;PRIVATE;PRECOMPILED")
  string(REPLACE "/" "_" target "memprof_${folder}")
  file(GLOB sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/${folder}/*.cc ${PROJECT_SOURCE_DIR}/${folder}/internal/*.cc)
  if(module_OBJECTS AND sources)
    add_library(${target} OBJECT ${sources})
    target_link_libraries(${target} PUBLIC memprof_options ${module_PUBLIC} PRIVATE ${module_PRIVATE})
    set(files "$<JOIN:$<TARGET_OBJECTS:${target}>,$<COMMA>>")
  elseif(NOT module_OBJECTS)
    add_library(${target} STATIC ${sources})
    list(TRANSFORM module_DEPENDS REPLACE "/" "_" OUTPUT_VARIABLE used)
    list(TRANSFORM used PREPEND memprof_)
    target_link_libraries(${target} PUBLIC memprof_options ${used} ${module_PUBLIC}
      PRIVATE ${module_PRIVATE})
    memprof_group_sources(${target})
    list(POP_FRONT module_PRECOMPILED alike)
    if(NOT alike)
      set(alike modules)
    endif()
    memprof_precompile(${target} ${alike} <algorithm> <cstdint> <functional> <map> <memory> <optional>
      <span> <string> <string_view> <utility> <vector>
      <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/status/statusor.h>
      <absl/strings/str_cat.h> ${module_PRECOMPILED})
    set(files "$<TARGET_FILE:${target}>")
    set_property(GLOBAL APPEND PROPERTY MEMPROF_MODULE_TARGETS ${target})
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
  list(JOIN modules "\n" lines)
  file(GENERATE OUTPUT ${path} CONTENT "${lines}\n")
endfunction()
