// A guest of virtual memory management: physical memory with several references, maps, memory of
// two devices bound to a multicast object.
#include "by_name.h"

namespace {

constexpr std::size_t kPage = 2 << 20;

CUmemAllocationProp On(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  return properties;
}

void Physical() {
  UsePrimary();
  const auto create = PROC(cuMemCreate, "cuMemCreate", 10020);
  const auto map = PROC(cuMemMap, "cuMemMap", 10020);
  const auto unmap = SYMBOL(cuMemUnmap);
  const auto release = PROC(cuMemRelease, "cuMemRelease", 10020);
  const CUmemAllocationProp here = On(0);
  CUmemGenericAllocationHandle first = 0, second = 0, again = 0, none = 0;
  MUST(create(&first, 2 * kPage, &here, 0));
  Expect("alloc", "vmm", 0, first, 2 * kPage, "cuMemCreate");
  MUST(create(&second, kPage, &here, 0));
  Expect("alloc", "vmm", 0, second, kPage, "cuMemCreate");
  MUST_FAIL(CUDA_ERROR_OUT_OF_MEMORY, create(&none, std::size_t{1} << 45, &here, 0));
  Expect("alloc_failed", "vmm", 0, 0, std::uint64_t{1} << 45, "cuMemCreate");
  CUdeviceptr range = 0;
  MUST(PROC(cuMemAddressReserve, "cuMemAddressReserve", 10020)(&range, 8 * kPage, 0, 0, 0));
  Expect("alloc", "vmm-address", 0, range, 8 * kPage, "cuMemAddressReserve");
  MUST(map(range, 2 * kPage, 0, first, 0));
  Expect("map", "vmm-address", 0, range, 2 * kPage, "cuMemMap");
  MUST(map(range + 2 * kPage, kPage, kPage, first, 0));
  Expect("map", "vmm-address", 0, range + 2 * kPage, kPage, "cuMemMap");
  MUST(map(range + 4 * kPage, kPage, 0, second, 0));
  Expect("map", "vmm-address", 0, range + 4 * kPage, kPage, "cuMemMap");
  const auto retain = PROC(cuMemRetainAllocationHandle, "cuMemRetainAllocationHandle", 11000);
  MUST(retain(&again, reinterpret_cast<void*>(range)));
  MUST(release(first));
  MUST(release(again));
  // Unmaps both mappings of the first memory in one call; the memory ends with the last one.
  MUST(unmap(range, 3 * kPage));
  Expect("free", "vmm", 0, first, 2 * kPage, "cuMemUnmap");
  Expect("unmap", "vmm-address", 0, range, 3 * kPage, "cuMemUnmap");
  MUST(unmap(range + 4 * kPage, kPage));
  Expect("unmap", "vmm-address", 0, range + 4 * kPage, kPage, "cuMemUnmap");
  Expect("free", "vmm-address", 0, range, 8 * kPage, "cuMemAddressFree");
  MUST(PROC(cuMemAddressFree, "cuMemAddressFree", 10020)(range, 8 * kPage));
  AskForTooMuch();
}

#if CUDA_VERSION >= 12010
void Multicast() {
  UsePrimary();
  const auto create = PROC(cuMemCreate, "cuMemCreate", 10020);
  const auto release = PROC(cuMemRelease, "cuMemRelease", 10020);
  CUmulticastObjectProp properties{};
  properties.numDevices = 2;
  properties.size = 4 * kPage;
  CUmemGenericAllocationHandle object = 0, mine = 0, theirs = 0;
  MUST(PROC(cuMulticastCreate, "cuMulticastCreate", 12010)(&object, &properties));
  Expect("alloc", "multicast", -1, object, 0, "cuMulticastCreate");
  const auto add = PROC(cuMulticastAddDevice, "cuMulticastAddDevice", 12010);
  MUST(add(object, 0));
  Expect("map", "multicast", 0, object, 0, "cuMulticastAddDevice");
  MUST(add(object, 1));
  Expect("map", "multicast", 1, object, 0, "cuMulticastAddDevice");
  const CUmemAllocationProp here = On(0), there = On(1);
  MUST(create(&mine, 2 * kPage, &here, 0));
  Expect("alloc", "vmm", 0, mine, 2 * kPage, "cuMemCreate");
  MUST(create(&theirs, 2 * kPage, &there, 0));
  Expect("alloc", "vmm", 1, theirs, 2 * kPage, "cuMemCreate");
  const auto bind = PROC(cuMulticastBindMem, "cuMulticastBindMem", 12010);
  MUST(bind(object, 0, mine, 0, 2 * kPage, 0));
  Expect("map", "multicast", 0, object, 2 * kPage, "cuMulticastBindMem");
  CUdeviceptr range = 0;
  MUST(SYMBOL(cuMemAddressReserve)(&range, 8 * kPage, 0, 0, 0));
  Expect("alloc", "vmm-address", 0, range, 8 * kPage, "cuMemAddressReserve");
  MUST(SYMBOL(cuMemMap)(range, 2 * kPage, 0, theirs, 0));
  Expect("map", "vmm-address", 1, range, 2 * kPage, "cuMemMap");
  const auto bind_address = PROC(cuMulticastBindAddr, "cuMulticastBindAddr", 12010);
  MUST(bind_address(object, kPage, range, kPage, 0));
  Expect("map", "multicast", 0, object, kPage, "cuMulticastBindAddr");
  MUST(SYMBOL(cuMemMap)(range + 4 * kPage, 4 * kPage, 0, object, 0));
  Expect("map", "vmm-address", -1, range + 4 * kPage, 4 * kPage, "cuMemMap");
  // Bound memory lives on; the end of the object releases it.
  MUST(release(mine));
  MUST(PROC(cuMulticastUnbind, "cuMulticastUnbind", 12010)(object, 0, 0, 2 * kPage));
  Expect("free", "vmm", 0, mine, 2 * kPage, "cuMulticastUnbind");
  Expect("unmap", "multicast", 0, object, 2 * kPage, "cuMulticastUnbind");
  MUST(SYMBOL(cuMemUnmap)(range + 4 * kPage, 4 * kPage));
  Expect("unmap", "vmm-address", -1, range + 4 * kPage, 4 * kPage, "cuMemUnmap");
  MUST(SYMBOL(cuMemUnmap)(range, 2 * kPage));
  Expect("unmap", "vmm-address", 1, range, 2 * kPage, "cuMemUnmap");
  MUST(release(theirs));
  Expect("free", "multicast", -1, object, 0, "cuMemRelease");
  Expect("free", "vmm", 1, theirs, 2 * kPage, "cuMemRelease");
  MUST(release(object));
  AskForTooMuch();
}
#else
void Multicast() {}
#endif

constexpr Scenario kScenarios[] = {{"physical", Physical}, {"multicast", Multicast}};

}  // namespace

int main(int argc, char** argv) { return RunScenario(kScenarios, argc, argv); }
