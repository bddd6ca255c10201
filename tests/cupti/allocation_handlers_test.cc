// What the source reports of calls that hand out or take back memory.
#include "cupti_hooks/src/allocation_handlers.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "tests/cupti/callback_driver.h"

namespace memprof::cupti {
namespace {

using cupti_test::DriverCall;
using cupti_test::FakeRecorder;
using cupti_test::kContext;
using cupti_test::Succeed;

class AllocationHandlers : public cupti_test::HandlerTest {};

// One success of each function that allocates, and what must be reported of it.
struct Expected {
  std::uint32_t layer;
  std::int32_t device;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t aux0 = 0;
  std::uint64_t aux1 = 0;
  std::uint64_t stream = 0;
};

void ExpectEvent(const SourceEvent& event, const std::string& function, const Expected& expected) {
  SCOPED_TRACE(function);
  EXPECT_EQ(event.layer, expected.layer);
  EXPECT_EQ(event.device, expected.device);
  EXPECT_EQ(event.address, expected.address);
  EXPECT_EQ(event.bytes, expected.bytes);
  EXPECT_EQ(event.aux0, expected.aux0);
  EXPECT_EQ(event.aux1, expected.aux1);
  EXPECT_EQ(event.stream, expected.stream);
  EXPECT_EQ(event.context, kContext);
  EXPECT_EQ(event.result, 0u);
  EXPECT_EQ(FakeRecorder::Get().Text(event.api), function);
}

template <typename Params>
void ExpectAllocation(const std::string& function, const Params& params, const Expected& expected) {
  FakeRecorder::Get().Reset();
  DriverCall call(function, &params);
  call.Enter();
  EXPECT_TRUE(FakeRecorder::Get().Events().empty()) << function << " reported before its success";
  call.Exit();
  const auto events = FakeRecorder::Get().Events();
  ASSERT_EQ(events.size(), 1u) << function;
  EXPECT_EQ(events[0].op, kOpAlloc);
  EXPECT_EQ(events[0].with_stack, 1u);
  ExpectEvent(events[0], function, expected);
}

template <typename Params>
void ExpectFree(const std::string& function, const Params& params, const Expected& expected) {
  FakeRecorder::Get().Reset();
  DriverCall call(function, &params);
  call.Enter();
  const auto events = FakeRecorder::Get().Events();
  ASSERT_EQ(events.size(), 1u) << function;
  EXPECT_EQ(events[0].op, kOpFree);
  ExpectEvent(events[0], function, expected);
  call.Exit();
  EXPECT_EQ(FakeRecorder::Get().Events().size(), 1u) << function;
}

TEST_F(AllocationHandlers, LinearMemory) {
  CUdeviceptr address = 0x7f0000000000;
  cuMemAlloc_v2_params params = {&address, 4096};
  ExpectAllocation("cuMemAlloc_v2", params, {kLayerLinear, kCurrentDevice, address, 4096});
  EXPECT_TRUE(IsMarked(MemorySide::kDevice, address));
  CUdeviceptr_v1 short_address = 0x10000000;
  cuMemAlloc_params old = {&short_address, 100};
  ExpectAllocation("cuMemAlloc", old, {kLayerLinear, kCurrentDevice, 0x10000000, 100});
  ExpectFree("cuMemFree_v2", cuMemFree_v2_params{address},
             {kLayerLinear, kCurrentDevice, address, 0});
  ExpectFree("cuMemFree", cuMemFree_params{0x10000000},
             {kLayerLinear, kCurrentDevice, 0x10000000, 0});
}

TEST_F(AllocationHandlers, PitchedMemoryCountsItsPitch) {
  CUdeviceptr address = 0x7f0010000000;
  size_t pitch = 512;
  cuMemAllocPitch_v2_params params = {&address, &pitch, 300, 20, 4};
  ExpectAllocation("cuMemAllocPitch_v2", params,
                   {kLayerPitched, kCurrentDevice, address, 512 * 20, 512, 300});
  CUdeviceptr_v1 short_address = 0x20000000;
  unsigned short_pitch = 256;
  cuMemAllocPitch_params old = {&short_address, &short_pitch, 100, 3, 4};
  ExpectAllocation("cuMemAllocPitch", old,
                   {kLayerPitched, kCurrentDevice, 0x20000000, 256 * 3, 256, 100});
}

TEST_F(AllocationHandlers, ManagedMemory) {
  CUdeviceptr address = 0x7f0020000000;
  cuMemAllocManaged_params params = {&address, 1 << 20, CU_MEM_ATTACH_GLOBAL};
  ExpectAllocation("cuMemAllocManaged", params, {kLayerManaged, kCurrentDevice, address, 1 << 20});
}

TEST_F(AllocationHandlers, PinnedAndRegisteredHostMemoryHasNoDevice) {
  void* memory = reinterpret_cast<void*>(0x7e0000000000);
  cuMemHostAlloc_params host = {&memory, 8192, 0};
  ExpectAllocation("cuMemHostAlloc", host, {kLayerPinned, kNoDevice, 0x7e0000000000, 8192});
  EXPECT_TRUE(IsMarked(MemorySide::kHost, 0x7e0000000000));
  EXPECT_FALSE(IsMarked(MemorySide::kDevice, 0x7e0000000000));
  cuMemAllocHost_v2_params host_v2 = {&memory, 77};
  ExpectAllocation("cuMemAllocHost_v2", host_v2, {kLayerPinned, kNoDevice, 0x7e0000000000, 77});
  cuMemAllocHost_params host_v1 = {&memory, 78};
  ExpectAllocation("cuMemAllocHost", host_v1, {kLayerPinned, kNoDevice, 0x7e0000000000, 78});
  ExpectFree("cuMemFreeHost", cuMemFreeHost_params{memory},
             {kLayerPinned, kNoDevice, 0x7e0000000000, 0});
  cuMemHostRegister_v2_params register_v2 = {memory, 4096, 0};
  ExpectAllocation("cuMemHostRegister_v2", register_v2,
                   {kLayerRegistered, kNoDevice, 0x7e0000000000, 4096});
  cuMemHostRegister_params register_v1 = {memory, 4096, 0};
  ExpectAllocation("cuMemHostRegister", register_v1,
                   {kLayerRegistered, kNoDevice, 0x7e0000000000, 4096});
  ExpectFree("cuMemHostUnregister", cuMemHostUnregister_params{memory},
             {kLayerRegistered, kNoDevice, 0x7e0000000000, 0});
}

TEST_F(AllocationHandlers, StreamOrderedMemoryNamesItsPoolAndStream) {
  CUdeviceptr address = 0x7f0030000000;
  const auto stream = reinterpret_cast<CUstream>(0x5151);
  const auto pool = reinterpret_cast<CUmemoryPool>(0x9001);
  cuMemAllocFromPoolAsync_params from_pool = {&address, 640, pool, stream};
  for (const char* name : {"cuMemAllocFromPoolAsync", "cuMemAllocFromPoolAsync_ptsz"}) {
    ExpectAllocation(name, from_pool,
                     {kLayerStreamOrdered, kCurrentDevice, address, 640, 0x9001, 0, 0x5151});
  }
  // Each lambda becomes one of the driver's functions.
  recorder_.SetDriverFunction("cuCtxGetDevice",
                              reinterpret_cast<void*>(+[](int* device) { return *device = 3, 0; }));
  recorder_.SetDriverFunction("cuDeviceGetMemPool",
                              reinterpret_cast<void*>(+[](std::uint64_t* found, int device) {
                                return *found = 0x8000 + static_cast<unsigned>(device), 0;
                              }));
  LookUpDriver();
  cuMemAllocAsync_params async = {&address, 641, stream};
  for (const char* name : {"cuMemAllocAsync", "cuMemAllocAsync_ptsz"}) {
    ExpectAllocation(name, async,
                     {kLayerStreamOrdered, kCurrentDevice, address, 641, 0x8003, 0, 0x5151});
  }
  for (const char* name : {"cuMemFreeAsync", "cuMemFreeAsync_ptsz"}) {
    ExpectFree(name, cuMemFreeAsync_params{address, stream},
               {kLayerStreamOrdered, kCurrentDevice, address, 0, 0, 0, 0x5151});
  }
}

TEST_F(AllocationHandlers, ACapturedStreamMakesGraphNodes) {
  recorder_.SetDriverFunction("cuStreamIsCapturing",
                              reinterpret_cast<void*>(+[](void* stream, int* status) {
                                return *status = stream == reinterpret_cast<void*>(0xca) ? 1 : 0, 0;
                              }));
  LookUpDriver();
  const auto captured = reinterpret_cast<CUstream>(0xca);
  CUdeviceptr address = 0x7f0037000000;
  cuMemAllocAsync_params allocation{&address, 64, captured};
  cuMemFreeAsync_params free{address, captured};
  Succeed("cuMemAllocAsync", &allocation);
  Succeed("cuMemFreeAsync_ptsz", &free);
  EXPECT_TRUE(recorder_.Events().empty()) << "nothing is allocated or freed yet";
  const auto plain = reinterpret_cast<CUstream>(0xcb);
  ExpectAllocation("cuMemAllocAsync_ptsz", cuMemAllocAsync_params{&address, 64, plain},
                   {kLayerStreamOrdered, kCurrentDevice, address, 64, 0, 0, 0xcb});
}

TEST_F(AllocationHandlers, PoolsAreSampledWhenTheyChange) {
  recorder_.SetDriverFunction(
      "cuMemPoolGetAttribute",
      reinterpret_cast<void*>(+[](void* pool, int attribute, cuuint64_t* value) {
        EXPECT_EQ(pool, reinterpret_cast<void*>(0x9001));
        return *value = attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ? 7000 : 5000, 0;
      }));
  LookUpDriver();
  CUdeviceptr address = 0x7f0030000000;
  const auto pool = reinterpret_cast<CUmemoryPool>(0x9001);
  const cuMemAllocFromPoolAsync_params params = {&address, 640, pool, nullptr};
  DriverCall("cuMemAllocFromPoolAsync", &params).Enter().Exit(CUDA_ERROR_OUT_OF_MEMORY);
  const cuMemPoolTrimTo_params trim = {pool, 1};
  Succeed("cuMemPoolTrimTo", &trim);
  const auto samples = recorder_.Events(kOpPoolSample);
  ASSERT_EQ(samples.size(), 2u);
  for (const SourceEvent& sample : samples) {
    EXPECT_EQ(sample.address, 0x9001u);
    EXPECT_EQ(sample.bytes, 7000u);
    EXPECT_EQ(sample.aux0, 5000u);
    EXPECT_EQ(sample.result, 0u);
  }
}

TEST_F(AllocationHandlers, AFreeNamesTheDeviceOfTheMemory) {
  recorder_.SetDriverFunction("cuDeviceGetCount",
                              reinterpret_cast<void*>(+[](int* count) { return *count = 4, 0; }));
  recorder_.SetDriverFunction(
      "cuPointerGetAttribute",
      reinterpret_cast<void*>(+[](void* value, int attribute, unsigned long long address) {
        EXPECT_EQ(attribute, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
        return *static_cast<int*>(value) = 3, address == 0x7f0000000000 ? 0 : 1;
      }));
  LookUpDriver();
  for (const auto& [address, device] :
       {std::pair(CUdeviceptr{0x7f0000000000}, 3), {CUdeviceptr{0x7f0000001000}, -2}}) {
    recorder_.Reset();
    const cuMemFree_v2_params params = {address};
    Succeed("cuMemFree_v2", &params);
    EXPECT_EQ(Only(kOpFree).device, device);
  }
}

TEST_F(AllocationHandlers, Pools) {
  CUmemoryPool pool = reinterpret_cast<CUmemoryPool>(0x9002);
  CUmemPoolProps props{};
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 2};
  cuMemPoolCreate_params create = {&pool, &props};
  Succeed("cuMemPoolCreate", &create);
  cuMemPoolTrimTo_params trim = {pool, 12345};
  Succeed("cuMemPoolTrimTo", &trim);
  cuMemPoolDestroy_params destroy = {pool};
  Succeed("cuMemPoolDestroy", &destroy);
  const auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].op, kOpPoolCreate);
  EXPECT_EQ(events[0].address, 0x9002u);
  EXPECT_EQ(events[0].device, 2);
  EXPECT_EQ(events[1].op, kOpPoolTrim);
  EXPECT_EQ(events[1].address, 0x9002u);
  EXPECT_EQ(events[1].bytes, 12345u);
  EXPECT_EQ(events[2].op, kOpPoolDestroy);
  EXPECT_EQ(events[2].address, 0x9002u);
}

TEST_F(AllocationHandlers, APoolOfTheHostHandsOutPinnedMemory) {
  recorder_.SetDriverFunction(
      "cuPointerGetAttribute",
      reinterpret_cast<void*>(+[](void* value, int attribute, unsigned long long address) {
        if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE) return 1;
        return *static_cast<unsigned*>(value) =
                   address == 0x7f0044000000 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
               0;
      }));
  LookUpDriver();
  CUmemoryPool pool = reinterpret_cast<CUmemoryPool>(0x9003);
  for (const int type : {2, 3, 4}) {  // host, NUMA node, that of the thread
    recorder_.Reset();
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = static_cast<CUmemLocationType>(type);
    cuMemPoolCreate_params create = {&pool, &props};
    Succeed("cuMemPoolCreate", &create);
    EXPECT_EQ(Only(kOpPoolCreate).device, kNoDevice);
    recorder_.Reset();
    CUdeviceptr address = 0x7f0043000000;
    const cuMemAllocFromPoolAsync_params params = {&address, 640, pool, nullptr};
    Succeed("cuMemAllocFromPoolAsync", &params);
    EXPECT_EQ(Only(kOpAlloc).layer, kLayerPinned);
    EXPECT_EQ(Only(kOpAlloc).device, kNoDevice);
    EXPECT_EQ(Only(kOpAlloc).context, 0u);
    cuMemPoolDestroy_params destroy = {pool};
    Succeed("cuMemPoolDestroy", &destroy);
  }
  // Pools whose creation was not seen, of the host and of a device.
  for (const auto& [handle, where, layer] :
       {std::tuple(0x9004ul, CUdeviceptr{0x7f0044000000}, kLayerPinned),
        {0x9005ul, CUdeviceptr{0x7f0045000000}, kLayerStreamOrdered}}) {
    recorder_.Reset();
    CUdeviceptr address = where;
    const cuMemAllocFromPoolAsync_params params = {&address, 640,
                                                   reinterpret_cast<CUmemoryPool>(handle), nullptr};
    Succeed("cuMemAllocFromPoolAsync", &params);
    EXPECT_EQ(Only(kOpAlloc).layer, layer);
  }
}

TEST_F(AllocationHandlers, Arrays) {
  CUarray array = reinterpret_cast<CUarray>(0xa44a);
  CUDA_ARRAY_DESCRIPTOR flat = {100, 0, CU_AD_FORMAT_FLOAT, 2};
  ExpectAllocation("cuArrayCreate_v2", cuArrayCreate_v2_params{&array, &flat},
                   {kLayerArray, kCurrentDevice, 0xa44a, 100 * 4 * 2});
  CUDA_ARRAY3D_DESCRIPTOR box = {16, 8, 4, CU_AD_FORMAT_HALF, 4, 0};
  ExpectAllocation("cuArray3DCreate_v2", cuArray3DCreate_v2_params{&array, &box},
                   {kLayerArray, kCurrentDevice, 0xa44a, 16 * 8 * 4 * 2 * 4});
  ExpectFree("cuArrayDestroy", cuArrayDestroy_params{array},
             {kLayerArray, kCurrentDevice, 0xa44a, 0});
  CUmipmappedArray mipmap = reinterpret_cast<CUmipmappedArray>(0xa55a);
  CUDA_ARRAY3D_DESCRIPTOR layers = {8, 8, 3, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_LAYERED};
  ExpectAllocation("cuMipmappedArrayCreate", cuMipmappedArrayCreate_params{&mipmap, &layers, 4},
                   {kLayerArray, kCurrentDevice, 0xa55a, 3 * (64 + 16 + 4 + 1)});
  ExpectFree("cuMipmappedArrayDestroy", cuMipmappedArrayDestroy_params{mipmap},
             {kLayerArray, kCurrentDevice, 0xa55a, 0});
}

TEST_F(AllocationHandlers, MemoryOfOtherProcessesIsImported) {
  recorder_.SetDriverFunction(
      "cuMemGetAddressRange_v2",
      reinterpret_cast<void*>(+[](unsigned long long* base, std::size_t* bytes,
                                  unsigned long long) { return *base = 1, *bytes = 999, 0; }));
  LookUpDriver();
  CUdeviceptr address = 0x7f0038000000;
  cuIpcOpenMemHandle_v2_params open = {&address, {}, 0};
  ExpectAllocation("cuIpcOpenMemHandle_v2", open,
                   {kLayerImported, kCurrentDevice, address, 999, 0, kImportIpc});
  ExpectFree("cuIpcCloseMemHandle", cuIpcCloseMemHandle_params{address},
             {kLayerImported, kCurrentDevice, address, 0});
}

TEST_F(AllocationHandlers, AResetDeviceIsReportedByItsOrdinal) {
  cuDevicePrimaryCtxReset_params params = {5};
  Succeed("cuDevicePrimaryCtxReset_v2", &params);
  const SourceEvent event = Only(kOpDeviceReset);
  EXPECT_EQ(event.device, 5);
  recorder_.SetInsideHook(true);  // the hooks report it
  Succeed("cuDevicePrimaryCtxReset_v2", &params);
  EXPECT_EQ(recorder_.Events().size(), 1u);
}

TEST_F(AllocationHandlers, AFailureSaysWhatWasAskedForAndWhatWasFree) {
  recorder_.SetDriverFunction("cuMemGetInfo_v2",
                              reinterpret_cast<void*>(+[](std::size_t* free, std::size_t* total) {
                                return *free = 1000, *total = 5000, 0;
                              }));
  LookUpDriver();
  CUdeviceptr untouched = 0xdead0000dead;
  cuMemAlloc_v2_params params = {&untouched, 1 << 30};
  DriverCall("cuMemAlloc_v2", &params).Enter().Exit(CUDA_ERROR_OUT_OF_MEMORY);
  const SourceEvent event = Only(kOpAllocFailed);
  EXPECT_EQ(event.bytes, 1u << 30);
  EXPECT_EQ(event.address, 0u);
  EXPECT_EQ(event.result, 2u);
  EXPECT_EQ(event.aux0, 1000u);
  EXPECT_EQ(event.aux1, 5000u);
  EXPECT_EQ(event.layer, kLayerLinear);
  EXPECT_EQ(event.with_stack, 1u);
  EXPECT_FALSE(IsMarked(untouched));
}

TEST_F(AllocationHandlers, AFailureWithoutOutputsIsSafe) {
  cuMemAlloc_v2_params linear = {nullptr, 10};
  DriverCall("cuMemAlloc_v2", &linear).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  cuMemAllocPitch_v2_params pitched = {nullptr, nullptr, 10, 4, 4};
  DriverCall("cuMemAllocPitch_v2", &pitched).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  cuMemCreate_params physical = {nullptr, 10, nullptr, 0};
  DriverCall("cuMemCreate", &physical).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  cuArrayCreate_v2_params array = {nullptr, nullptr};
  DriverCall("cuArrayCreate_v2", &array).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  const auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[1].bytes, 40u) << "a failed pitched allocation has no pitch yet";
  for (const SourceEvent& event : events) EXPECT_EQ(event.op, kOpAllocFailed);
}

TEST_F(AllocationHandlers, AFreeThatDidNotHappenIsTakenBack) {
  cuMemFree_v2_params params = {0x7f0000000000};
  DriverCall("cuMemFree_v2", &params).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  const auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].op, kOpFree);
  EXPECT_EQ(events[1].op, kOpFreeFailed);
  EXPECT_EQ(events[1].address, 0x7f0000000000u);
  EXPECT_EQ(events[1].result, 1u);
}

TEST_F(AllocationHandlers, AFreeWhoseEntryWasNotSeenIsNotTakenBack) {
  SetListening(Listening::kNothing);
  cuMemFree_v2_params params = {0x7f0000000000};
  DriverCall call("cuMemFree_v2", &params);
  call.Enter();
  SetListening(Listening::kEverything);
  call.Exit(CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(recorder_.Events().empty());
}

TEST_F(AllocationHandlers, FreeingNothingIsNoEvent) {
  cuMemFree_v2_params params = {0};
  Succeed("cuMemFree_v2", &params);
  EXPECT_TRUE(recorder_.Events().empty());
}

TEST_F(AllocationHandlers, NothingIsReportedWhereHooksReportIt) {
  CUdeviceptr address = 0x7f0039000000;
  cuMemAlloc_v2_params params = {&address, 4096};
  cuMemFree_v2_params freed = {address};
  SetListening(Listening::kUses);
  Succeed("cuMemAlloc_v2", &params);
  Succeed("cuMemFree_v2", &freed);
  EXPECT_TRUE(recorder_.Events().empty());
  EXPECT_TRUE(IsMarked(address)) << "launches still need to know it";
  SetListening(Listening::kNothing);
  Succeed("cuMemAlloc_v2", &params);
  EXPECT_TRUE(recorder_.Events().empty());
}

TEST_F(AllocationHandlers, TheProgramsErrnoStaysAsItWas) {
  recorder_.OnRecord([](const SourceEvent&) { errno = EBADF; });
  CUdeviceptr address = 0x7f0039000000;
  cuMemAlloc_v2_params params = {&address, 4096};
  errno = ENOENT;
  Succeed("cuMemAlloc_v2", &params);
  EXPECT_EQ(errno, ENOENT);
}

// What the source asks the driver for comes back as a callback.
TEST_F(AllocationHandlers, WhatTheSourceItselfCallsIsNotReported) {
  recorder_.SetDriverFunction("cuMemGetInfo_v2",
                              reinterpret_cast<void*>(+[](std::size_t*, std::size_t*) {
                                static CUdeviceptr address = 0x7f003a000000;
                                cuMemAlloc_v2_params params = {&address, 1};
                                Succeed("cuMemAlloc_v2", &params);
                                return 1;
                              }));
  LookUpDriver();
  CUdeviceptr address = 0;
  cuMemAlloc_v2_params params = {&address, 1 << 20};
  DriverCall("cuMemAlloc_v2", &params).Enter().Exit(CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(Only(kOpAllocFailed).bytes, 1u << 20);
}

}  // namespace
}  // namespace memprof::cupti
