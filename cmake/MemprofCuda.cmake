# Finds the CUDA toolkit: its headers are needed by the stand-in, the recorder and the CUPTI hooks,
# nvcc by the demo trainer. Neither libcuda nor libcupti is ever linked.
#
# Defines memprof::cuda_headers (cuda.h, cuda_runtime_api.h, …) and memprof::cupti_headers.

# CMake 3.25 marks this target as deprecated without looking whether it exists, and toolkits from
# 12.9 on no longer have the library.
if(NOT TARGET CUDA::nvToolsExt)
  add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
endif()
find_package(CUDAToolkit 11.8 REQUIRED)
message(STATUS "CUDA toolkit ${CUDAToolkit_VERSION} in ${CUDAToolkit_TARGET_DIR}")

add_library(memprof_cuda_headers INTERFACE)
add_library(memprof::cuda_headers ALIAS memprof_cuda_headers)
target_include_directories(memprof_cuda_headers SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})

find_path(MEMPROF_CUPTI_INCLUDE_DIR cupti.h
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_TARGET_DIR}/extras/CUPTI/include
        ${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include)
add_library(memprof_cupti_headers INTERFACE)
add_library(memprof::cupti_headers ALIAS memprof_cupti_headers)
if(MEMPROF_CUPTI_INCLUDE_DIR)
  target_include_directories(memprof_cupti_headers SYSTEM INTERFACE ${MEMPROF_CUPTI_INCLUDE_DIR})
else()
  message(FATAL_ERROR "cupti.h not found in ${CUDAToolkit_TARGET_DIR}: install the toolkit's CUPTI")
endif()
target_link_libraries(memprof_cupti_headers INTERFACE memprof_cuda_headers)
