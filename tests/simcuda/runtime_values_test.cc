// Values of the stand-in cudart: properties against attributes, names of errors, the last error;
// linked against versions 12 and 13.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "simcuda/runtime/device_prop.h"
#include "tests/simcuda/runtime_fixture.h"

namespace {

using memprof::simcuda::runtime::DeviceProp12;
using memprof::simcuda::runtime::DeviceProp13;

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

#if CUDART_VERSION >= 13000
TEST(RuntimeValues, TheStructIsThatOfTheHeaders) {
#define SIMCUDA_CHECK_FIELD(type, name, bounds)                            \
  EXPECT_EQ(offsetof(DeviceProp13, name), offsetof(cudaDeviceProp, name)); \
  EXPECT_EQ(sizeof(DeviceProp13::name), sizeof(cudaDeviceProp::name)) << #name;
#define SIMCUDA_SKIP_FIELD(type, name, bounds)
  SIMCUDA_DEVICE_PROP_FIELDS(SIMCUDA_CHECK_FIELD, SIMCUDA_SKIP_FIELD, SIMCUDA_CHECK_FIELD)
#undef SIMCUDA_CHECK_FIELD
#undef SIMCUDA_SKIP_FIELD
  EXPECT_EQ(sizeof(DeviceProp13), sizeof(cudaDeviceProp));
}
#endif

TEST(RuntimeValues, TheOldStructHasTheSizeThatProgramsOfTwelvePass) {
  EXPECT_EQ(sizeof(DeviceProp12), 1032u);
  EXPECT_EQ(offsetof(DeviceProp12, clockRate), offsetof(DeviceProp13, totalConstMem) - 4);
}

// Properties that equal a device attribute, according to the documentation of both.
template <class Properties>
void CheckProperties(const Properties& p, int device) {
  const struct {
    const char* name;
    long long value;
    cudaDeviceAttr attribute;
  } rows[] = {
      {"sharedMemPerBlock", static_cast<long long>(p.sharedMemPerBlock),
       cudaDevAttrMaxSharedMemoryPerBlock},
      {"regsPerBlock", p.regsPerBlock, cudaDevAttrMaxRegistersPerBlock},
      {"warpSize", p.warpSize, cudaDevAttrWarpSize},
      {"memPitch", static_cast<long long>(p.memPitch), cudaDevAttrMaxPitch},
      {"maxThreadsPerBlock", p.maxThreadsPerBlock, cudaDevAttrMaxThreadsPerBlock},
      {"maxThreadsDim[0]", p.maxThreadsDim[0], cudaDevAttrMaxBlockDimX},
      {"maxThreadsDim[1]", p.maxThreadsDim[1], cudaDevAttrMaxBlockDimY},
      {"maxThreadsDim[2]", p.maxThreadsDim[2], cudaDevAttrMaxBlockDimZ},
      {"maxGridSize[0]", p.maxGridSize[0], cudaDevAttrMaxGridDimX},
      {"maxGridSize[1]", p.maxGridSize[1], cudaDevAttrMaxGridDimY},
      {"maxGridSize[2]", p.maxGridSize[2], cudaDevAttrMaxGridDimZ},
      {"totalConstMem", static_cast<long long>(p.totalConstMem), cudaDevAttrTotalConstantMemory},
      {"major", p.major, cudaDevAttrComputeCapabilityMajor},
      {"minor", p.minor, cudaDevAttrComputeCapabilityMinor},
      {"textureAlignment", static_cast<long long>(p.textureAlignment), cudaDevAttrTextureAlignment},
      {"texturePitchAlignment", static_cast<long long>(p.texturePitchAlignment),
       cudaDevAttrTexturePitchAlignment},
      {"multiProcessorCount", p.multiProcessorCount, cudaDevAttrMultiProcessorCount},
      {"integrated", p.integrated, cudaDevAttrIntegrated},
      {"canMapHostMemory", p.canMapHostMemory, cudaDevAttrCanMapHostMemory},
      {"surfaceAlignment", static_cast<long long>(p.surfaceAlignment), cudaDevAttrSurfaceAlignment},
      {"concurrentKernels", p.concurrentKernels, cudaDevAttrConcurrentKernels},
      {"ECCEnabled", p.ECCEnabled, cudaDevAttrEccEnabled},
      {"pciBusID", p.pciBusID, cudaDevAttrPciBusId},
      {"pciDomainID", p.pciDomainID, cudaDevAttrPciDomainId},
      {"asyncEngineCount", p.asyncEngineCount, cudaDevAttrAsyncEngineCount},
      {"unifiedAddressing", p.unifiedAddressing, cudaDevAttrUnifiedAddressing},
      {"memoryBusWidth", p.memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth},
      {"l2CacheSize", p.l2CacheSize, cudaDevAttrL2CacheSize},
      {"maxThreadsPerMultiProcessor", p.maxThreadsPerMultiProcessor,
       cudaDevAttrMaxThreadsPerMultiProcessor},
      {"streamPrioritiesSupported", p.streamPrioritiesSupported,
       cudaDevAttrStreamPrioritiesSupported},
      {"sharedMemPerMultiprocessor", static_cast<long long>(p.sharedMemPerMultiprocessor),
       cudaDevAttrMaxSharedMemoryPerMultiprocessor},
      {"regsPerMultiprocessor", p.regsPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor},
      {"managedMemory", p.managedMemory, cudaDevAttrManagedMemory},
      {"concurrentManagedAccess", p.concurrentManagedAccess, cudaDevAttrConcurrentManagedAccess},
      {"sharedMemPerBlockOptin", static_cast<long long>(p.sharedMemPerBlockOptin),
       cudaDevAttrMaxSharedMemoryPerBlockOptin},
      {"maxBlocksPerMultiProcessor", p.maxBlocksPerMultiProcessor,
       cudaDevAttrMaxBlocksPerMultiprocessor},
      {"reservedSharedMemPerBlock", static_cast<long long>(p.reservedSharedMemPerBlock),
       cudaDevAttrReservedSharedMemoryPerBlock},
      {"hostRegisterSupported", p.hostRegisterSupported, cudaDevAttrHostRegisterSupported},
      {"memoryPoolsSupported", p.memoryPoolsSupported, cudaDevAttrMemoryPoolsSupported},
      {"memoryPoolSupportedHandleTypes", p.memoryPoolSupportedHandleTypes,
       cudaDevAttrMemoryPoolSupportedHandleTypes},
      {"ipcEventSupported", p.ipcEventSupported, cudaDevAttrIpcEventSupport},
  };
  for (const auto& row : rows) {
    int value = -1;
    EXPECT_EQ(cudaSuccess, cudaDeviceGetAttribute(&value, row.attribute, device)) << row.name;
    EXPECT_EQ(row.value, value) << row.name;
  }
  EXPECT_STREQ(p.name, "memprof stand-in GPU");
  EXPECT_EQ(p.totalGlobalMem, size_t{1} << 30);
  EXPECT_EQ(p.pciBusID, device + 1);
  EXPECT_EQ(p.major, 9);
  EXPECT_EQ(std::string(p.uuid, 8), "memprof-");
}

template <class Properties>
void CheckAllDevices(const char* function) {
  const auto get = reinterpret_cast<cudaError_t (*)(void*, int)>(dlsym(RTLD_DEFAULT, function));
  ASSERT_NE(get, nullptr);
  // A struct, and bytes after it that must not be written.
  struct {
    Properties properties;
    unsigned char behind[64];
  } storage;
  for (int device = 0; device < 2; ++device) {
    std::memset(static_cast<void*>(&storage), 0xab, sizeof(storage));
    CHECK_RT(get(&storage.properties, device));
    CheckProperties(storage.properties, device);
    for (const unsigned char byte : storage.behind) EXPECT_EQ(byte, 0xab);
  }
  EXPECT_EQ(cudaErrorInvalidDevice, get(&storage.properties, 2));
  EXPECT_EQ(cudaErrorInvalidDevice, get(&storage.properties, -1));
  EXPECT_EQ(cudaErrorInvalidValue, get(nullptr, 0));
  cudaGetLastError();
}

TEST(RuntimeValues, PropertiesAreTheAttributes) {
  if (RuntimeVersion() == 13) {
    CheckAllDevices<DeviceProp13>("cudaGetDeviceProperties");
    return;
  }
  CheckAllDevices<DeviceProp12>("cudaGetDeviceProperties_v2");
  // The struct of version 11 is shorter.
  const auto get =
      reinterpret_cast<cudaError_t (*)(void*, int)>(dlsym(RTLD_DEFAULT, "cudaGetDeviceProperties"));
  DeviceProp12 properties;
  std::memset(static_cast<void*>(&properties), 0xab, sizeof(properties));
  CHECK_RT(get(&properties, 1));
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(properties.maxBlocksPerMultiProcessor, 32);
  unsigned char byte = 0;
  std::memcpy(&byte, &properties.hostRegisterSupported, 1);
  EXPECT_EQ(byte, 0xab);
}

TEST(RuntimeValues, ErrorsHaveTheirNames) {
  const struct {
    cudaError_t error;
    const char* name;
    const char* text;
  } rows[] = {
      {cudaSuccess, "cudaSuccess", "no error"},
      {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
      {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
      {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
      {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
       "invalid configuration argument"},
      {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection",
       "invalid copy direction for memcpy"},
      {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
      {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
      {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
      {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
       "an illegal memory access was encountered"},
      {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
      {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
  };
  for (const auto& row : rows) {
    EXPECT_STREQ(cudaGetErrorName(row.error), row.name);
    EXPECT_STREQ(cudaGetErrorString(row.error), row.text);
  }
  // Every number has a text; numbers that are not an error have a text that says so.
  int named = 0;
  for (int number = 0; number <= 1000; ++number) {
    const char* name = cudaGetErrorName(static_cast<cudaError_t>(number));
    const char* text = cudaGetErrorString(static_cast<cudaError_t>(number));
    ASSERT_NE(name, nullptr);
    ASSERT_NE(text, nullptr);
    const bool known = std::strcmp(name, "unrecognized error code") != 0;
    EXPECT_EQ(known, std::strcmp(text, "unrecognized error code") != 0) << number;
    named += known ? 1 : 0;
  }
  EXPECT_GT(named, 70);
  EXPECT_STREQ(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code");
}

TEST(RuntimeValues, TheLastErrorIsTheThreadsOwnAndTakenOnce) {
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
  void* pointer = nullptr;
  EXPECT_EQ(cudaErrorInvalidValue, cudaMalloc(nullptr, 1));
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaMalloc(&pointer, size_t{2} << 30));
  // The latest error counts; a success does not change it; cudaPeekAtLastError does not reset it.
  CHECK_RT(cudaMalloc(&pointer, 1));
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaPeekAtLastError());
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaPeekAtLastError());
  std::thread([] {
    EXPECT_EQ(cudaSuccess, cudaPeekAtLastError());
    EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(17));
    EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
  }).join();
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaPeekAtLastError());
  // These errors do not affect the context: later calls succeed.
  CHECK_RT(cudaFree(pointer));
  CHECK_RT(cudaDeviceSynchronize());
}

TEST(RuntimeValues, BadArgumentsByFunction) {
  void* pointer = nullptr;
  size_t pitch = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  const auto wild = reinterpret_cast<void*>(0x1000);
  const auto wild_stream = reinterpret_cast<cudaStream_t>(0x1000);
  const auto wild_event = reinterpret_cast<cudaEvent_t>(0x1000);
  const struct {
    const char* what;
    cudaError_t expected;
    cudaError_t got;
  } rows[] = {
      {"malloc null", cudaErrorInvalidValue, cudaMalloc(nullptr, 8)},
      {"malloc nothing", cudaSuccess, cudaMalloc(&pointer, 0)},
      {"free wild", cudaErrorInvalidValue, cudaFree(wild)},
      {"free null", cudaSuccess, cudaFree(nullptr)},
      {"pitch null", cudaErrorInvalidValue, cudaMallocPitch(&pointer, nullptr, 8, 8)},
      {"pitch nothing", cudaSuccess, cudaMallocPitch(&pointer, &pitch, 0, 8)},
      {"managed nothing", cudaErrorInvalidValue, cudaMallocManaged(&pointer, 0, 1)},
      {"managed flags", cudaErrorInvalidValue, cudaMallocManaged(&pointer, 8, 7)},
      {"host flags", cudaErrorInvalidValue, cudaHostAlloc(&pointer, 8, 64)},
      {"free host wild", cudaErrorInvalidValue, cudaFreeHost(wild)},
      {"unregister wild", cudaErrorHostMemoryNotRegistered, cudaHostUnregister(wild)},
      {"memcpy kind", cudaErrorInvalidMemcpyDirection,
       cudaMemcpy(wild, wild, 8, static_cast<cudaMemcpyKind>(9))},
      {"memcpy wild", cudaErrorInvalidValue, cudaMemcpy(wild, wild, 8, cudaMemcpyDeviceToDevice)},
      {"memcpy nothing", cudaSuccess, cudaMemcpy(wild, wild, 0, cudaMemcpyDeviceToDevice)},
      {"memset wild", cudaErrorInvalidValue, cudaMemset(wild, 0, 8)},
      {"stream null", cudaErrorInvalidValue, cudaStreamCreate(nullptr)},
      {"stream flags", cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 9)},
      {"stream wild", cudaErrorInvalidResourceHandle, cudaStreamSynchronize(wild_stream)},
      {"stream destroy wild", cudaErrorInvalidResourceHandle, cudaStreamDestroy(wild_stream)},
      {"event flags", cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 64)},
      {"event wild", cudaErrorInvalidResourceHandle, cudaEventRecord(wild_event, nullptr)},
      {"event query wild", cudaErrorInvalidResourceHandle, cudaEventQuery(wild_event)},
      {"pointer null", cudaErrorInvalidValue, cudaPointerGetAttributes(nullptr, wild)},
      {"async free wild", cudaErrorInvalidValue, cudaFreeAsync(wild, nullptr)},
      {"symbol wild", cudaErrorInvalidSymbol, cudaGetSymbolAddress(&pointer, wild)},
      {"ipc wild", cudaErrorInvalidValue, cudaIpcCloseMemHandle(wild)},
      {"texture null", cudaErrorInvalidValue,
       cudaCreateTextureObject(nullptr, nullptr, nullptr, nullptr)},
      {"texture wild", cudaErrorInvalidValue, cudaDestroyTextureObject(4096)},
      {"graph wild", cudaErrorInvalidValue,
       cudaGraphDestroy(reinterpret_cast<cudaGraph_t>(0x1000))},
      {"external wild", cudaErrorInvalidResourceHandle,
       cudaDestroyExternalMemory(reinterpret_cast<cudaExternalMemory_t>(0x1000))},
      {"trim nowhere", cudaErrorInvalidDevice, cudaDeviceGraphMemTrim(2)},
  };
  for (const auto& row : rows) EXPECT_EQ(row.expected, row.got) << row.what;
  cudaGetLastError();
}

TEST(RuntimeValues, ManagedBatchesOfThirteen) {
  using Discard = cudaError_t (*)(void**, size_t*, size_t, unsigned long long, cudaStream_t);
  const auto discard = reinterpret_cast<Discard>(dlsym(RTLD_DEFAULT, "cudaMemDiscardBatchAsync"));
  if (RuntimeVersion() == 12) {
    EXPECT_EQ(discard, nullptr);
    return;
  }
#if CUDART_VERSION >= 13000
  void* block = nullptr;
  CHECK_RT(cudaMallocManaged(&block, 2 * kMiB, cudaMemAttachGlobal));
  std::memset(block, 7, 2 * kMiB);
  cudaStream_t stream = nullptr;
  CHECK_RT(cudaStreamCreate(&stream));
  size_t bytes = kMiB;
  CHECK_RT(discard(&block, &bytes, 1, 0, stream));
  CHECK_RT(cudaStreamSynchronize(stream));
  EXPECT_EQ(static_cast<char*>(block)[kMiB - 1], 0);
  EXPECT_EQ(static_cast<char*>(block)[kMiB], 7);
  CHECK_RT(cudaStreamDestroy(stream));
  CHECK_RT(cudaFree(block));
#endif
}

}  // namespace
