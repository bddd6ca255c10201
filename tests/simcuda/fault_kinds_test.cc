// Injected faults for functions of every kind: the call fails with the requested result, takes no
// memory, and the next call succeeds.
#include <functional>
#include <string>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE(
    "memory=1GiB,overhead=0,"
    "fail=cuMemAlloc_v2:1,fail=cuMemAllocPitch_v2:1:2,fail=cuMemAllocManaged:1:1,"
    "fail=cuMemHostAlloc:1:304,fail=cuMemAllocAsync:1:2,fail=cuMemCreate:1:2,"
    "fail=cuMemAddressReserve:1:2,fail=cuArrayCreate_v2:1:2,fail=cuStreamCreate:1:2,"
    "fail=cuEventCreate:1:999,fail=cuGraphCreate:1:2,fail=cuMemPoolCreate:1:801,"
    "fail=cuModuleLoadData:1:200,fail=cuCtxSynchronize:1:700,fail=cuMemHostRegister_v2:1:712,"
    "fail=cuMemGetInfo_v2:2:719,fail=cuMemGetInfo_v2:3:702,fail=cuNoSuchFunction:1:1");

using FaultKindsTest = DriverTest;

struct Case {
  const char* name;
  CUresult fails_with;
  std::function<CUresult()> make;
  std::function<CUresult()> undo;
};

TEST_F(FaultKindsTest, TheFirstCallFailsTheSecondWorks) {
  CUdeviceptr address = 0;
  size_t pitch = 0;
  void* pinned = nullptr;
  CUmemGenericAllocationHandle handle = 0;
  CUarray array = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUgraph graph = nullptr;
  CUmemoryPool pool = nullptr;
  CUmodule module = nullptr;
  std::vector<char> host(5000);
  CUmemAllocationProp physical = {};
  physical.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  physical.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUDA_ARRAY_DESCRIPTOR descriptor = {};
  descriptor.Width = 16;
  descriptor.Format = CU_AD_FORMAT_FLOAT;
  descriptor.NumChannels = 1;
  const char* ptx = ".version 8.0\n.target sm_90\n";
  const auto free_linear = [&] { return cuMemFree(address); };
  const Case cases[] = {
      {"cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY, [&] { return cuMemAlloc(&address, 100); },
       free_linear},
      {"cuMemAllocPitch", CUDA_ERROR_OUT_OF_MEMORY,
       [&] { return cuMemAllocPitch(&address, &pitch, 10, 10, 4); }, free_linear},
      {"cuMemAllocManaged", CUDA_ERROR_INVALID_VALUE,
       [&] { return cuMemAllocManaged(&address, 100, CU_MEM_ATTACH_GLOBAL); }, free_linear},
      {"cuMemHostAlloc", CUDA_ERROR_OPERATING_SYSTEM,
       [&] { return cuMemHostAlloc(&pinned, 100, 0); }, [&] { return cuMemFreeHost(pinned); }},
      {"cuMemAllocAsync", CUDA_ERROR_OUT_OF_MEMORY,
       [&] { return cuMemAllocAsync(&address, 100, nullptr); },
       [&] { return cuMemFreeAsync(address, nullptr); }},
      {"cuMemCreate", CUDA_ERROR_OUT_OF_MEMORY,
       [&] { return cuMemCreate(&handle, 2 * kMiB, &physical, 0); },
       [&] { return cuMemRelease(handle); }},
      {"cuMemAddressReserve", CUDA_ERROR_OUT_OF_MEMORY,
       [&] { return cuMemAddressReserve(&address, 2 * kMiB, 0, 0, 0); },
       [&] { return cuMemAddressFree(address, 2 * kMiB); }},
      {"cuArrayCreate", CUDA_ERROR_OUT_OF_MEMORY,
       [&] { return cuArrayCreate(&array, &descriptor); }, [&] { return cuArrayDestroy(array); }},
      {"cuStreamCreate", CUDA_ERROR_OUT_OF_MEMORY, [&] { return cuStreamCreate(&stream, 0); },
       [&] { return cuStreamDestroy(stream); }},
      {"cuEventCreate", CUDA_ERROR_UNKNOWN, [&] { return cuEventCreate(&event, 0); },
       [&] { return cuEventDestroy(event); }},
      {"cuGraphCreate", CUDA_ERROR_OUT_OF_MEMORY, [&] { return cuGraphCreate(&graph, 0); },
       [&] { return cuGraphDestroy(graph); }},
      {"cuMemPoolCreate", CUDA_ERROR_NOT_SUPPORTED,
       [&] { return cuMemPoolCreate(&pool, &properties); }, [&] { return cuMemPoolDestroy(pool); }},
      {"cuModuleLoadData", CUDA_ERROR_INVALID_IMAGE, [&] { return cuModuleLoadData(&module, ptx); },
       [&] { return cuModuleUnload(module); }},
      {"cuCtxSynchronize", CUDA_ERROR_ILLEGAL_ADDRESS, [] { return cuCtxSynchronize(); },
       [] { return CUDA_SUCCESS; }},
      {"cuMemHostRegister", CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
       [&] { return cuMemHostRegister(host.data(), host.size(), 0); },
       [&] { return cuMemHostUnregister(host.data()); }}};
  const uint64_t free = Memory().free_bytes;
  for (const Case& one : cases) {
    EXPECT_EQ(one.make(), one.fails_with) << one.name;
    EXPECT_EQ(Memory().free_bytes, free) << one.name;
    EXPECT_EQ(Memory().live_allocations, 0u) << one.name;
    EXPECT_EQ(one.make(), CUDA_SUCCESS) << one.name;
    EXPECT_EQ(one.undo(), CUDA_SUCCESS) << one.name;
    CUmemoryPool used = nullptr;
    CHECK_CU(cuDeviceGetDefaultMemPool(&used, 0));
    CHECK_CU(cuStreamSynchronize(nullptr));
    CHECK_CU(cuMemPoolTrimTo(used, 0));
  }
}

TEST_F(FaultKindsTest, SeveralCallsOfOneFunctionEachItsOwnWay) {
  const CUresult expected[] = {CUDA_SUCCESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_TIMEOUT,
                               CUDA_SUCCESS, CUDA_SUCCESS};
  for (const CUresult result : expected) {
    size_t free = 77;
    EXPECT_EQ(cuMemGetInfo(&free, nullptr), result);
    // A call that fails has no effect.
    EXPECT_EQ(free == 77, result != CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace memprof::simcuda
