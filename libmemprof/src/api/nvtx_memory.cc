// NVTX's extension for memory. A heap that the program's own allocator divides is a segment of the
// log, its regions are blocks, and a region with a name is a tensor of bytes with that name. A
// named region without a heap is a tensor in memory of the driver.
//
// A region's address serves as its handle, as NVTX allows. What ends with the memory below it needs
// no event: readers end it then.
#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/api/internal/nvtx_abi.h"
#include "libmemprof/src/api/internal/nvtx_text.h"
#include "libmemprof/src/recording/record_event.h"

namespace memprof::recorder {
namespace {

using nvtx::MemoryHeader;
using nvtx::VirtualRange;

// No region is added to the table of handles once it has this many entries, because it is searched
// linearly. A region without an entry is a block, which ends with its own event or with the memory
// of its heap; it gets no name, unless it begins an allocation of the driver.
constexpr std::uint32_t kMaxRegions = 4096;

HandleTable* Handles() { return TheRecorder()->driver()->handles(); }

std::uint64_t Number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

std::int32_t DeviceAt(const void* address) {
  EntryGuard guard;
  ThreadState* state = BoundState(guard.slot());
  DriverState* driver = TheRecorder()->driver();
  const std::int32_t current = state == nullptr ? -1 : driver->Current(&state->context).device;
  return driver->DeviceOf(Number(address), current);
}

bool IsUsable(const MemoryHeader* header, std::size_t bytes) {
  return header != nullptr && header->compatibility == nvtx::kMemoryCompatibility &&
         header->bytes >= bytes && Recording() && TheRecorder() != nullptr;
}

// Calls visit(element) for each element of the batch; newer versions of NVTX may have larger
// elements.
template <typename Element, typename Batch, typename Visit>
void ForEach(const Batch* batch, Visit visit) {
  if (!IsUsable(&batch->header, sizeof *batch) || batch->elements == nullptr) return;
  const std::size_t step =
      batch->element_bytes < sizeof(Element) ? sizeof(Element) : batch->element_bytes;
  const auto* at = static_cast<const char*>(batch->elements);
  for (std::size_t i = 0; i < batch->count; ++i, at += step)
    visit(*reinterpret_cast<const Element*>(at));
}

// Makes a tensor of memory with a name; false if the name or the memory is empty.
bool NameMemory(const void* address, std::uint64_t bytes, std::int32_t type, const void* value) {
  NvtxText name;
  name.AppendMessage(type, value);
  if (bytes == 0 || name.size() == 0) return false;
  const auto shape = static_cast<std::int64_t>(bytes);
  memprof_tensor_create(DeviceAt(address), address, bytes, name.Terminated(), "byte", 1, &shape);
  return true;
}

// Ends the tensor and the block of a region.
void EndRegion(const void* address, const HandleTable::Entry& region, bool is_block) {
  const std::int32_t device = DeviceAt(address);
  if (region.has_name()) memprof_tensor_destroy(device, address);
  if (is_block) memprof_block_destroy(device, address);
}

const void* HeapRegister(const void*, const nvtx::HeapDescription* heap) {
  if (heap == nullptr || heap->type != nvtx::kVirtualAddress || heap->range == nullptr ||
      heap->range_bytes < sizeof *heap->range)
    return nullptr;
  const VirtualRange range = *heap->range;
  if (IsUsable(&heap->header, sizeof *heap) && range.address != nullptr) {
    const std::int32_t device = DeviceAt(range.address);
    auto entry = HandleTable::Entry::NvtxHeap(Number(range.address), range.bytes, device);
    HandleTable::Entry before;
    const bool is_known = Handles()->Get(entry.handle, entry.kind, &before);
    if (!is_known) Handles()->Add(entry);
    memprof_segment_create(device, range.address, range.bytes, nullptr);
    const bool named = NameMemory(range.address, range.bytes, heap->message_type, heap->message);
    entry.set_has_name(named || (is_known && before.has_name()));
    Handles()->Update(entry);
  }
  return range.address;
}

void HeapReset(const void*, const void* heap) {
  if (!Recording() || TheRecorder() == nullptr) return;
  HandleTable::Entry region;
  while (Handles()->TakeOwned(Number(heap), HandleKind::kNvtxRegion, &region))
    EndRegion(reinterpret_cast<const void*>(region.handle), region, heap != nullptr);
}

void HeapUnregister(const void* domain, const void* heap) {
  HeapReset(domain, heap);
  if (!Recording() || heap == nullptr || TheRecorder() == nullptr) return;
  HandleTable::Entry entry;
  if (Handles()->Drop(Number(heap), HandleKind::kNvtxHeap, &entry) ==
      HandleTable::Dropped::kUnknown)
    return;
  if (entry.has_name()) memprof_tensor_destroy(entry.device(), heap);
  memprof_segment_destroy(entry.device(), heap);
}

void CreateBlock(const VirtualRange& range) {
  if (range.bytes == 0) return;
  memprof_block_create(DeviceAt(range.address), range.address, range.bytes, range.bytes, nullptr);
}

void Register(const void* heap, const VirtualRange& range) {
  if (range.address == nullptr || range.bytes == 0) return;
  const HandleTable::Entry region(Number(range.address), HandleKind::kNvtxRegion, 0, Number(heap),
                                  range.bytes);
  const bool has_entry =
      Handles()->size() < kMaxRegions || Handles()->Has(region.handle, region.kind);
  const bool is_new = !has_entry || Handles()->Add(region);
  if (is_new && heap != nullptr) CreateBlock(range);
}

void RegionsRegister(const void*, const nvtx::RegionsRegister* batch) {
  if (batch == nullptr || batch->header.reserved_or_type != nvtx::kVirtualAddress) return;
  const void** handle = batch->handles;
  ForEach<VirtualRange>(batch, [&](const VirtualRange& range) {
    Register(batch->heap, range);
    if (handle != nullptr) *handle++ = range.address;
  });
}

void RegionsResize(const void*, const nvtx::RegionsResize* batch) {
  if (batch == nullptr || batch->header.reserved_or_type != nvtx::kVirtualAddress) return;
  ForEach<VirtualRange>(batch, [](const VirtualRange& range) {
    HandleTable::Entry region;
    if (!Handles()->Get(Number(range.address), HandleKind::kNvtxRegion, &region)) return;
    EndRegion(range.address, region, region.owner != 0);
    region.bytes = range.bytes;
    region.set_has_name(false);
    Handles()->Update(region);
    if (region.owner != 0) CreateBlock(range);
  });
}

void RegionsUnregister(const void*, const nvtx::RegionsUnregister* batch) {
  if (batch == nullptr) return;
  ForEach<const void*>(batch, [](const void* address) {
    HandleTable::Entry region;
    const HandleTable::Dropped dropped =
        Handles()->Drop(Number(address), HandleKind::kNvtxRegion, &region);
    if (dropped == HandleTable::Dropped::kReferenced) return;  // still registered
    EndRegion(address, region, dropped == HandleTable::Dropped::kUnknown || region.owner != 0);
  });
}

// Also for memory that was never registered as a region: the driver reports its size.
void RegionsName(const void*, const nvtx::RegionsName* batch) {
  if (batch == nullptr) return;
  ForEach<nvtx::RegionName>(batch, [](const nvtx::RegionName& named) {
    HandleTable::Entry region;
    const bool known = Handles()->Get(Number(named.region), HandleKind::kNvtxRegion, &region);
    if (known && region.has_name()) memprof_tensor_destroy(DeviceAt(named.region), named.region);
    if (!known) {
      EntryGuard guard;
      region.bytes = DriverState::BytesAt(Number(named.region));
    }
    region.set_has_name(NameMemory(named.region, region.bytes, named.message_type, named.message));
    if (known) Handles()->Update(region);
  });
}

template <typename F>
std::intptr_t Address(F* function) {
  return reinterpret_cast<std::intptr_t>(function);
}

}  // namespace
}  // namespace memprof::recorder

// Called once for each extension of each library that contains NVTX; returns 0 for extensions that
// are not used.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    memprof::nvtx::ExtensionModule* module) {
  using namespace memprof::recorder;
  using namespace memprof::nvtx;
  if (module == nullptr || module->bytes < sizeof *module || module->module != kModuleMemory ||
      module->compatibility != kMemoryCompatibility || module->segment_count == 0 ||
      module->segments == nullptr || module->segments->functions == nullptr)
    return 0;
  const std::intptr_t functions[] = {Address(HeapRegister),
                                     Address(HeapUnregister),
                                     Address(HeapReset),
                                     Address(memprof::recorder::RegionsRegister),
                                     Address(memprof::recorder::RegionsResize),
                                     Address(memprof::recorder::RegionsUnregister),
                                     Address(memprof::recorder::RegionsName)};
  static_assert(kRegionsName + 1 == sizeof functions / sizeof *functions);
  for (unsigned i = 0; i < sizeof functions / sizeof *functions; ++i)
    if (i < module->segments->slots) module->segments->functions[i] = functions[i];
  return 1;
}
