// Holes of a pool, updated around each block.
#include "analysis/fragmentation/internal/pool_layout.h"

#include <algorithm>
#include <iterator>

#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {

template <typename Hole>
void PoolLayout::ForEachHole(const Segment& segment, Hole hole) {
  std::uint64_t cursor = segment.address;
  for (const auto& [address, block] : segment.blocks) {
    const std::uint64_t end = std::min(segment.end, block.end);
    if (end <= cursor) continue;
    const std::uint64_t begin = std::min(address, segment.end);
    if (begin > cursor) hole(cursor, begin);
    cursor = end;
  }
  if (segment.end > cursor) hole(cursor, segment.end);
}

void PoolLayout::AddHole(Segment& segment, std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  const std::uint64_t bytes = end - begin;
  ++holes_[bytes];
  ++hole_count_;
  squares_ += absl::uint128(bytes) * bytes;
  free_ += bytes;
  segment.free += bytes;
}

void PoolLayout::RemoveHole(Segment& segment, std::uint64_t begin, std::uint64_t end) {
  if (begin >= end) return;
  const std::uint64_t bytes = end - begin;
  const auto at = holes_.find(bytes);
  if (--at->second == 0) holes_.erase(at);
  --hole_count_;
  squares_ -= absl::uint128(bytes) * bytes;
  free_ -= bytes;
  segment.free -= bytes;
}

void PoolLayout::TakeOut(Segment& segment) {
  for (const auto& [begin, end] : segment.counted) RemoveHole(segment, begin, end);
  segment.counted.clear();
}

void PoolLayout::PutIn(Segment& segment) {
  ForEachHole(segment, [&](std::uint64_t begin, std::uint64_t end) {
    AddHole(segment, begin, end);
    segment.counted.emplace_back(begin, end);
  });
  segment.changed = 0;
}

void PoolLayout::Recount(Segment& segment) {
  constexpr std::size_t kFew = 1024, kShare = 16;
  ++segment.changed;
  if (segment.blocks.size() > kFew && segment.changed < segment.blocks.size() / kShare) return;
  TakeOut(segment);
  PutIn(segment);
}

std::uint64_t PoolLayout::FreeFrom(const Segment& segment,
                                   std::multimap<std::uint64_t, Block>::const_iterator at) {
  return at == segment.blocks.begin() ? segment.address : std::prev(at)->second.end;
}

std::uint64_t PoolLayout::FreeTo(const Segment& segment,
                                 std::multimap<std::uint64_t, Block>::const_iterator at) {
  ++at;
  return at == segment.blocks.end() ? segment.end : at->first;
}

void PoolLayout::AddSegment(std::uint32_t id, std::uint64_t address, std::uint64_t bytes) {
  Segment& segment = segments_[id];
  segment.address = address;
  segment.end = EndAddress(address, bytes);
  reserved_ += segment.end - address;
  unused_ += segment.end - address;
  AddHole(segment, address, segment.end);
}

void PoolLayout::RemoveSegment(std::uint32_t id) {
  const auto at = segments_.find(id);
  if (at == segments_.end()) return;
  Segment& segment = at->second;
  if (segment.irregular)
    TakeOut(segment);
  else
    ForEachHole(segment,
                [&](std::uint64_t begin, std::uint64_t end) { RemoveHole(segment, begin, end); });
  reserved_ -= segment.end - segment.address;
  if (segment.blocks.empty()) unused_ -= segment.end - segment.address;
  for (const auto& [address, block] : segment.blocks) rounding_ -= block.rounding;
  segments_.erase(at);
}

void PoolLayout::AddBlock(std::uint32_t segment_id, std::uint32_t id, std::uint64_t address,
                          std::uint64_t bytes, std::uint64_t requested) {
  Segment& segment = segments_.at(segment_id);
  if (segment.blocks.empty()) unused_ -= segment.end - segment.address;
  Block block{id, EndAddress(address, bytes), bytes > requested ? bytes - requested : 0};
  rounding_ += block.rounding;
  const auto at = segment.blocks.emplace(address, block);
  if (!segment.irregular) {
    const std::uint64_t begin = FreeFrom(segment, at), end = FreeTo(segment, at);
    if (bytes > 0 && begin <= address && block.end <= end) {
      RemoveHole(segment, begin, end);
      AddHole(segment, begin, address);
      AddHole(segment, block.end, end);
      return;
    }
    segment.blocks.erase(at);
    ForEachHole(segment,
                [&](std::uint64_t from, std::uint64_t to) { RemoveHole(segment, from, to); });
    segment.blocks.emplace(address, block);
    segment.irregular = true;
    return PutIn(segment);
  }
  Recount(segment);
}

void PoolLayout::RemoveBlock(std::uint32_t segment_id, std::uint32_t id, std::uint64_t address) {
  const auto found = segments_.find(segment_id);
  if (found == segments_.end()) return;
  Segment& segment = found->second;
  auto [at, end] = segment.blocks.equal_range(address);
  while (at != end && at->second.id != id) ++at;
  if (at == end) return;
  rounding_ -= at->second.rounding;
  if (segment.irregular) {
    segment.blocks.erase(at);
    Recount(segment);
  } else {
    const std::uint64_t from = FreeFrom(segment, at), to = FreeTo(segment, at);
    RemoveHole(segment, from, address);
    RemoveHole(segment, at->second.end, to);
    segment.blocks.erase(at);
    AddHole(segment, from, to);
  }
  if (segment.blocks.empty()) unused_ += segment.end - segment.address;
}

PoolState PoolLayout::State() const {
  PoolState state;
  state.reserved = reserved_;
  state.allocated = reserved_ - free_;
  state.pinned = free_ > unused_ ? free_ - unused_ : 0;
  state.largest_hole = holes_.empty() ? 0 : holes_.rbegin()->first;
  state.holes = hole_count_;
  state.rounding = rounding_;
  if (free_ > 0) {
    const double free = static_cast<double>(free_);
    state.external = 1 - static_cast<double>(state.largest_hole) / free;
    state.sum_of_squares = 1 - static_cast<double>(squares_) / (free * free);
  }
  return state;
}

}  // namespace memprof::analysis
