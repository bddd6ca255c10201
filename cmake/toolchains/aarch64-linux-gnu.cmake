# Builds for 64-bit ARM on another machine, with Debian's g++-aarch64-linux-gnu and the folder that
# scripts/sysroot makes. Code generators (protoc, moc, Python) are those of the building machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(MEMPROF_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../../build-aarch64/sysroot
  CACHE PATH "What scripts/sysroot has made")
# CMake reads this file again for its own small builds, which do not have the cache.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MEMPROF_SYSROOT)
get_filename_component(CMAKE_SYSROOT ${MEMPROF_SYSROOT} REALPATH)
if(NOT EXISTS ${CMAKE_SYSROOT}/usr/include)
  message(FATAL_ERROR "Nothing in ${CMAKE_SYSROOT}; run scripts/sysroot arm64 ${CMAKE_SYSROOT}")
endif()

set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)  # CUDA's headers are the same for every architecture
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
  ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

# Only the toolkit's headers are used. FindCUDAToolkit wants a runtime of the target, which a toolkit for
# the building machine does not have.
set(CUDA_CUDART CUDA_CUDART-unused CACHE FILEPATH "")
set(QT_HOST_PATH /usr CACHE PATH "Where the building machine's Qt has its tools")
foreach(part Core DBus Gui Widgets)  # by their folder, because Debian's is not where Qt looks
  set(Qt6${part}Tools_DIR /usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/cmake/Qt6${part}Tools CACHE PATH "")
endforeach()
find_program(MEMPROF_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(MEMPROF_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${MEMPROF_QEMU} -L ${CMAKE_SYSROOT})
endif()
