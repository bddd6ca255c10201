// Open addressing with linear probing; deletions close the gap, so that no markers pile up.
#include "libmemprof/src/log/live_table.h"

#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {
namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 20;  // 32 MiB; more blocks are not followed

bool OccupiesDevice(std::uint8_t layer) {
  switch (layer) {
    case kLayerLinear:
    case kLayerPitched:
    case kLayerArray:
    case kLayerManaged:
    case kLayerStreamOrdered:
    case kLayerVmmPhysical:
    case kLayerGraph:
      return true;
    default:
      return false;
  }
}

// Kinds that one and the same function may free: cuMemFreeAsync also frees what a pool in the
// host's memory has handed out.
bool IsTracked(std::uint8_t layer) {
  return OccupiesDevice(layer) || layer == kLayerImported || layer == kLayerPinned;
}

bool OwnedByContext(std::uint8_t layer) {
  return layer == kLayerLinear || layer == kLayerPitched || layer == kLayerArray ||
         layer == kLayerManaged || layer == kLayerImported || layer == kLayerPinned;
}

}  // namespace

LiveTable::~LiveTable() { UnmapMemory(entries_, capacity_ * sizeof(Entry)); }

std::size_t LiveTable::Slot(std::uint64_t address, std::size_t capacity) {
  const std::uint64_t hash = (address >> 4) * 0x9e3779b97f4a7c15u;
  return static_cast<std::size_t>(hash >> 32) & (capacity - 1);
}

LiveTable::Entry* LiveTable::Find(std::uint64_t address) {
  if (capacity_ == 0) return nullptr;
  for (std::size_t slot = Slot(address, capacity_);; slot = (slot + 1) & (capacity_ - 1)) {
    if (entries_[slot].address == address) return &entries_[slot];
    if (entries_[slot].address == 0) return nullptr;
  }
}

bool LiveTable::Enlarge() {
  const std::size_t capacity = capacity_ == 0 ? 4096 : capacity_ * 2;
  // Fuller than that it would be slow.
  const bool fits = used_ * 8 < capacity_ * 7;
  if (capacity > kMostEntries) return fits;
  auto* entries = static_cast<Entry*>(MapMemory(capacity * sizeof(Entry)));
  if (entries == nullptr) return fits;
  for (std::size_t i = 0; i < capacity_; ++i) {
    if (entries_[i].address == 0) continue;
    std::size_t slot = Slot(entries_[i].address, capacity);
    while (entries[slot].address != 0) slot = (slot + 1) & (capacity - 1);
    entries[slot] = entries_[i];
  }
  UnmapMemory(entries_, capacity_ * sizeof(Entry));
  entries_ = entries;
  capacity_ = capacity;
  return true;
}

bool LiveTable::Insert(const Entry& entry) {
  if (used_ * 2 >= capacity_ && !Enlarge()) return false;
  std::size_t slot = Slot(entry.address, capacity_);
  while (entries_[slot].address != 0) slot = (slot + 1) & (capacity_ - 1);
  entries_[slot] = entry;
  ++used_;
  return true;
}

void LiveTable::Erase(Entry* entry) {
  std::size_t hole = static_cast<std::size_t>(entry - entries_);
  const std::size_t mask = capacity_ - 1;
  for (std::size_t next = (hole + 1) & mask; entries_[next].address != 0;
       next = (next + 1) & mask) {
    const std::size_t home = Slot(entries_[next].address, capacity_);
    // May the entry move into the hole? Only if its home does not lie between hole and itself.
    if (((next - home) & mask) >= ((next - hole) & mask)) {
      entries_[hole] = entries_[next];
      hole = next;
    }
  }
  entries_[hole] = {};
  --used_;
}

std::uint8_t LiveTable::Apply(const ring::RingEvent& event) {
  switch (event.op) {
    case kOpAlloc:
      if (IsTracked(event.layer) && event.address != 0) Allocate(event);
      break;
    case kOpFree:
      if (IsTracked(event.layer) && event.address != 0) return Free(event);
      break;
    case kOpFreeFailed:
      if (IsTracked(event.layer) && event.address != 0) return TakeBack(event);
      break;
    case kOpContextDestroy:
    case kOpDeviceReset:
      EndContext(event);
      break;
    default:
      break;
  }
  return event.layer;
}

void LiveTable::Begin(const Entry& entry) {
  if (!Insert(entry)) {
    ++not_followed_;
    return;
  }
  if (!OccupiesDevice(entry.layer)) return;
  totals_.live_bytes += entry.bytes;
  if (totals_.live_bytes > totals_.peak_bytes) totals_.peak_bytes = totals_.live_bytes;
}

void LiveTable::End(Entry* entry) {
  if (entry->early_free == 0 && OccupiesDevice(entry->layer)) totals_.live_bytes -= entry->bytes;
  Erase(entry);
}

void LiveTable::Allocate(const ring::RingEvent& event) {
  const bool counts = OccupiesDevice(event.layer);
  if (counts) ++totals_.allocations;
  if (Entry* entry = Find(event.address)) {
    const bool freed_later = entry->early_free != 0 && entry->bytes >= event.time_ns;
    End(entry);
    if (freed_later) {
      if (counts) ++totals_.frees;
      return;
    }
  }
  Begin({event.address, event.bytes, event.context, event.device_plus_1, event.layer, 0});
}

std::uint8_t LiveTable::Free(const ring::RingEvent& event) {
  Entry* entry = Find(event.address);
  if (entry == nullptr) {
    Insert({event.address, event.time_ns, 0, 0, event.layer, 1});
    return event.layer;
  }
  if (entry->early_free != 0) {
    entry->bytes = event.time_ns;
    return event.layer;
  }
  const std::uint8_t layer = entry->layer;
  if (OccupiesDevice(layer)) ++totals_.frees;
  recent_[Slot(event.address, kRecentFrees)] = *entry;
  End(entry);
  return layer;
}

// The block lives on as if it had not been freed.
std::uint8_t LiveTable::TakeBack(const ring::RingEvent& event) {
  Entry* entry = Find(event.address);
  if (entry != nullptr && entry->early_free != 0) {
    Erase(entry);  // it was the free of nothing
    return event.layer;
  }
  Entry& freed = recent_[Slot(event.address, kRecentFrees)];
  if (freed.address != event.address) return event.layer;
  const std::uint8_t layer = freed.layer;
  if (entry == nullptr) {
    if (OccupiesDevice(layer)) --totals_.frees;
    Begin(freed);
  }
  freed = {};
  return layer;
}

// Pools and physical memory belong to the device: they outlive a context, but not a reset.
void LiveTable::EndContext(const ring::RingEvent& event) {
  const bool reset = event.op == kOpDeviceReset;
  for (std::size_t i = 0; i < capacity_;) {
    Entry& entry = entries_[i];
    const bool same_context = entry.context == event.context && event.context != 0;
    const bool gone = entry.address != 0 && entry.early_free == 0 &&
                      (OwnedByContext(entry.layer) && (entry.context != 0 && event.context != 0)
                           ? same_context
                           : reset && entry.device_plus_1 == event.device_plus_1);
    if (!gone) {
      ++i;
      continue;
    }
    End(&entry);  // may move another entry here: look at this slot again
  }
}

}  // namespace memprof::recorder
