// What the source reports of virtual memory management.
#include "cupti_hooks/src/vmm_handlers.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

#include "cupti_hooks/src/allocation_handlers.h"
#include "tests/cupti/callback_driver.h"

namespace memprof::cupti {
namespace {

using cupti_test::DriverCall;
using cupti_test::Succeed;

constexpr std::uint64_t kBytes = 2 << 20;

class VmmHandlers : public cupti_test::HandlerTest {
 protected:
  // A handle of its own for every test: references are counted for good.
  static CUmemGenericAllocationHandle NewHandle() {
    static CUmemGenericAllocationHandle last = 0xabc0;
    return ++last;
  }
  void Create(CUmemGenericAllocationHandle handle, CUmemLocationType type, int id) {
    CUmemAllocationProp prop{};
    prop.location.type = type;
    prop.location.id = id;
    const cuMemCreate_params params = {&handle, kBytes, &prop, 0};
    Succeed("cuMemCreate", &params);
  }
  void Create(CUmemGenericAllocationHandle handle) {
    Create(handle, CU_MEM_LOCATION_TYPE_DEVICE, 1);
  }
  void Release(CUmemGenericAllocationHandle handle, CUresult result = CUDA_SUCCESS) {
    const cuMemRelease_params params = {handle};
    DriverCall("cuMemRelease", &params).Enter().Exit(result);
  }
  void Map(CUdeviceptr address, CUmemGenericAllocationHandle handle) {
    const cuMemMap_params params = {address, kBytes, 512, handle, 0};
    Succeed("cuMemMap", &params);
  }
  void Unmap(CUdeviceptr address, std::size_t bytes) {
    const cuMemUnmap_params params = {address, bytes};
    Succeed("cuMemUnmap", &params);
  }
  void Export(CUmemGenericAllocationHandle handle, int file) {
    const cuMemExportToShareableHandle_params params = {
        &file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0};
    Succeed("cuMemExportToShareableHandle", &params);
  }
  void Import(CUmemGenericAllocationHandle handle, int file) {
    const cuMemImportFromShareableHandle_params params = {
        &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)),
        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    Succeed("cuMemImportFromShareableHandle", &params);
  }
  void Retain(CUmemGenericAllocationHandle handle) {
    const cuMemRetainAllocationHandle_params params = {&handle, nullptr};
    Succeed("cuMemRetainAllocationHandle", &params);
  }
};

TEST_F(VmmHandlers, AddressSpaceIsNoMemory) {
  CUdeviceptr range = 0x7d0000000000;
  const cuMemAddressReserve_params reserve = {&range, 64 << 20, 0, 0, 0};
  Succeed("cuMemAddressReserve", &reserve);
  const cuMemAddressFree_params free = {range, 64 << 20};
  Succeed("cuMemAddressFree", &free);
  const auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].op, kOpAlloc);
  EXPECT_EQ(events[1].op, kOpFree);
  for (const SourceEvent& event : events) {
    EXPECT_EQ(event.layer, kLayerVmmAddress);
    EXPECT_EQ(event.address, range);
    EXPECT_EQ(event.bytes, 64u << 20);
    EXPECT_EQ(event.context, 0u) << "no context owns it";
  }
  EXPECT_FALSE(IsMarked(range));
  recorder_.Reset();
  DriverCall("cuMemAddressFree", &free).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(recorder_.Events().size(), 2u);
  EXPECT_EQ(recorder_.Events()[1].op, kOpFreeFailed);
  EXPECT_EQ(recorder_.Events()[1].result, 1u);
}

TEST_F(VmmHandlers, MemoryLivesUntilItsLastReferenceIsGone) {
  const auto handle = NewHandle();
  const CUdeviceptr first = 0x7d1000000000;
  const CUdeviceptr second = first + kBytes;
  Create(handle);
  const SourceEvent created = Only(kOpAlloc);
  EXPECT_EQ(created.layer, kLayerVmmPhysical);
  EXPECT_EQ(created.device, 1);
  EXPECT_EQ(created.address, handle);
  EXPECT_EQ(created.bytes, kBytes);
  EXPECT_EQ(created.with_stack, 1u);
  Map(first, handle);
  Map(second, handle);
  EXPECT_TRUE(IsMarked(first));
  Retain(handle);
  Release(handle);
  Unmap(first, kBytes);
  Release(handle);
  EXPECT_TRUE(recorder_.Events(kOpFree).empty()) << "one mapping is left";
  recorder_.Reset();
  Unmap(first, 2 * kBytes);
  const auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].op, kOpFree);
  EXPECT_EQ(events[0].layer, kLayerVmmPhysical);
  EXPECT_EQ(events[0].address, handle);
  EXPECT_EQ(events[0].bytes, kBytes);
  EXPECT_EQ(events[0].device, 1);
  EXPECT_EQ(events[1].op, kOpUnmap);
  EXPECT_EQ(events[1].address, first);
  EXPECT_EQ(events[1].bytes, 2 * kBytes);
}

TEST_F(VmmHandlers, AMapNamesItsHandleAndOffset) {
  const auto handle = NewHandle();
  Create(handle);
  recorder_.Reset();
  Map(0x7d2000000000, handle);
  const SourceEvent event = Only(kOpMap);
  EXPECT_EQ(event.layer, kLayerVmmAddress);
  EXPECT_EQ(event.device, 1);
  EXPECT_EQ(event.address, 0x7d2000000000u);
  EXPECT_EQ(event.bytes, kBytes);
  EXPECT_EQ(event.aux0, handle);
  EXPECT_EQ(event.aux1, 512u);
}

TEST_F(VmmHandlers, AFailedReleaseKeepsTheMemory) {
  const auto handle = NewHandle();
  Create(handle);
  recorder_.Reset();
  Release(handle, CUDA_ERROR_INVALID_VALUE);
  auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].op, kOpFree);
  EXPECT_EQ(events[1].op, kOpFreeFailed);
  EXPECT_EQ(events[1].address, handle);
  EXPECT_EQ(events[1].result, 1u);
  recorder_.Reset();
  Release(handle);
  EXPECT_EQ(Only(kOpFree).bytes, kBytes);
  recorder_.Reset();
  Release(handle);  // nobody knows it any more
  EXPECT_TRUE(recorder_.Events().empty());
}

TEST_F(VmmHandlers, AFailedReleaseOfOneOfTwoReferencesChangesNothing) {
  const auto handle = NewHandle();
  Create(handle);
  Retain(handle);
  recorder_.Reset();
  Release(handle, CUDA_ERROR_INVALID_VALUE);
  Release(handle);
  EXPECT_TRUE(recorder_.Events().empty());
  Release(handle);
  EXPECT_EQ(Only(kOpFree).address, handle);
}

TEST_F(VmmHandlers, MemoryOnTheHostIsPinned) {
  const auto handle = NewHandle();
  Create(handle, static_cast<CUmemLocationType>(2), 0);  // CU_MEM_LOCATION_TYPE_HOST
  const SourceEvent event = Only(kOpAlloc);
  EXPECT_EQ(event.layer, kLayerPinned);
  EXPECT_EQ(event.device, kNoDevice);
  recorder_.Reset();
  Release(handle);
  EXPECT_EQ(Only(kOpFree).layer, kLayerPinned);
}

TEST_F(VmmHandlers, ImportedAndMulticastHandlesHaveNoBytesOfTheirOwn) {
  auto imported = NewHandle();
  const cuMemImportFromShareableHandle_params import = {&imported, nullptr,
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
  Succeed("cuMemImportFromShareableHandle", &import);
  auto multicast = NewHandle();
  const MulticastCreateParams create = {&multicast, nullptr};
  Succeed("cuMulticastCreate", &create);
  Release(imported);
  Release(multicast);
  const auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].layer, kLayerImported);
  EXPECT_EQ(events[1].layer, kLayerMulticast);
  EXPECT_EQ(events[2].address, imported);
  EXPECT_EQ(events[3].address, multicast);
  for (const SourceEvent& event : events) EXPECT_EQ(event.bytes, 0u);
}

TEST_F(VmmHandlers, DevicesJoinMulticastObjects) {
  const auto multicast = NewHandle();
  const MulticastAddDeviceParams params = {multicast, 1};
  Succeed("cuMulticastAddDevice", &params);
  DriverCall("cuMulticastAddDevice", &params).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  const SourceEvent event = Only(kOpMap);
  EXPECT_EQ(event.layer, kLayerMulticast);
  EXPECT_EQ(event.address, multicast);
  EXPECT_EQ(event.device, 1);
  EXPECT_EQ(event.bytes, 0u);
}

// What the process exported itself is not somebody else's when it comes back, by whichever handle.
TEST_F(VmmHandlers, ImportsOfOwnMemoryAreHandlesOfIt) {
  const auto first = NewHandle(), second = NewHandle(), third = NewHandle();
  const int file = memfd_create("export", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  const int copy = dup(file);  // as another export or a socket gives it
  Create(first);
  Export(first, file);
  Import(second, copy);
  Release(first);
  EXPECT_EQ(recorder_.Events().size(), 1u) << "the second handle holds it";
  Release(second, CUDA_ERROR_INVALID_VALUE);
  Release(second);
  auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 4u) << "a creation; a free that failed; a free";
  EXPECT_EQ(events[2].op, kOpFreeFailed);
  EXPECT_EQ(events[3].op, kOpFree);
  EXPECT_EQ(events[3].address, first);
  EXPECT_EQ(events[3].bytes, kBytes);
  // Only the export has kept it: whoever imports it has it anew, with its size.
  Import(third, copy);
  events = recorder_.Events();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[4].op, kOpAlloc);
  EXPECT_EQ(events[4].layer, kLayerVmmPhysical);
  EXPECT_EQ(events[4].address, third);
  EXPECT_EQ(events[4].bytes, kBytes);
  EXPECT_EQ(events[4].device, 1);
  const auto fourth = NewHandle();
  Import(fourth, file);
  Release(third);
  EXPECT_EQ(recorder_.Events().size(), 5u);
  Release(fourth);
  EXPECT_EQ(recorder_.Events().size(), 6u);
  close(file);
  close(copy);
}

TEST_F(VmmHandlers, ImportsOfOtherFilesAreOfOthers) {
  const auto own = NewHandle(), foreign = NewHandle();
  const int file = memfd_create("export", MFD_CLOEXEC), other = memfd_create("other", MFD_CLOEXEC);
  ASSERT_TRUE(file >= 0 && other >= 0);
  Create(own);
  Export(own, file);
  Export(NewHandle(), other);  // a handle from before recording began: nothing is known of it
  Import(foreign, other);
  const auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].layer, kLayerImported);
  EXPECT_EQ(events[1].bytes, 0u);
  Release(foreign);
  Release(own);
  close(file);
  close(other);
}

TEST_F(VmmHandlers, AFailureIsOneOfPhysicalMemory) {
  const cuMemCreate_params params = {nullptr, kBytes, nullptr, 0};
  DriverCall("cuMemCreate", &params).Enter().Exit(CUDA_ERROR_OUT_OF_MEMORY);
  const SourceEvent event = Only(kOpAllocFailed);
  EXPECT_EQ(event.layer, kLayerVmmPhysical);
  EXPECT_EQ(event.bytes, kBytes);
}

TEST_F(VmmHandlers, WithHooksOnlyTheAddressMapIsKept) {
  SetListening(Listening::kUses);
  const auto handle = NewHandle();
  Create(handle);
  Map(0x7d3000000000, handle);
  Unmap(0x7d3000000000, kBytes);
  Release(handle);
  EXPECT_TRUE(recorder_.Events().empty());
  EXPECT_TRUE(IsMarked(0x7d3000000000));
}

}  // namespace
}  // namespace memprof::cupti
