# Language level, warnings and sanitizers, the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Stacks in our own programs should have lines, in every build type.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")

# GCC goes through all that it holds as often as it has doubled, precompiled headers included: a tenth of the time, to
# save 100 MB.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=600000>")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  # With these it looks at what precompiled headers are made of, not at when.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

# memprof_precompile(TARGET OF HEADER…)
#   TARGET's sources begin with these headers, compiled once for all targets of the same OF: those that
#   are compiled alike, and the first of them defines nothing that the others do not. Only headers of
#   others: what changes here would have all compiled anew.
function(memprof_precompile target of)
  # ccache wants to see what is precompiled, and nothing in it that changes each time.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>
    "$<$<COMPILE_LANG_AND_ID:CXX,Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # It warns of std::string's own code, and no longer knows that headers of the system are that.
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds -Wno-restrict -Wno-stringop-overflow>)
  endif()
  get_property(first GLOBAL PROPERTY MEMPROF_PRECOMPILED_${of})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY MEMPROF_PRECOMPILED_${of} ${target})
  endif()
endfunction()

# memprof_group_sources(TARGET…)
#   With MEMPROF_UNITY (ON by default), eight sources are compiled as one, which takes a third of the time: most of it
#   goes to headers. Names of unnamed namespaces must then differ within a target. Not for what is
#   injected, whose code should not depend on who builds it.
option(MEMPROF_UNITY "Compile several sources at once" ON)
function(memprof_group_sources)
  if(MEMPROF_UNITY)
    set_target_properties(${ARGV} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    foreach(target IN LISTS ARGV)  # it takes sources for headers, whose unnamed namespaces it warns of
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
    endforeach()
  endif()
endfunction()

add_library(memprof_options INTERFACE)
target_compile_options(memprof_options INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers>
  $<$<COMPILE_LANG_AND_ID:C,Clang>:-Wno-braced-scalar-init>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-braced-scalar-init>)
target_include_directories(memprof_options INTERFACE ${PROJECT_SOURCE_DIR})

option(MEMPROF_WERROR "Treat warnings as errors" OFF)
if(MEMPROF_WERROR)
  target_compile_options(memprof_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
endif()

# For generator expressions: the list of sanitizers may hold a comma.
set(MEMPROF_SANITIZED OFF)
if(MEMPROF_SANITIZE)
  set(MEMPROF_SANITIZED ON)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${MEMPROF_SANITIZE}>
    $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>
    $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${MEMPROF_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND MEMPROF_SANITIZE MATCHES address)
    # As GCC does it: the runtime is a library, which an injected library may bring into a program, and a macro tells.
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
      OUTPUT_VARIABLE asan_runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(asan_runtime_dir ${asan_runtime} DIRECTORY)
    add_link_options(-shared-libasan LINKER:-rpath,${asan_runtime_dir})
    add_compile_definitions(__SANITIZE_ADDRESS__)
  endif()
  # A fifth of the time to compile, for what the address sanitizer sees as well.
  if(MEMPROF_SANITIZE MATCHES address)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,object-size,vptr>)
  endif()
  # Functions that dlsym finds are called as types with structs of our own, which have the driver's layout.
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>")
endif()

# lld links programs in a third of the time. What is injected, and the stand-ins, are linked as they always were.
if(MEMPROF_BUILD_TESTS)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld MEMPROF_HAS_LLD)
  if(MEMPROF_HAS_LLD)
    add_link_options("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-fuse-ld=lld;LINKER:--build-id=sha1>")
  endif()
endif()
