// A sorted array of segments.
#include "libmemprof/src/torch/internal/segment_table.h"

#include <cstring>

namespace memprof::recorder {

std::size_t SegmentTable::FirstAfter(std::uint64_t address) {
  std::size_t from = 0, to = count();
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    if (at(middle)->address + at(middle)->bytes > address)
      to = middle;
    else
      from = middle + 1;
  }
  return from;
}

void SegmentTable::Take(std::size_t i, Segment* segment) {
  *segment = *at(i);
  segments_.Erase(i * sizeof(Segment), (i + 1) * sizeof(Segment));
  known_.store(count(), std::memory_order_relaxed);
}

bool SegmentTable::Add(const Segment& segment) {
  if (segment.bytes == 0 || segment.address + segment.bytes < segment.address) return false;
  LockGuard lock(mutex_);
  const std::size_t i = FirstAfter(segment.address);
  if (i < count() && at(i)->address < segment.address + segment.bytes) return false;
  if (!segments_.TryReserve(sizeof segment)) return false;
  segments_.AppendZeros(sizeof segment);
  std::memmove(at(i + 1), at(i), (count() - 1 - i) * sizeof(Segment));
  *at(i) = segment;
  known_.store(count(), std::memory_order_relaxed);
  return true;
}

bool SegmentTable::Find(std::uint64_t address, Segment* segment) {
  if (empty()) return false;
  LockGuard lock(mutex_);
  const std::size_t i = FirstAfter(address);
  if (i == count() || at(i)->address > address) return false;
  *segment = *at(i);
  return true;
}

bool SegmentTable::TakeAt(std::uint64_t address, Segment* segment) {
  if (empty()) return false;
  LockGuard lock(mutex_);
  const std::size_t i = FirstAfter(address);
  if (i == count() || at(i)->address != address) return false;
  Take(i, segment);
  return true;
}

bool SegmentTable::TakeWithin(std::uint64_t from, std::uint64_t end, Segment* segment,
                              std::uint64_t before_ns) {
  if (empty()) return false;
  LockGuard lock(mutex_);
  for (std::size_t i = FirstAfter(from); i < count() && at(i)->address < end; ++i) {
    if (at(i)->time_ns > before_ns) continue;
    Take(i, segment);
    return true;
  }
  return false;
}

bool SegmentTable::TakeOf(std::int32_t device, Segment* segment) {
  if (empty()) return false;
  LockGuard lock(mutex_);
  for (std::size_t i = 0; i < count(); ++i) {
    if (at(i)->device != device) continue;
    Take(i, segment);
    return true;
  }
  return false;
}

}  // namespace memprof::recorder
