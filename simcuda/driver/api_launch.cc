// Kernel launches and occupancy.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "driver_api.h"
#include "simcuda/common/config.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/contents.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/graph.h"
#include "simcuda/driver/module.h"

namespace memprof::simcuda {
namespace {

constexpr unsigned kMaxThreads = 1024;
constexpr int kWarp = 32;

const GpuModel& Gpu() { return *GlobalConfig(false).gpu; }
const CapabilityLimits& Limits() {
  static const CapabilityLimits& limits = LimitsOf(Gpu());
  return limits;
}
size_t MaxSharedBytes() { return static_cast<size_t>(Limits().shared_per_block_bytes); }

// A launch that waits in a stream, with a copy of its arguments.
struct PendingLaunch {
  simcuda_host_kernel host = nullptr;
  simcuda_launch launch{};
  std::vector<void*> args;
  std::vector<max_align_t> storage;

  void CopyArguments(const ParamLayout& layout, void* const* params, const uint8_t* buffer,
                     size_t buffer_bytes) {
    // Each argument begins at a multiple of the largest alignment.
    constexpr size_t kUnit = sizeof(max_align_t);
    size_t units = 0;
    for (const size_t size : layout.sizes)
      units += RoundUp(std::max<size_t>(size, 1), kUnit) / kUnit;
    storage.resize(units);
    auto* next = reinterpret_cast<uint8_t*>(storage.data());
    for (size_t i = 0; i < layout.sizes.size(); ++i) {
      const size_t size = layout.sizes[i];
      if (params != nullptr) {
        std::memcpy(next, params[i], size);
      } else if (layout.offsets[i] + size <= buffer_bytes) {
        std::memcpy(next, buffer + layout.offsets[i], size);
      }
      args.push_back(next);
      next += RoundUp(std::max<size_t>(size, 1), kUnit);
    }
    launch.args = args.data();
  }
};

// Arguments in one packed buffer (CU_LAUNCH_PARAM_BUFFER_POINTER).
CUresult ReadExtra(void** extra, const uint8_t** buffer, size_t* bytes) {
  *buffer = nullptr;
  *bytes = 0;
  for (int i = 0; extra != nullptr && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (i > 4) return CUDA_ERROR_INVALID_VALUE;
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      *buffer = static_cast<const uint8_t*>(extra[i + 1]);
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      *bytes = *static_cast<const size_t*>(extra[i + 1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

bool GoodShape(const unsigned* grid, const unsigned* block, size_t shared) {
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  return grid[0] > 0 && grid[1] > 0 && grid[2] > 0 && grid[0] <= 2147483647u && grid[1] <= 65535 &&
         grid[2] <= 65535 && block[0] > 0 && block[1] > 0 && block[2] > 0 &&
         block[0] <= kMaxThreads && block[1] <= kMaxThreads && block[2] <= 64 &&
         threads <= kMaxThreads && shared <= MaxSharedBytes();
}

CUresult Launch(CUfunction handle, const LaunchShape& shape, CUstream stream_handle, void** params,
                void** extra) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult known = RequireStream(stream_handle, &context, &stream);
  if (known != CUDA_SUCCESS) return known;
  std::function<void()> work;
  const CUresult result = KernelWork(handle, shape, params, extra, context->device().id(), &work);
  if (result != CUDA_SUCCESS) return result;
  if (IsCapturing(stream)) {
    CUDA_KERNEL_NODE_PARAMS_v1 node = {
        handle,         shape.grid[0],  shape.grid[1],  shape.grid[2],
        shape.block[0], shape.block[1], shape.block[2], 0,
        params,         extra};
    node.sharedMemBytes = static_cast<unsigned>(shape.shared);
    return CaptureWork(stream, CU_GRAPH_NODE_TYPE_KERNEL, std::move(work), KeepArguments(node));
  }
  // Waiting for other work of the stream could block a program that goes on to end it.
  if (DeviceKeepsContents() || !stream->Idle() ||
      !RunTorchKernel(FindFunction(handle)->torch_kernel(), shape.grid, params)) {
    KernelRan();
  }
  // A kernel without a host version does nothing, at once.
  if (work != nullptr) context->Enqueue(stream, std::move(work), Stream::Mode::kAsync);
  return CUDA_SUCCESS;
}

size_t StaticShared(const Function& function) {
  return static_cast<size_t>(function.GetAttribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
}

int BlocksFor(const Function& function, int block_size, size_t shared) {
  const size_t total = shared + StaticShared(function);
  if (total > MaxSharedBytes()) return 0;
  const CapabilityLimits& limits = Limits();
  const int by_threads = limits.threads / std::max(block_size, 1);
  const size_t each = total + static_cast<size_t>(limits.reserved_per_block_bytes);
  const int by_shared = total == 0
                            ? limits.blocks
                            : static_cast<int>(static_cast<size_t>(limits.shared_bytes) / each);
  return std::min({by_threads, by_shared, limits.blocks});
}

// All blocks of a cooperative launch must be on the device at once.
bool TooLargeToCooperate(CUfunction handle, const LaunchShape& shape) {
  const auto function = FindFunction(handle);
  if (function == nullptr || !GoodShape(shape.grid, shape.block, shape.shared)) return false;
  const auto threads = static_cast<int>(shape.block[0] * shape.block[1] * shape.block[2]);
  const auto room = static_cast<uint64_t>(BlocksFor(*function, threads, shape.shared)) *
                    static_cast<uint64_t>(Gpu().multiprocessors);
  return __uint128_t{shape.grid[0]} * shape.grid[1] * shape.grid[2] > room;
}

}  // namespace

CUresult KernelWork(CUfunction handle, const LaunchShape& shape, void** params, void** extra,
                    int device, std::function<void()>* work) {
  const auto function = FindFunction(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!GoodShape(shape.grid, shape.block, shape.shared)) return CUDA_ERROR_INVALID_VALUE;
  // More than the default amount of shared memory must be enabled before.
  if (shape.shared > static_cast<size_t>(
                         function->GetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (params != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  const uint8_t* buffer = nullptr;
  size_t buffer_bytes = 0;
  const CUresult extra_known = ReadExtra(extra, &buffer, &buffer_bytes);
  if (extra_known != CUDA_SUCCESS) return extra_known;
  const simcuda_host_kernel host = function->host();
  *work = nullptr;
  if (host == nullptr) return CUDA_SUCCESS;
  const ParamLayout layout = function->layout();
  if (params == nullptr && buffer == nullptr && !layout.sizes.empty()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto pending = std::make_shared<PendingLaunch>();
  pending->host = host;
  std::copy_n(shape.grid, 3, pending->launch.grid);
  std::copy_n(shape.block, 3, pending->launch.block);
  pending->launch.shared_bytes = shape.shared;
  pending->launch.device = device;
  pending->CopyArguments(layout, params, buffer, buffer_bytes);
  *work = [pending] { pending->host(&pending->launch); };
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                        unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                        unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                        void** kernelParams, void** extra) {
  return Launch(f,
                {{gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes},
                hStream, kernelParams, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX,
                                   unsigned int blockDimY, unsigned int blockDimZ,
                                   unsigned int sharedMemBytes, CUstream hStream,
                                   void** kernelParams) {
  const LaunchShape shape = {
      {gridDimX, gridDimY, gridDimZ}, {blockDimX, blockDimY, blockDimZ}, sharedMemBytes};
  if (TooLargeToCooperate(f, shape)) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  return Launch(f, shape, hStream, kernelParams, nullptr);
}

#if CUDA_VERSION >= 11080
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction f, void** kernelParams,
                          void** extra) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const LaunchShape shape = {{config->gridDimX, config->gridDimY, config->gridDimZ},
                             {config->blockDimX, config->blockDimY, config->blockDimZ},
                             config->sharedMemBytes};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& one = config->attrs[i];
    if (one.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && one.value.cooperative != 0 &&
        TooLargeToCooperate(f, shape)) {
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    }
  }
  return Launch(f, shape, config->hStream, kernelParams, extra);
}
#endif

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize,
                                                     size_t dynamicSMemSize) {
  const auto function = FindFunction(func);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (numBlocks == nullptr || blockSize <= 0) return CUDA_ERROR_INVALID_VALUE;
  *numBlocks = blockSize > static_cast<int>(kMaxThreads)
                   ? 0
                   : BlocksFor(*function, blockSize, dynamicSMemSize);
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func,
                                                              int blockSize, size_t dynamicSMemSize,
                                                              unsigned int /*flags*/) {
  return api::cuOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, func, blockSize,
                                                          dynamicSMemSize);
}

CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func,
                                          CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit) {
  const auto function = FindFunction(func);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (minGridSize == nullptr || blockSize == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int limit = blockSizeLimit <= 0 ? static_cast<int>(kMaxThreads)
                                        : std::min(blockSizeLimit, static_cast<int>(kMaxThreads));
  int best_threads = 0;
  // The limit itself, then whole warps.
  for (int size = limit; size > 0; size = (size - 1) / kWarp * kWarp) {
    const size_t shared =
        blockSizeToDynamicSMemSize == nullptr ? dynamicSMemSize : blockSizeToDynamicSMemSize(size);
    const int blocks = BlocksFor(*function, size, shared);
    if (blocks * size > best_threads) {
      best_threads = blocks * size;
      *blockSize = size;
      *minGridSize = blocks * Gpu().multiprocessors;
    }
  }
  return best_threads == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* minGridSize, int* blockSize,
                                                   CUfunction func,
                                                   CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit,
                                                   unsigned int /*flags*/) {
  return api::cuOccupancyMaxPotentialBlockSize(
      minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, CUfunction func,
                                                 int numBlocks, int blockSize) {
  const auto function = FindFunction(func);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (dynamicSmemSize == nullptr || numBlocks <= 0 || blockSize <= 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (BlocksFor(*function, blockSize, 0) < numBlocks) return CUDA_ERROR_INVALID_VALUE;
  // The inverse of BlocksFor: the share of each block, minus what it takes in any case.
  const size_t share = static_cast<size_t>(Limits().shared_bytes) / static_cast<size_t>(numBlocks);
  const size_t taken =
      static_cast<size_t>(Limits().reserved_per_block_bytes) + StaticShared(*function);
  *dynamicSmemSize = std::min(share - std::min(share, taken), MaxSharedBytes());
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 11080
// The portable size: hardware of 9.0 holds at least eight blocks in each cluster.
CUresult cuOccupancyMaxPotentialClusterSize(int* clusterSize, CUfunction func,
                                            const CUlaunchConfig* config) {
  if (FindFunction(func) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (clusterSize == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *clusterSize = Gpu().capability >= 90 ? 8 : 0;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveClusters(int* numClusters, CUfunction func,
                                      const CUlaunchConfig* config) {
  const auto function = FindFunction(func);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (numClusters == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  unsigned blocks = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const CUlaunchAttribute& one = config->attrs[i];
    if (one.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      blocks = one.value.clusterDim.x * one.value.clusterDim.y * one.value.clusterDim.z;
    }
  }
  if (blocks == 0 || Gpu().capability < 90) return CUDA_ERROR_INVALID_VALUE;
  const auto threads = static_cast<int>(config->blockDimX * config->blockDimY * config->blockDimZ);
  const int room = BlocksFor(*function, threads, config->sharedMemBytes) * Gpu().multiprocessors;
  *numClusters = room / static_cast<int>(blocks);
  return CUDA_SUCCESS;
}
#endif

}  // namespace api
}  // namespace memprof::simcuda
