// Initialisation, devices, contexts and cuGetProcAddress.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=2GiB,devices=3,name=Test GPU");

class ContextTest : public DriverTest {};

TEST(BeforeInit, MostFunctionsRefuse) {
  int count = 0;
  EXPECT_EQ(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
  int version = 0;
  EXPECT_EQ(CUDA_SUCCESS, cuDriverGetVersion(&version));
  EXPECT_EQ(version, 13000);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuInit(1));
}

TEST_F(ContextTest, DevicesAreAsConfigured) {
  int count = 0;
  CHECK_CU(cuDeviceGetCount(&count));
  EXPECT_EQ(count, 3);
  char name[32];
  CHECK_CU(cuDeviceGetName(name, sizeof(name), 2));
  EXPECT_STREQ(name, "Test GPU");
  CHECK_CU(cuDeviceGetName(name, 5, 2));
  EXPECT_STREQ(name, "Test");
  CUdevice device = -1;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 3));
  size_t bytes = 0;
  CHECK_CU(cuDeviceTotalMem(&bytes, 1));
  EXPECT_EQ(bytes, 2 * kGiB);
  char bus[16];
  CHECK_CU(cuDeviceGetPCIBusId(bus, sizeof(bus), 2));
  CHECK_CU(cuDeviceGetByPCIBusId(&device, bus));
  EXPECT_EQ(device, 2);
  CUuuid first;
  CUuuid second;
  CHECK_CU(cuDeviceGetUuid_v2(&first, 0));
  CHECK_CU(cuDeviceGetUuid_v2(&second, 1));
  EXPECT_NE(std::memcmp(&first, &second, sizeof(first)), 0);
}

TEST_F(ContextTest, AttributesDescribeAModernDevice) {
  const std::pair<CUdevice_attribute, int> expected[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32}};
  for (const auto& [attribute, value] : expected) {
    int got = -1;
    CHECK_CU(cuDeviceGetAttribute(&got, attribute, 0));
    EXPECT_EQ(got, value) << attribute;
  }
  int got = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuDeviceGetAttribute(&got, static_cast<CUdevice_attribute>(0), 0));
}

TEST_F(ContextTest, PrimaryContextCountsItsUsers) {
  CUcontext again = nullptr;
  CHECK_CU(cuDevicePrimaryCtxRetain(&again, 0));
  EXPECT_EQ(again, context_);
  CHECK_CU(cuDevicePrimaryCtxRelease(0));
  unsigned flags = 0;
  int active = 0;
  CHECK_CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  CHECK_CU(cuDevicePrimaryCtxRelease(0));
  CHECK_CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 0);
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
  CUdeviceptr address = 0;
  EXPECT_EQ(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&address, 4));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(context_));
}

TEST_F(ContextTest, EveryThreadHasItsStack) {
  CUcontext second = nullptr;
  CHECK_CU(cuDevicePrimaryCtxRetain(&second, 1));
  CHECK_CU(cuCtxPushCurrent(second));
  std::thread([&] {
    CUcontext current = context_;
    EXPECT_EQ(CUDA_SUCCESS, cuCtxGetCurrent(&current));
    EXPECT_EQ(current, nullptr);
    EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(nullptr));
    EXPECT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(context_));
  }).join();
  CUdevice device = -1;
  CHECK_CU(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 1);
  CUcontext popped = nullptr;
  CHECK_CU(cuCtxPopCurrent(&popped));
  EXPECT_EQ(popped, second);
  CHECK_CU(cuCtxGetDevice(&device));
  EXPECT_EQ(device, 0);
  CHECK_CU(cuDevicePrimaryCtxRelease(1));
}

TEST_F(ContextTest, Limits) {
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 4096));
  size_t value = 0;
  CHECK_CU(cuCtxGetLimit(&value, CU_LIMIT_PRINTF_FIFO_SIZE));
  EXPECT_EQ(value, 4096u);
  EXPECT_EQ(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit(&value, CU_LIMIT_MAX));
  // For devices before 9.0.
  EXPECT_EQ(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 4));
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 4096));
  CHECK_CU(cuCtxGetLimit(&value, CU_LIMIT_MAX_L2_FETCH_GRANULARITY));
  EXPECT_EQ(value, 128u);
}

TEST_F(ContextTest, StacksAreTakenForAllThreadsAtOnce) {
  const uint64_t before = Memory().context_bytes;
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024 + 256));
  EXPECT_EQ(Memory().context_bytes - before, uint64_t{256} * 132 * 2048);  // of an H100
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 64 << 10));
  size_t value = 0;
  CHECK_CU(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EXPECT_EQ(value, 1024u + 256);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1 << 20));
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 512));
  EXPECT_EQ(Memory().context_bytes, before);
}

constexpr char kImage[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

TEST_F(ContextTest, TheHeapOfKernelsIsTakenWithTheFirstModule) {
  const uint64_t before = Memory().context_bytes;
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 100 << 20));
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, (200 << 20) - 5));
  EXPECT_EQ(Memory().context_bytes, before);
  CUmodule module = nullptr;
  CHECK_CU(cuModuleLoadData(&module, kImage));
  EXPECT_EQ(Memory().context_bytes - before, uint64_t{200} << 20);
  // Its size is fixed, for other modules too.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 300 << 20));
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, (200 << 20) - 5));
  CHECK_CU(cuModuleUnload(module));
  EXPECT_EQ(Memory().context_bytes - before, uint64_t{200} << 20);
}

TEST_F(ContextTest, AHeapThatIsSetAfterTheFirstModuleIsTakenAtOnce) {
  CUmodule module = nullptr;
  CHECK_CU(cuModuleLoadData(&module, kImage));
  const uint64_t before = Memory().context_bytes;
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 64 << 20));
  EXPECT_EQ(Memory().context_bytes - before, uint64_t{64} << 20);
}

TEST_F(ContextTest, WithoutRoomForTheHeapNoModuleIsLoaded) {
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 3 * kGiB));
  CUmodule module = nullptr;
  EXPECT_EQ(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, cuModuleLoadData(&module, kImage));
  CHECK_CU(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 1 << 20));
  CHECK_CU(cuModuleLoadData(&module, kImage));
}

TEST_F(ContextTest, ForkedChildMustNotUseTheDriver) {
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAlloc(&address, 4096));
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, 0));
  CHECK_CU(cuLaunchHostFunc(
      stream, [](void*) {}, nullptr));
  const pid_t child = fork();
  if (child == 0) {
    CUdeviceptr other = 0;
    const bool refused = cuMemAlloc(&other, 4) == CUDA_ERROR_NOT_INITIALIZED &&
                         cuInit(0) == CUDA_ERROR_NOT_INITIALIZED;
    // exit() runs exit handlers: they must not wait for workers that do not exist in the child.
    exit(refused ? 55 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 55);
  CHECK_CU(cuMemFree(address));
}

std::atomic<int> g_ran_before_exit{0};

TEST(ExitDeathTest, EndOfProcessWaitsForWorkInFlight) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        // Registered before the driver's handler, so it runs after it.
        std::atexit([] { _exit(g_ran_before_exit == 1000 ? 66 : 1); });
        CUcontext context = nullptr;
        CUstream stream = nullptr;
        cuInit(0);
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxSetCurrent(context);
        cuStreamCreate(&stream, 0);
        for (int i = 0; i < 1000; ++i) {
          cuLaunchHostFunc(
              stream,
              [](void*) {
                usleep(100);
                ++g_ran_before_exit;
              },
              nullptr);
        }
        exit(1);
      },
      testing::ExitedWithCode(66), "");
}

TEST(ExitDeathTest, EndOfProcessDoesNotWaitForever) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::atexit([] {
          int count = 0;
          _exit(cuDeviceGetCount(&count) == CUDA_ERROR_DEINITIALIZED ? 67 : 1);
        });
        CUcontext context = nullptr;
        cuInit(0);
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxSetCurrent(context);
        cuLaunchHostFunc(
            nullptr, [](void*) { pause(); }, nullptr);
        exit(1);
      },
      testing::ExitedWithCode(67), "");
}

TEST_F(ContextTest, ProcAddressesAreThoseOfDlsym) {
  void* self = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(self, nullptr);
  const struct {
    const char* base;
    int version;
    cuuint64_t flags;
    const char* exported;
  } cases[] = {
      {"cuMemAlloc", 2000, 0, "cuMemAlloc"},
      {"cuMemAlloc", 3020, 0, "cuMemAlloc_v2"},
      {"cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, "cuMemAlloc_v2"},
      {"cuMemcpyHtoDAsync", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
       "cuMemcpyHtoDAsync_v2_ptsz"},
      {"cuMemcpyHtoDAsync", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, "cuMemcpyHtoDAsync_v2"},
      {"cuMemcpyHtoD", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
       "cuMemcpyHtoD_v2_ptds"},
      {"cuGetProcAddress", 11030, 0, "cuGetProcAddress"},
      {"cuGetProcAddress", 12000, 0, "cuGetProcAddress_v2"},
      {"cuCtxCreate", 12040, 0, "cuCtxCreate_v3"},
      {"cuCtxCreate", 13000, 0, "cuCtxCreate_v4"},
      {"cuLaunchKernel", 4000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
       "cuLaunchKernel_ptsz"},
      {"cuStreamGetCaptureInfo", 12030, 0, "cuStreamGetCaptureInfo_v3"}};
  for (const auto& one : cases) {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CHECK_CU(cuGetProcAddress_v2(one.base, &function, one.version, one.flags, &status));
    EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SUCCESS);
    EXPECT_NE(function, nullptr);
    EXPECT_EQ(function, dlsym(self, one.exported)) << one.exported;
  }
}

TEST_F(ContextTest, ProcAddressesSayWhatIsMissing) {
  void* function = &function;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  CHECK_CU(cuGetProcAddress_v2("cuNoSuchThing", &function, 12000, 0, &status));
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  CHECK_CU(cuGetProcAddress_v2("cuMemAllocAsync", &function, 11000, 0, &status));
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  // Only base names are accepted.
  CHECK_CU(cuGetProcAddress_v2("cuMemAlloc_v2", &function, 12000, 0, &status));
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGetProcAddress_v2("cuMemAlloc", &function, 99000, 0, &status));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 8, &status));
}

TEST_F(ContextTest, ExportTablesDoNotExist) {
  const void* table = &table;
  const CUuuid id = {};
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuGetExportTable(&table, &id));
  EXPECT_EQ(table, nullptr);
}

TEST_F(ContextTest, ErrorsHaveNames) {
  const char* name = nullptr;
  CHECK_CU(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &name));
  EXPECT_STREQ(name, "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK_CU(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &name));
  EXPECT_STREQ(name, "out of memory");
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(12345), &name));
  EXPECT_EQ(name, nullptr);
}

TEST_F(ContextTest, TheRestIsNotSupported) {
  CUtexref texture = nullptr;
  EXPECT_EQ(CUDA_ERROR_NOT_SUPPORTED, cuTexRefCreate(&texture));
}

}  // namespace
}  // namespace memprof::simcuda
