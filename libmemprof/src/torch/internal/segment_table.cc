// A sorted array of segments.
#include "libmemprof/src/torch/internal/segment_table.h"

namespace memprof::recorder {

std::size_t SegmentTable::FirstAfter(std::uint64_t address) {
  std::size_t from = 0, to = segments_.size();
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    if (segments_[middle].address + segments_[middle].bytes > address)
      to = middle;
    else
      from = middle + 1;
  }
  return from;
}

void SegmentTable::Take(const Segment& known, Segment* segment) {
  *segment = known;
  segments_.Erase(&known);
  size_.store(segments_.size(), std::memory_order_relaxed);
}

bool SegmentTable::Add(const Segment& segment) {
  if (segment.bytes == 0 || segment.address + segment.bytes < segment.address) return false;
  LockGuard lock(mutex_);
  const std::size_t i = FirstAfter(segment.address);
  if (i < segments_.size() && segments_[i].address < segment.address + segment.bytes) return false;
  if (!segments_.Insert(i, segment)) return false;
  size_.store(segments_.size(), std::memory_order_relaxed);
  return true;
}

bool SegmentTable::Find(std::uint64_t address, Segment* segment) {
  if (empty()) return false;
  LockGuard lock(mutex_);
  const std::size_t i = FirstAfter(address);
  if (i == segments_.size() || segments_[i].address > address) return false;
  *segment = segments_[i];
  return true;
}

bool SegmentTable::TakeAt(std::uint64_t address, Segment* segment) {
  if (empty()) return false;
  LockGuard lock(mutex_);
  const std::size_t i = FirstAfter(address);
  if (i == segments_.size() || segments_[i].address != address) return false;
  Take(segments_[i], segment);
  return true;
}

bool SegmentTable::TakeWithin(std::uint64_t from, std::uint64_t end, Segment* segment,
                              std::uint64_t before_ns) {
  if (empty()) return false;
  LockGuard lock(mutex_);
  for (std::size_t i = FirstAfter(from); i < segments_.size() && segments_[i].address < end; ++i) {
    if (segments_[i].time_ns > before_ns) continue;
    Take(segments_[i], segment);
    return true;
  }
  return false;
}

bool SegmentTable::TakeOf(std::int32_t device, Segment* segment) {
  if (empty()) return false;
  LockGuard lock(mutex_);
  const Segment* known =
      segments_.Find([device](const Segment& candidate) { return candidate.device == device; });
  if (known == nullptr) return false;
  Take(*known, segment);
  return true;
}

}  // namespace memprof::recorder
