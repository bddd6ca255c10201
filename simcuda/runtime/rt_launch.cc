// Kernel launches, attributes of functions and occupancy.
#include <cuda_runtime_api.h>

#include <vector>

#include "simcuda/runtime/registry.h"
#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::FindFunction;
using memprof::simcuda::runtime::FindKernel;

namespace {

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
};
thread_local std::vector<CallConfiguration> t_configurations;

int Launch(const Calls& cu, const void* kernel, dim3 grid, dim3 block, void** args, size_t shared,
           cudaStream_t stream) {
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0) return error;
  const int result = cu.cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                       static_cast<unsigned>(shared), stream, args, nullptr);
  return result == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidConfiguration : result;
}

int AttributeOf(const Calls& cu, CUfunction function, CUfunction_attribute attribute) {
  int value = 0;
  cu.cuFuncGetAttribute(&value, attribute, function);
  return value;
}

}  // namespace

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream_st* stream) {
  t_configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (t_configurations.empty()) return cudaErrorMissingConfiguration;
  const CallConfiguration& top = t_configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  t_configurations.pop_back();
  return cudaSuccess;
}

}  // extern "C"

SIMCUDA_RT_STREAM(cudaLaunchKernel, _ptsz,
                  (const void* kernel, dim3 grid, dim3 block, void** args, size_t shared,
                   cudaStream_t stream),
                  (kernel, grid, block, args, shared, stream)) {
  return Launch(cu, kernel, grid, block, args, shared, stream);
}

SIMCUDA_RT_STREAM(__cudaLaunchKernel, _ptsz,
                  (cudaKernel_t kernel, dim3 grid, dim3 block, void** args, size_t shared,
                   cudaStream_t stream),
                  (kernel, grid, block, args, shared, stream)) {
  return Launch(cu, kernel, grid, block, args, shared, stream);
}

SIMCUDA_RT_STREAM(cudaLaunchKernelExC, _ptsz,
                  (const cudaLaunchConfig_t* config, const void* kernel, void** args),
                  (config, kernel, args)) {
  static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute));
  if (config == nullptr) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0) return error;
  CUlaunchConfig launch = {};
  launch.gridDimX = config->gridDim.x;
  launch.gridDimY = config->gridDim.y;
  launch.gridDimZ = config->gridDim.z;
  launch.blockDimX = config->blockDim.x;
  launch.blockDimY = config->blockDim.y;
  launch.blockDimZ = config->blockDim.z;
  launch.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  launch.hStream = config->stream;
  launch.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
  launch.numAttrs = config->numAttrs;
  return cu.cuLaunchKernelEx(&launch, function, args, nullptr);
}

SIMCUDA_RT_STREAM(cudaLaunchCooperativeKernel, _ptsz,
                  (const void* kernel, dim3 grid, dim3 block, void** args, size_t shared,
                   cudaStream_t stream),
                  (kernel, grid, block, args, shared, stream)) {
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0) return error;
  return cu.cuLaunchCooperativeKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                      static_cast<unsigned>(shared), stream, args);
}

// A kernel handle is valid in every context; only launches need one.
extern "C" cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* kernel);
extern "C" cudaError_t __cudaGetKernel(cudaKernel_t* handle, const void* kernel) {
  *handle = reinterpret_cast<cudaKernel_t>(FindKernel(kernel));
  return *handle == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

SIMCUDA_RT(cudaGetKernel, (cudaKernel_t * handle, const void* kernel), (handle, kernel)) {
  if (handle == nullptr) return cudaErrorInvalidValue;
  return __cudaGetKernel(handle, kernel);
}

SIMCUDA_RT(cudaGetFuncBySymbol, (cudaFunction_t * function, const void* kernel),
           (function, kernel)) {
  if (function == nullptr) return cudaErrorInvalidValue;
  return FindFunction(kernel, function);
}

SIMCUDA_RT(cudaFuncGetName, (const char** name, const void* kernel), (name, kernel)) {
  const auto* found = FindKernel(kernel);
  if (found == nullptr) return cudaErrorInvalidDeviceFunction;
  if (name == nullptr) return cudaErrorInvalidValue;
  *name = found->name.c_str();
  return CUDA_SUCCESS;
}

SIMCUDA_RT(cudaFuncGetAttributes, (cudaFuncAttributes * attributes, const void* kernel),
           (attributes, kernel)) {
  if (attributes == nullptr) return cudaErrorInvalidValue;
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0) return error;
  // The struct gets more fields in later versions; these are the fields that all versions have.
  attributes->sharedSizeBytes =
      static_cast<size_t>(AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  attributes->constSizeBytes =
      static_cast<size_t>(AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  attributes->localSizeBytes =
      static_cast<size_t>(AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  attributes->maxThreadsPerBlock =
      AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  attributes->numRegs = AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_NUM_REGS);
  attributes->ptxVersion = AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_PTX_VERSION);
  attributes->binaryVersion = AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  attributes->cacheModeCA = AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
  attributes->maxDynamicSharedSizeBytes =
      AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  attributes->preferredShmemCarveout =
      AttributeOf(cu, function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  return CUDA_SUCCESS;
}

SIMCUDA_RT(cudaFuncSetAttribute, (const void* kernel, cudaFuncAttribute attribute, int value),
           (kernel, attribute, value)) {
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0) return error;
  return cu.cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(attribute), value);
}

SIMCUDA_RT(cudaFuncSetCacheConfig, (const void* kernel, cudaFuncCache config), (kernel, config)) {
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0) return error;
  return cu.cuFuncSetCacheConfig(function, static_cast<CUfunc_cache>(config));
}

SIMCUDA_RT(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
           (int* blocks, const void* kernel, int block_size, size_t shared, unsigned flags),
           (blocks, kernel, block_size, shared, flags)) {
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0) return error;
  return cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size,
                                                                 shared, flags);
}

SIMCUDA_RT(cudaOccupancyMaxActiveBlocksPerMultiprocessor,
           (int* blocks, const void* kernel, int block_size, size_t shared),
           (blocks, kernel, block_size, shared)) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_body(cu, blocks, kernel, block_size,
                                                                     shared, 0);
}

SIMCUDA_RT(cudaOccupancyAvailableDynamicSMemPerBlock,
           (size_t * bytes, const void* kernel, int blocks, int block_size),
           (bytes, kernel, blocks, block_size)) {
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0) return error;
  return cu.cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, block_size);
}

SIMCUDA_RT(cudaDeviceGetSharedMemConfig, (cudaSharedMemConfig * config), (config)) {
  return cu.cuCtxGetSharedMemConfig(reinterpret_cast<CUsharedconfig*>(config));
}

SIMCUDA_RT(cudaDeviceSetSharedMemConfig, (cudaSharedMemConfig config), (config)) {
  return cu.cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(config));
}

SIMCUDA_RT(cudaFuncSetSharedMemConfig, (const void* kernel, cudaSharedMemConfig /*config*/),
           (kernel, cudaSharedMemBankSizeDefault)) {
  CUfunction function = nullptr;
  return FindFunction(kernel, &function);
}
