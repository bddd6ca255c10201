// The functions of the stand-in libcuda for unit tests, generated from the recorder's own table.
#include "tests/libmemprof/events/fake_driver.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "libmemprof/src/driver/table.h"

using memprof::testing::DriverCall;
using memprof::testing::FakeDriver;

namespace {

FakeDriver g_driver;

template <typename T>
std::uint64_t Number(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<std::uint64_t>(value);
  else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
    return static_cast<std::uint64_t>(value);
  else
    return 0;
}

// A parameter that the driver fills in: a pointer to a number, a handle or an address.
template <typename T>
inline constexpr bool kIsOutput = false;
template <typename T>
inline constexpr bool kIsOutput<T*> =
    !std::is_const_v<T> && (std::is_integral_v<T> || std::is_pointer_v<T>);

template <typename T>
void HandOut(T* out) {
  if constexpr (sizeof(T) == 4) {
    *out = static_cast<T>(g_driver.next32);
    g_driver.next32 += 0x10000;
  } else {
    if constexpr (std::is_pointer_v<T>)
      *out = reinterpret_cast<T>(g_driver.next);
    else
      *out = static_cast<T>(g_driver.next);
    if (g_driver.next != 0) g_driver.next = (g_driver.next | ((16u << 20) - 1)) + 1;
  }
}

template <typename First, typename... Rest>
void Answer(const char* name, First first, Rest... rest) {
  if constexpr (kIsOutput<First>) {
    if (std::strstr(name, "BatchAsync") != nullptr) return;  // these lists are inputs
    if (std::strcmp(name, "cuDevicePrimaryCtxRetain") == 0) {
      std::memcpy(first, &g_driver.primary[(Number(rest) + ... + 0) & 1], sizeof *first);
      return;
    }
    HandOut(first);
  }
}

// cuMemAllocPitch has a second output.
template <typename Pointer, typename Size>
void Answer(const char*, Pointer* pointer, Size* pitch, Size width, Size, unsigned) {
  HandOut(pointer);
  const auto alignment = static_cast<Size>(g_driver.pitch_alignment);
  *pitch = (width + alignment - 1) / alignment * alignment;
}

// Lookups of variables and mapped resources have one too: the size.
template <typename Pointer, typename Size, typename Handle, typename... Name>
void AnswerRange(Pointer* pointer, Size* bytes, Handle, Name...) {
  if (pointer != nullptr) HandOut(pointer);
  if (bytes != nullptr) *bytes = static_cast<Size>(g_driver.range_bytes);
}
template <typename Pointer, typename Size, typename Handle>
void Answer(const char*, Pointer* pointer, Size* bytes, Handle* module, const char* name) {
  AnswerRange(pointer, bytes, module, name);
}
template <typename Pointer, typename Size>
void Answer(const char*, Pointer* pointer, Size* bytes, CUgraphicsResource resource) {
  AnswerRange(pointer, bytes, resource);
}

// The frame is the second argument of the acquire function; another function describes its planes.
void Answer(const char*, void*, CUgraphicsResource* resource, CUstream*, unsigned) {
  HandOut(resource);
}
void Answer(const char*, void* frame, CUgraphicsResource, unsigned, unsigned) {
  std::memcpy(frame, &g_driver.egl_frame, sizeof g_driver.egl_frame);
}

void Answer(const char*, CUgraphNode* node, CUgraph, const CUgraphNode*, size_t,
            CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  HandOut(node);
  HandOut(&params->dptr);
}

template <typename... Status>
void Answer(const char*, const char*, void** function, int, cuuint64_t, Status...) {
  if (function != nullptr) *function = g_driver.proc_address;
}

template <typename... Arguments>
CUresult Serve(const char* name, Arguments... arguments) {
  g_driver.calls.push_back({name, {Number(arguments)...}});
  // A copy, because the test's function may call the driver itself.
  const DriverCall call = g_driver.calls.back();
  const CUresult result = g_driver.decide(call);
  if (result == CUDA_SUCCESS) Answer(name, arguments...);
  return result;
}

}  // namespace

#define FAKE_UNPACK(...) __VA_ARGS__
#define FAKE_FUNCTION(name, base, since, streams, parameters, arguments, handler)               \
  extern "C" __attribute__((visibility("default"))) CUresult Fake_##name parameters asm(#name); \
  CUresult Fake_##name parameters { return Serve(#name, FAKE_UNPACK arguments); }
MEMPROF_DRIVER_FUNCTIONS(FAKE_FUNCTION)
#undef FAKE_FUNCTION

#pragma GCC visibility push(default)
extern "C" {

FakeDriver* fake_driver() { return &g_driver; }

// For a walk that does not know FakeDriver: calls with these arguments fail as on a real driver.
void fake_driver_behave(std::uint64_t too_much, std::uint64_t nowhere) {
  g_driver.decide = [=](const DriverCall& call) {
    for (const std::uint64_t argument : call.arguments)
      if (argument == too_much) return CUDA_ERROR_OUT_OF_MEMORY;
    const bool nothing_there = !call.arguments.empty() && call.arguments[0] == nowhere;
    return nothing_there ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  };
}

// Exported, but not a function of the table.
CUresult fake_driver_unnamed() { return CUDA_SUCCESS; }

CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  HandOut(graph);
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  g_driver.current = context;
  return CUDA_SUCCESS;
}

// Functions that the recorder itself calls.
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = g_driver.current;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = g_driver.device;
  return g_driver.current == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  *version = 12040;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  std::strncpy(name, device == 0 ? "Fake 0" : "Fake 1", static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = g_driver.total_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ||
      attribute == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) {
    *value = attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 84 : 1536;
    return CUDA_SUCCESS;
  }
  // Device 1 is NUMA node 0: CU_DEVICE_ATTRIBUTE_NUMA_CONFIG of CUDA 12.2 is 130.
  *value = device == 1 &&
           (attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES ||
            static_cast<int>(attribute) == 130);
  return CUDA_SUCCESS;
}

// For a slice of a GPU (MIG), the first version of the function returns the GPU's UUID and the
// second version the slice's.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
  std::memset(uuid, 'g', sizeof *uuid);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  std::memset(uuid, 'a' + device, sizeof *uuid);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  *flags = 0;
  *active = g_driver.primary_active ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  if (g_driver.current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *free_bytes = g_driver.free_bytes;
  *total_bytes = g_driver.total_bytes;
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) {
    const bool on_host = g_driver.host_memory.count(pointer) != 0;
    const unsigned type = on_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    std::memcpy(value, &type, sizeof type);
    return CUDA_SUCCESS;
  }
  if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) return CUDA_ERROR_NOT_SUPPORTED;
  const auto found = g_driver.device_of.find(pointer);
  if (found == g_driver.device_of.end()) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(value, &found->second, sizeof found->second);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const bool asked = g_driver.capturing_stream == nullptr || stream == g_driver.capturing_stream;
  *status =
      g_driver.capturing && asked ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*,
                                   CUgraph* graph, const CUgraphNode**, size_t*) {
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(g_driver.captured_graph);
  return cuStreamIsCapturing(stream, status);
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice, CUgraphMem_attribute attribute, void* value) {
  const std::uint64_t answer = attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT
                                   ? g_driver.graph_reserved
                                   : g_driver.graph_used;
  std::memcpy(value, &answer, sizeof answer);
  return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray) {
  *descriptor = g_driver.array;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr pointer) {
  *base = pointer;
  *bytes = g_driver.range_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  *pool = reinterpret_cast<CUmemoryPool>(g_driver.pool[device & 1]);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  *pool = reinterpret_cast<CUmemoryPool>(g_driver.default_pool[device & 1]);
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute attribute, void* value) {
  const std::uint64_t answer = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT
                                   ? g_driver.pool_reserved
                                   : g_driver.pool_used;
  std::memcpy(value, &answer, sizeof answer);
  return CUDA_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
