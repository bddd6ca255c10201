// Functions that differ between the cudart of CUDA 12 and of CUDA 13: built once for each, with
// SIMCUDA_RUNTIME_VERSION set. Under one name they take other parameters, or structs of another
// size, so the toolkit's prototypes cannot be included here.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "simcuda/runtime/device_prop.h"
#include "simcuda/runtime/state.h"

namespace runtime = memprof::simcuda::runtime;
using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::Library;
using memprof::simcuda::runtime::Record;

namespace {

// Fields that both versions have: those that are an attribute each, ...
#define SIMCUDA_PROP_ATTRIBUTES(X)                                              \
  X(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK)                             \
  X(regsPerBlock, MAX_REGISTERS_PER_BLOCK)                                      \
  X(warpSize, WARP_SIZE)                                                        \
  X(memPitch, MAX_PITCH)                                                        \
  X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                                  \
  X(maxThreadsDim[0], MAX_BLOCK_DIM_X)                                          \
  X(maxThreadsDim[1], MAX_BLOCK_DIM_Y)                                          \
  X(maxThreadsDim[2], MAX_BLOCK_DIM_Z)                                          \
  X(maxGridSize[0], MAX_GRID_DIM_X)                                             \
  X(maxGridSize[1], MAX_GRID_DIM_Y)                                             \
  X(maxGridSize[2], MAX_GRID_DIM_Z)                                             \
  X(totalConstMem, TOTAL_CONSTANT_MEMORY)                                       \
  X(major, COMPUTE_CAPABILITY_MAJOR)                                            \
  X(minor, COMPUTE_CAPABILITY_MINOR)                                            \
  X(textureAlignment, TEXTURE_ALIGNMENT)                                        \
  X(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT)                             \
  X(multiProcessorCount, MULTIPROCESSOR_COUNT)                                  \
  X(canMapHostMemory, CAN_MAP_HOST_MEMORY)                                      \
  X(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH)                                      \
  X(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH)                      \
  X(maxTexture2D[0], MAXIMUM_TEXTURE2D_WIDTH)                                   \
  X(maxTexture2D[1], MAXIMUM_TEXTURE2D_HEIGHT)                                  \
  X(maxTexture2DMipmap[0], MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH)                   \
  X(maxTexture2DMipmap[1], MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT)                  \
  X(maxTexture2DLinear[0], MAXIMUM_TEXTURE2D_LINEAR_WIDTH)                      \
  X(maxTexture2DLinear[1], MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)                     \
  X(maxTexture2DLinear[2], MAXIMUM_TEXTURE2D_LINEAR_PITCH)                      \
  X(maxTexture2DGather[0], MAXIMUM_TEXTURE2D_GATHER_WIDTH)                      \
  X(maxTexture2DGather[1], MAXIMUM_TEXTURE2D_GATHER_HEIGHT)                     \
  X(maxTexture3D[0], MAXIMUM_TEXTURE3D_WIDTH)                                   \
  X(maxTexture3D[1], MAXIMUM_TEXTURE3D_HEIGHT)                                  \
  X(maxTexture3D[2], MAXIMUM_TEXTURE3D_DEPTH)                                   \
  X(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH)                            \
  X(maxTexture1DLayered[0], MAXIMUM_TEXTURE1D_LAYERED_WIDTH)                    \
  X(maxTexture1DLayered[1], MAXIMUM_TEXTURE1D_LAYERED_LAYERS)                   \
  X(maxTexture2DLayered[0], MAXIMUM_TEXTURE2D_LAYERED_WIDTH)                    \
  X(maxTexture2DLayered[1], MAXIMUM_TEXTURE2D_LAYERED_HEIGHT)                   \
  X(maxTexture2DLayered[2], MAXIMUM_TEXTURE2D_LAYERED_LAYERS)                   \
  X(maxTextureCubemapLayered[0], MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH)          \
  X(maxTextureCubemapLayered[1], MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS)         \
  X(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH)                                      \
  X(maxSurface2D[0], MAXIMUM_SURFACE2D_WIDTH)                                   \
  X(maxSurface2D[1], MAXIMUM_SURFACE2D_HEIGHT)                                  \
  X(maxSurface3D[0], MAXIMUM_SURFACE3D_WIDTH)                                   \
  X(maxSurface3D[1], MAXIMUM_SURFACE3D_HEIGHT)                                  \
  X(maxSurface3D[2], MAXIMUM_SURFACE3D_DEPTH)                                   \
  X(surfaceAlignment, SURFACE_ALIGNMENT)                                        \
  X(concurrentKernels, CONCURRENT_KERNELS)                                      \
  X(pciBusID, PCI_BUS_ID)                                                       \
  X(asyncEngineCount, ASYNC_ENGINE_COUNT)                                       \
  X(unifiedAddressing, UNIFIED_ADDRESSING)                                      \
  X(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                                    \
  X(l2CacheSize, L2_CACHE_SIZE)                                                 \
  X(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE)                     \
  X(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)                \
  X(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED)                     \
  X(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED)                          \
  X(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED)                            \
  X(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)           \
  X(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)                    \
  X(managedMemory, MANAGED_MEMORY)                                              \
  X(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS)                         \
  X(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED)                   \
  X(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) \
  X(cooperativeLaunch, COOPERATIVE_LAUNCH)                                      \
  X(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)                  \
  X(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)                  \
  X(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE)                   \
  X(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)                \
  X(hostRegisterSupported, HOST_REGISTER_SUPPORTED)                             \
  X(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED)                      \
  X(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                               \
  X(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES)

// ... and the rest.
template <class Properties>
void FillCommon(const Calls& cu, int device, Properties* p) {
  std::memset(static_cast<void*>(p), 0, sizeof(*p));
  const auto get = [&](CUdevice_attribute attribute) {
    int value = 0;
    cu.cuDeviceGetAttribute(&value, attribute, device);
    return value;
  };
#define SIMCUDA_PROP(field, attribute)                                 \
  p->field = static_cast<std::remove_reference_t<decltype(p->field)>>( \
      get(CU_DEVICE_ATTRIBUTE_##attribute));
  SIMCUDA_PROP_ATTRIBUTES(SIMCUDA_PROP)
#if CUDA_VERSION >= 11080
  SIMCUDA_PROP(clusterLaunch, CLUSTER_LAUNCH)
#endif
#if CUDA_VERSION >= 12010
  SIMCUDA_PROP(ipcEventSupported, IPC_EVENT_SUPPORTED)
#endif
#undef SIMCUDA_PROP
  cu.cuDeviceGetName(p->name, sizeof(p->name), device);
  CUuuid uuid;
  if (cu.cuDeviceGetUuid(&uuid, device) == CUDA_SUCCESS) {
    std::memcpy(p->uuid, uuid.bytes, sizeof(p->uuid));
  }
  cu.cuDeviceTotalMem_v2(&p->totalGlobalMem, device);
}

int GoodDevice(int device) {
  if (const int error = runtime::RequireDriver(); error != 0) return error;
  CUdevice found = 0;
  return Library().legacy.cuDeviceGet(&found, device);
}

#if SIMCUDA_RUNTIME_VERSION == 12
int FillProperties(runtime::DeviceProp12* p, int device) {
  if (p == nullptr) return cudaErrorInvalidValue;
  if (const int error = GoodDevice(device); error != 0) return error;
  const Calls& cu = Library().legacy;
  FillCommon(cu, device, p);
  cu.cuDeviceGetAttribute(&p->clockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
  cu.cuDeviceGetAttribute(&p->memoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, device);
  cu.cuDeviceGetAttribute(&p->maxTexture1DLinear,
                          CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, device);
  cu.cuDeviceGetAttribute(&p->singleToDoublePrecisionPerfRatio,
                          CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, device);
  p->deviceOverlap = 1;
  return 0;
}
#endif

// Where a location of CUDA 12.2 and later lies, for the old kind of parameter.
int DeviceOf(const cudaMemLocation& location) {
  return location.type == cudaMemLocationTypeDevice ? location.id : CU_DEVICE_CPU;
}

int Prefetch(const Calls& cu, const void* pointer, size_t bytes, int device, cudaStream_t stream) {
  return cu.cuMemPrefetchAsync(reinterpret_cast<CUdeviceptr>(pointer), bytes, device, stream);
}

int Advise(const Calls& cu, const void* pointer, size_t bytes, cudaMemoryAdvise advice,
           int device) {
  return cu.cuMemAdvise(reinterpret_cast<CUdeviceptr>(pointer), bytes,
                        static_cast<CUmem_advise>(advice), device);
}

}  // namespace

extern "C" cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return Record(cudaErrorInvalidValue);
  *version = SIMCUDA_RUNTIME_VERSION * 1000;
  return cudaSuccess;
}

#if SIMCUDA_RUNTIME_VERSION == 12

extern "C" cudaError_t cudaGetDeviceProperties_v2(runtime::DeviceProp12* properties, int device) {
  return Record(FillProperties(properties, device));
}

// The struct of CUDA 11: it ends before the fields that 12 appended.
extern "C" cudaError_t cudaGetDeviceProperties(runtime::DeviceProp12* properties, int device) {
  if (properties == nullptr) return Record(cudaErrorInvalidValue);
  runtime::DeviceProp12 full;
  const int error = FillProperties(&full, device);
  if (error == 0) {
    std::memcpy(static_cast<void*>(properties), &full,
                offsetof(runtime::DeviceProp12, hostRegisterSupported));
  }
  return Record(error);
}

SIMCUDA_RT_STREAM(cudaMemPrefetchAsync, _ptsz,
                  (const void* pointer, size_t bytes, int device, cudaStream_t stream),
                  (pointer, bytes, device, stream)) {
  return Prefetch(cu, pointer, bytes, device, stream);
}

extern "C" cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t bytes,
                                               cudaMemLocation location, unsigned /*flags*/,
                                               cudaStream_t stream) {
  return cudaMemPrefetchAsync(pointer, bytes, DeviceOf(location), stream);
}

extern "C" cudaError_t cudaMemPrefetchAsync_v2_ptsz(const void* pointer, size_t bytes,
                                                    cudaMemLocation location, unsigned /*flags*/,
                                                    cudaStream_t stream) {
  return cudaMemPrefetchAsync_ptsz(pointer, bytes, DeviceOf(location), stream);
}

SIMCUDA_RT(cudaMemAdvise, (const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device),
           (pointer, bytes, advice, device)) {
  return Advise(cu, pointer, bytes, advice, device);
}

extern "C" cudaError_t cudaMemAdvise_v2(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                        cudaMemLocation location) {
  return cudaMemAdvise(pointer, bytes, advice, DeviceOf(location));
}

extern "C" cudaError_t cudaThreadSynchronize() {
  return runtime::Enter(false, [](const Calls& cu) { return cu.cuCtxSynchronize(); });
}

extern "C" cudaError_t cudaThreadExit() { return Record(runtime::ResetDevice()); }

SIMCUDA_RT(cudaEventElapsedTime_v2, (float* milliseconds, cudaEvent_t start, cudaEvent_t end),
           (milliseconds, start, end)) {
  return cu.cuEventElapsedTime(milliseconds, start, end);
}

#else

extern "C" cudaError_t cudaGetDeviceProperties(runtime::DeviceProp13* properties, int device) {
  if (properties == nullptr) return Record(cudaErrorInvalidValue);
  const int error = GoodDevice(device);
  if (error == 0) FillCommon(Library().legacy, device, properties);
  return Record(error);
}

SIMCUDA_RT_STREAM(cudaMemPrefetchAsync, _ptsz,
                  (const void* pointer, size_t bytes, cudaMemLocation location, unsigned flags,
                   cudaStream_t stream),
                  (pointer, bytes, location, flags, stream)) {
  if (flags != 0) return cudaErrorInvalidValue;
  return Prefetch(cu, pointer, bytes, DeviceOf(location), stream);
}

SIMCUDA_RT(cudaMemAdvise,
           (const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location),
           (pointer, bytes, advice, location)) {
  return Advise(cu, pointer, bytes, advice, DeviceOf(location));
}

#if CUDA_VERSION >= 13000
static_assert(sizeof(cudaMemLocation) == sizeof(CUmemLocation));

SIMCUDA_RT_STREAM(cudaMemPrefetchBatchAsync, _ptsz,
                  (void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations,
                   size_t* starts, size_t location_count, unsigned long long flags,
                   cudaStream_t stream),
                  (pointers, sizes, count, locations, starts, location_count, flags, stream)) {
  if (cu.cuMemPrefetchBatchAsync == nullptr) return cudaErrorNotSupported;
  return cu.cuMemPrefetchBatchAsync(reinterpret_cast<CUdeviceptr*>(pointers), sizes, count,
                                    reinterpret_cast<CUmemLocation*>(locations), starts,
                                    location_count, flags, stream);
}

SIMCUDA_RT_STREAM(cudaMemDiscardBatchAsync, _ptsz,
                  (void** pointers, size_t* sizes, size_t count, unsigned long long flags,
                   cudaStream_t stream),
                  (pointers, sizes, count, flags, stream)) {
  if (cu.cuMemDiscardBatchAsync == nullptr) return cudaErrorNotSupported;
  return cu.cuMemDiscardBatchAsync(reinterpret_cast<CUdeviceptr*>(pointers), sizes, count, flags,
                                   stream);
}

SIMCUDA_RT_STREAM(cudaMemDiscardAndPrefetchBatchAsync, _ptsz,
                  (void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations,
                   size_t* starts, size_t location_count, unsigned long long flags,
                   cudaStream_t stream),
                  (pointers, sizes, count, locations, starts, location_count, flags, stream)) {
  if (cu.cuMemDiscardAndPrefetchBatchAsync == nullptr) return cudaErrorNotSupported;
  return cu.cuMemDiscardAndPrefetchBatchAsync(reinterpret_cast<CUdeviceptr*>(pointers), sizes,
                                              count, reinterpret_cast<CUmemLocation*>(locations),
                                              starts, location_count, flags, stream);
}

SIMCUDA_RT(cudaMemGetDefaultMemPool,
           (cudaMemPool_t * pool, cudaMemLocation* location, cudaMemAllocationType type),
           (pool, location, type)) {
  if (cu.cuMemGetDefaultMemPool == nullptr) return cudaErrorNotSupported;
  return cu.cuMemGetDefaultMemPool(pool, reinterpret_cast<CUmemLocation*>(location),
                                   static_cast<CUmemAllocationType>(type));
}

SIMCUDA_RT(cudaMemGetMemPool,
           (cudaMemPool_t * pool, cudaMemLocation* location, cudaMemAllocationType type),
           (pool, location, type)) {
  if (cu.cuMemGetMemPool == nullptr) return cudaErrorNotSupported;
  return cu.cuMemGetMemPool(pool, reinterpret_cast<CUmemLocation*>(location),
                            static_cast<CUmemAllocationType>(type));
}

SIMCUDA_RT(cudaMemSetMemPool,
           (cudaMemLocation * location, cudaMemAllocationType type, cudaMemPool_t pool),
           (location, type, pool)) {
  if (cu.cuMemSetMemPool == nullptr) return cudaErrorNotSupported;
  return cu.cuMemSetMemPool(reinterpret_cast<CUmemLocation*>(location),
                            static_cast<CUmemAllocationType>(type), pool);
}
#endif

#endif

// Since 12, the third parameter is flags.
SIMCUDA_RT(cudaGraphInstantiate,
           (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
           (exec, graph, flags)) {
  return cu.cuGraphInstantiateWithFlags(exec, graph, flags);
}

namespace {

int CaptureInfo(const Calls& cu, cudaStream_t stream, cudaStreamCaptureStatus* status,
                unsigned long long* id, cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                size_t* count) {
  cuuint64_t number = 0;
  const CUresult result =
      cu.cuStreamGetCaptureInfo_v2(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                   &number, graph, dependencies, count);
  if (id != nullptr) *id = number;
  return result;
}

}  // namespace

#if SIMCUDA_RUNTIME_VERSION == 12

SIMCUDA_RT(cudaGraphNodeGetDependencies,
           (cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* count),
           (node, dependencies, count)) {
  return cu.cuGraphNodeGetDependencies(node, dependencies, count);
}

SIMCUDA_RT_STREAM(cudaStreamUpdateCaptureDependencies, _ptsz,
                  (cudaStream_t stream, cudaGraphNode_t* dependencies, size_t count,
                   unsigned flags),
                  (stream, dependencies, count, flags)) {
  return cu.cuStreamUpdateCaptureDependencies(stream, dependencies, count, flags);
}

SIMCUDA_RT_STREAM(cudaStreamGetCaptureInfo, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id),
                  (stream, status, id)) {
  return CaptureInfo(cu, stream, status, id, nullptr, nullptr, nullptr);
}

SIMCUDA_RT_STREAM(cudaStreamGetCaptureInfo_v2, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                   cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count),
                  (stream, status, id, graph, dependencies, count)) {
  return CaptureInfo(cu, stream, status, id, graph, dependencies, count);
}

SIMCUDA_RT_STREAM(cudaStreamGetCaptureInfo_v3, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                   cudaGraph_t* graph, const cudaGraphNode_t** dependencies, const void** edges,
                   size_t* count),
                  (stream, status, id, graph, dependencies, edges, count)) {
  if (edges != nullptr) *edges = nullptr;
  return CaptureInfo(cu, stream, status, id, graph, dependencies, count);
}

#else

constexpr size_t kEdgeDataBytes = 8;  // of cudaGraphEdgeData

// Since 13, edges have data; there is none here.
SIMCUDA_RT(cudaGraphNodeGetDependencies,
           (cudaGraphNode_t node, cudaGraphNode_t* dependencies, void* edges, size_t* count),
           (node, dependencies, edges, count)) {
  const int error = cu.cuGraphNodeGetDependencies(node, dependencies, count);
  if (error == 0 && edges != nullptr && dependencies != nullptr)
    std::memset(edges, 0, *count * kEdgeDataBytes);
  return error;
}

SIMCUDA_RT_STREAM(cudaStreamUpdateCaptureDependencies, _ptsz,
                  (cudaStream_t stream, cudaGraphNode_t* dependencies, const void* /*edges*/,
                   size_t count, unsigned flags),
                  (stream, dependencies, nullptr, count, flags)) {
  return cu.cuStreamUpdateCaptureDependencies(stream, dependencies, count, flags);
}

SIMCUDA_RT_STREAM(cudaStreamGetCaptureInfo, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                   cudaGraph_t* graph, const cudaGraphNode_t** dependencies, const void** edges,
                   size_t* count),
                  (stream, status, id, graph, dependencies, edges, count)) {
  if (edges != nullptr) *edges = nullptr;
  return CaptureInfo(cu, stream, status, id, graph, dependencies, count);
}

#endif

// Before CUDA 12 the status was not among the parameters.
namespace {

int EntryPoint(const char* symbol, void** function, unsigned version, unsigned long long flags,
               bool per_thread, cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return cudaErrorInvalidValue;
  if (flags == cudaEnableDefault && per_thread) flags = cudaEnablePerThreadDefaultStream;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  if (Library().get_proc_address == nullptr) return cudaErrorNotSupported;
  const CUresult result =
      Library().get_proc_address(symbol, function, static_cast<int>(version), flags, &found);
  if (status != nullptr) *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  return result;
}

unsigned DriverVersion() {
  int version = 0;
  Library().legacy.cuDriverGetVersion(&version);
  return static_cast<unsigned>(version);
}

}  // namespace

// They look a function up and use no device: a rank that asks before it has chosen its device must
// not get a context on the first one.
#define SIMCUDA_ENTRY_POINT(name, per_thread, parameters, version)                              \
  extern "C" cudaError_t name parameters;                                                       \
  extern "C" cudaError_t name parameters {                                                      \
    const int error = ::memprof::simcuda::runtime::RequireDriver();                             \
    return ::memprof::simcuda::runtime::Record(                                                 \
        error != 0 ? error : EntryPoint(symbol, function, version, flags, per_thread, status)); \
  }
#define SIMCUDA_BY_VERSION                                                          \
  (const char* symbol, void** function, unsigned version, unsigned long long flags, \
   cudaDriverEntryPointQueryResult* status)
#define SIMCUDA_BY_NAME                                           \
  (const char* symbol, void** function, unsigned long long flags, \
   cudaDriverEntryPointQueryResult* status)
SIMCUDA_ENTRY_POINT(cudaGetDriverEntryPointByVersion, false, SIMCUDA_BY_VERSION, version)
SIMCUDA_ENTRY_POINT(cudaGetDriverEntryPointByVersion_ptsz, true, SIMCUDA_BY_VERSION, version)
SIMCUDA_ENTRY_POINT(cudaGetDriverEntryPoint, false, SIMCUDA_BY_NAME, DriverVersion())
SIMCUDA_ENTRY_POINT(cudaGetDriverEntryPoint_ptsz, true, SIMCUDA_BY_NAME, DriverVersion())
