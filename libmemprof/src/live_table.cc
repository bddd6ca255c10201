// Open addressing with linear probing; deletions close the gap, so that no markers pile up.
#include "libmemprof/src/live_table.h"

#include "libmemprof/src/sys.h"
#include "libmemprof/src/vocabulary.h"

namespace memprof::recorder {
namespace {

constexpr std::size_t kMostEntries = std::size_t{1} << 22;  // 128 MiB at the very most

bool OccupiesDevice(std::uint8_t layer) {
  switch (layer) {
    case kLayerLinear:
    case kLayerPitched:
    case kLayerArray:
    case kLayerManaged:
    case kLayerStreamOrdered:
    case kLayerVmmPhysical:
      return true;
    default:
      return false;
  }
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
  if (capacity > kMostEntries) return used_ + 1 < capacity_;
  auto* entries = static_cast<Entry*>(MapMemory(capacity * sizeof(Entry)));
  if (entries == nullptr) return used_ + 1 < capacity_;
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

void LiveTable::Apply(const ring::RingEvent& event) {
  switch (event.op) {
    case kOpAlloc:
      if (OccupiesDevice(event.layer) && event.address != 0) Allocate(event);
      break;
    case kOpFree:
      if (OccupiesDevice(event.layer) && event.address != 0) Free(event);
      break;
    case kOpFreeFailed:
      // The block lives on, but its size is forgotten: not worth a second table.
      break;
    case kOpContextDestroy:
    case kOpDeviceReset:
      EndContext(event);
      break;
    default:
      break;
  }
}

void LiveTable::Allocate(const ring::RingEvent& event) {
  ++totals_.allocations;
  if (Entry* entry = Find(event.address)) {
    const bool freed_later = entry->early_free != 0 && entry->bytes >= event.time_ns;
    if (entry->early_free == 0) totals_.live_bytes -= entry->bytes;
    Erase(entry);
    if (freed_later) {
      ++totals_.frees;
      return;
    }
  }
  if (!Insert({event.address, event.bytes, event.context, event.device_plus_1, 0})) return;
  totals_.live_bytes += event.bytes;
  if (totals_.live_bytes > totals_.peak_bytes) totals_.peak_bytes = totals_.live_bytes;
}

void LiveTable::Free(const ring::RingEvent& event) {
  Entry* entry = Find(event.address);
  if (entry == nullptr) {
    Insert({event.address, event.time_ns, 0, 0, 1});
  } else if (entry->early_free != 0) {
    entry->bytes = event.time_ns;
  } else {
    ++totals_.frees;
    totals_.live_bytes -= entry->bytes;
    Erase(entry);
  }
}

void LiveTable::EndContext(const ring::RingEvent& event) {
  for (std::size_t i = 0; i < capacity_;) {
    Entry& entry = entries_[i];
    const bool gone = entry.address != 0 && entry.early_free == 0 &&
                      (event.op == kOpContextDestroy ? entry.context == event.context
                                                     : entry.device_plus_1 == event.device_plus_1);
    if (!gone) {
      ++i;
      continue;
    }
    totals_.live_bytes -= entry.bytes;
    Erase(&entry);  // may move a later entry here: look at this slot again
  }
}

}  // namespace memprof::recorder
