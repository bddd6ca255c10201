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

# GCC collects garbage each time its heap has doubled. A larger minimum heap saves a tenth of the compile time, and
# costs 100 MB.
add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param ggc-min-heapsize=600000>")

# Assertions name files as in the checkout, wherever that is: otherwise a cache of compilations would fit one clone only.
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# memprof_group_sources(TARGET…)
#   With MEMPROF_UNITY (ON by default), 32 sources are compiled as one, because most of the time is for
#   headers and templates: eight in a third of the time of one by one, 32 in four fifths of the time of four
#   times eight (20.2 s and 24.9 s, of the viewer). Precompiled headers then save no more than they take.
#   Names in unnamed namespaces must be unique within a target. Not for injected libraries, whose code
#   should not depend on options of the build.
option(MEMPROF_UNITY "Compile several sources at once" ON)
function(memprof_group_sources)
  if(MEMPROF_UNITY)
    set_target_properties(${ARGV} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 32)
    foreach(target IN LISTS ARGV)  # GCC takes included sources for headers, and warns about unnamed namespaces
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
    endforeach()
  endif()
endfunction()

# Clang, unlike GCC, warns about braces around a single value.
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

# For generator expressions, in which the comma of a list of sanitizers would be a separator.
set(MEMPROF_SANITIZED OFF)
if(MEMPROF_SANITIZE)
  set(MEMPROF_SANITIZED ON)
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${MEMPROF_SANITIZE}>
    $<$<COMPILE_LANGUAGE:C,CXX>:-fno-omit-frame-pointer>
    $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=all>)
  add_link_options(-fsanitize=${MEMPROF_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND MEMPROF_SANITIZE MATCHES address)
    # As with GCC: a shared runtime, which an injected library can bring into a program, and a macro that
    # shows the sanitizer.
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
      OUTPUT_VARIABLE asan_runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(asan_runtime_dir ${asan_runtime} DIRECTORY)
    add_link_options(-shared-libasan LINKER:-rpath,${asan_runtime_dir})
    add_compile_definitions(__SANITIZE_ADDRESS__)
  endif()
  # These checks take a fifth of the compile time, and the address sanitizer finds such errors too.
  if(MEMPROF_SANITIZE MATCHES address)
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=null,object-size,vptr>)
  endif()
  # Functions from dlsym are called through types with our own structs, which have the driver's layout.
  add_compile_options("$<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function>")
endif()

# lld links programs in a third of the time. Injected libraries and stand-ins keep the default linker.
if(MEMPROF_BUILD_TESTS)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld MEMPROF_HAS_LLD)
  if(MEMPROF_HAS_LLD)
    add_link_options("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-fuse-ld=lld;LINKER:--build-id=sha1>")
  endif()
endif()
