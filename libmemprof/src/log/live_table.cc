// Follows blocks from their allocation to their free.
#include "libmemprof/src/log/live_table.h"

#include "libmemprof/src/log/internal/layers.h"
#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {
namespace {

// Kinds that one function can free: cuMemFreeAsync also frees what a pool in host memory has
// allocated.
bool IsTracked(std::uint8_t layer) {
  return OccupiesDevice(layer) || layer == kLayerImported || layer == kLayerPinned;
}

}  // namespace

std::uint8_t LiveTable::Apply(const ring::RingEvent& event) {
  switch (event.op) {
    case kOpAlloc:
      if (IsTracked(event.layer) && event.address != 0) Allocate(event);
      break;
    case kOpFree:
      if (IsTracked(event.layer) && event.address != 0) return Free(event);
      break;
    case kOpFreeFailed:
      if (IsTracked(event.layer) && event.address != 0) return UndoFree(event);
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
  if (entries_.Insert(entry) == nullptr) {
    ++not_followed_;
    return;
  }
  if (!OccupiesDevice(entry.layer)) return;
  totals_.live_bytes += entry.bytes;
  if (totals_.live_bytes > totals_.peak_bytes) totals_.peak_bytes = totals_.live_bytes;
}

void LiveTable::StopCounting(const Entry& entry) {
  if (!entry.early_free && OccupiesDevice(entry.layer)) totals_.live_bytes -= entry.bytes;
}

void LiveTable::End(Entry* entry) {
  StopCounting(*entry);
  entries_.Erase(entry);
}

void LiveTable::Allocate(const ring::RingEvent& event) {
  const bool counts = OccupiesDevice(event.layer);
  if (counts) ++totals_.allocations;
  if (Entry* entry = Find(event.address)) {
    const bool freed_later = entry->early_free && entry->bytes >= event.time_ns;
    End(entry);
    if (freed_later) {
      if (counts) ++totals_.frees;
      return;
    }
  }
  Begin({event.address, event.bytes, event.context, event.device_plus_1, event.layer, false});
}

std::uint8_t LiveTable::Free(const ring::RingEvent& event) {
  Entry* entry = Find(event.address);
  if (entry == nullptr) {
    entries_.Insert({event.address, event.time_ns, 0, 0, event.layer, true});
    return event.layer;
  }
  if (entry->early_free) {
    entry->bytes = event.time_ns;
    return event.layer;
  }
  const std::uint8_t layer = entry->layer;
  if (OccupiesDevice(layer)) ++totals_.frees;
  *RecentFree(event.address) = *entry;
  End(entry);
  return layer;
}

// The free failed: the block is live again.
std::uint8_t LiveTable::UndoFree(const ring::RingEvent& event) {
  Entry* entry = Find(event.address);
  if (entry != nullptr && entry->early_free) {
    entries_.Erase(entry);  // the free of an unknown address
    return event.layer;
  }
  Entry& freed = *RecentFree(event.address);
  if (freed.address != event.address) return event.layer;
  const std::uint8_t layer = freed.layer;
  if (entry == nullptr) {
    if (OccupiesDevice(layer)) --totals_.frees;
    Begin(freed);
  }
  freed = {};
  return layer;
}

// Pools and physical memory belong to the device: they survive the end of a context, but not a
// reset.
void LiveTable::EndContext(const ring::RingEvent& event) {
  const bool reset = event.op == kOpDeviceReset;
  entries_.EraseIf([&](const Entry& entry) {
    const bool by_context = OwnedByContext(entry.layer) && entry.context != 0 && event.context != 0;
    const bool ends = by_context ? entry.context == event.context
                                 : reset && entry.device_plus_1 == event.device_plus_1;
    if (entry.early_free || !ends) return false;
    StopCounting(entry);
    return true;
  });
}

}  // namespace memprof::recorder
