// Free memory that cannot be used, per pool, and the blocks that pin it.
#include "analysis/fragmentation.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "analysis/peak_finder.h"
#include "analysis/replay.h"

namespace memprof::analysis {
namespace {

constexpr std::uint64_t kSmallSegmentBytes = std::uint64_t{2} << 20;
constexpr std::size_t kMaxPins = 20, kMaxHoles = 20;

// Device, stream, small blocks.
using PoolKey = std::tuple<int, std::uint64_t, bool>;

PoolKey KeyOf(const Allocation& segment) {
  return {segment.device, segment.stream, segment.bytes <= kSmallSegmentBytes};
}

// What a framework's allocator holds: segments, and blocks of them in use.
std::size_t SumOf(const AllocationRecord& a) {
  if (a.layer == Layer::kSegment) return 0;
  return a.layer == Layer::kBlock ? 1 : 2;
}

// The largest block that each pool was asked for up to `time`.
std::map<PoolKey, std::uint64_t> LargestRequests(const Session& session, TimeNs time) {
  std::map<PoolKey, std::uint64_t> largest;
  // Where a segment's pool is in the map: millions of blocks lie in few segments.
  absl::flat_hash_map<std::uint32_t, std::uint64_t*> of_segment;
  const EventId last = session.EventAt(time);
  AllocationId segment;  // of the block before: neighbours often lie in one
  std::uint64_t* bytes = nullptr;
  for (const AllocationRecord& a : session.records()) {
    if (!last.valid() || a.birth > last) break;  // in order of birth
    if (a.layer != Layer::kBlock || !a.parent.valid()) continue;
    if (a.parent != segment) {
      if (session.record(a.parent).layer != Layer::kSegment) continue;
      segment = a.parent;
      std::uint64_t*& known = of_segment[segment.value];
      if (known == nullptr) known = &largest[KeyOf(session.allocation(segment))];
      bytes = known;
    }
    *bytes = std::max(*bytes, a.bytes);
  }
  return largest;
}

// Since when nothing was in the holes of segments: told by the last block that ended there. Looks
// back from an instant at what ended before it, and stops when every hole is told: holes are young,
// mostly. O(events back to the birth of the oldest segment with a hole that no block was ever in).
class UnusedSince {
 public:
  UnusedSince(const Session& session, std::span<const MapSegment> segments, TimeNs now)
      : session_(session),
        segments_(segments),
        since_(segments.size()),
        untold_of_(segments.size()) {
    std::uint32_t first = EventId::kNone;
    for (std::size_t s = 0; s < segments.size(); ++s) {
      since_[s].assign(segments[s].pieces.size(), 0);
      for (std::size_t i = 0; i < segments[s].pieces.size(); ++i) {
        if (!segments[s].pieces[i].hole()) continue;
        since_[s][i] = kForever;  // not told yet
        ++untold_;
        ++untold_of_[s];
        first = std::min(first, Birth(s).value);
      }
      if (untold_of_[s] > 0) of_[segments[s].allocation.value] = s;
    }
    LookBack(session.EventAt(now), first);
    for (std::size_t s = 0; s < segments.size(); ++s)
      for (TimeNs& time : since_[s])
        if (time == kForever) time = session.events().time(Birth(s).value);
  }

  // By piece of a segment; 0 for blocks.
  const std::vector<TimeNs>& Of(std::size_t segment) const { return since_[segment]; }

 private:
  EventId Birth(std::size_t segment) const {
    return session_.record(segments_[segment].allocation).birth;
  }
  void LookBack(EventId from, std::uint32_t first) {
    if (!from.valid()) return;
    const EventTable& events = session_.events();
    std::span<const AllocationId> others = session_.other_deaths();  // by death
    for (std::uint32_t e = from.value + 1; untold_ > 0 && e-- > first;) {
      while (!others.empty() && session_.record(others.back()).death.value >= e) {
        if (session_.record(others.back()).death.value == e) Ended(others.back());
        others = others.first(others.size() - 1);
      }
      if (events.op(e) != Op::kFree) continue;
      const AllocationId ended = events.allocation(e);
      if (ended.valid() && session_.record(ended).death.value == e) Ended(ended);
    }
  }
  void Ended(AllocationId id) {
    const AllocationRecord& block = session_.record(id);
    if (block.layer != Layer::kBlock || !block.parent.valid()) return;
    const auto found = of_.find(block.parent.value);
    if (found == of_.end()) return;
    const std::size_t segment = found->second;
    const std::vector<MapPiece>& pieces = segments_[segment].pieces;
    const std::uint64_t end = EndAddress(block.address, block.bytes);
    auto piece = std::upper_bound(
        pieces.begin(), pieces.end(), block.address,
        [](std::uint64_t address, const MapPiece& p) { return address < p.address; });
    if (piece != pieces.begin()) --piece;
    for (; piece != pieces.end() && piece->address < end; ++piece) {
      if (!piece->hole() || piece->address + piece->bytes <= block.address) continue;
      TimeNs& since = since_[segment][static_cast<std::size_t>(piece - pieces.begin())];
      if (since != kForever) continue;
      since = session_.events().time(block.death.value);
      --untold_;
      if (--untold_of_[segment] == 0) of_.erase(block.parent.value);
    }
  }

  const Session& session_;
  const std::span<const MapSegment> segments_;
  std::vector<std::vector<TimeNs>> since_;
  std::vector<std::size_t> untold_of_;                  // holes, by segment
  absl::flat_hash_map<std::uint32_t, std::size_t> of_;  // segments with untold holes, by allocation
  std::size_t untold_ = 0;
};

// The largest tensor that lives in a block; none if none does.
TensorId TensorIn(const Session& session, AllocationId block, TimeNs now) {
  const EventTable& events = session.events();
  TensorId largest;
  std::uint64_t bytes = 0;
  for (const AllocationId id : session.Children(block)) {
    const AllocationRecord& a = session.record(id);
    if (a.layer != Layer::kTensor || events.time(a.birth.value) > now ||
        (a.death.valid() && events.time(a.death.value) <= now) || a.bytes <= bytes)
      continue;
    bytes = a.bytes;
    largest = session.allocation(id).tensor;
  }
  return largest;
}

void AddHoles(const Session& session, const MapSegment& segment, const std::vector<TimeNs>& since,
              std::vector<Hole>& holes) {
  const auto block_at = [&segment](std::size_t i) {
    return i < segment.pieces.size() ? segment.pieces[i].allocation : AllocationId();
  };
  for (std::size_t i = 0; i < segment.pieces.size(); ++i) {
    const MapPiece& piece = segment.pieces[i];
    if (!piece.hole()) continue;
    holes.push_back({piece.address, piece.bytes, since[i], session.StepAt(since[i]),
                     segment.allocation, i > 0 ? block_at(i - 1) : AllocationId(),
                     block_at(i + 1)});
  }
}

void AddPins(const MapSegment& segment, const std::vector<TimeNs>& since, std::vector<Pin>& pins) {
  const auto hole_bytes = [&segment](std::size_t i) {
    return i < segment.pieces.size() && segment.pieces[i].hole() ? segment.pieces[i].bytes : 0;
  };
  std::size_t blocks = 0;
  for (const MapPiece& piece : segment.pieces) blocks += !piece.hole();
  for (std::size_t i = 0; i < segment.pieces.size(); ++i) {
    const MapPiece& piece = segment.pieces[i];
    if (piece.hole()) continue;
    const std::uint64_t frees = (i > 0 ? hole_bytes(i - 1) : 0) + hole_bytes(i + 1);
    if (frees == 0 || piece.bytes == 0) continue;
    pins.push_back({piece.allocation, frees, piece.bytes,
                    static_cast<double>(frees) / static_cast<double>(piece.bytes), blocks == 1});
    if (i > 0) pins.back().unused_since = since[i - 1];
    if (i + 1 < since.size())
      pins.back().unused_since = std::max(pins.back().unused_since, since[i + 1]);
  }
}

// Free bytes behind a pin, discounted by how much of the run it would free is the pin itself.
double PinWeight(const Pin& pin) {
  const double frees = static_cast<double>(pin.frees_bytes);
  return frees * (frees / (frees + static_cast<double>(pin.bytes)));
}

struct PoolSums {
  PoolFragmentation pool;
  double squares = 0;
  std::uint64_t usable = 0;  // by requests of the largest size seen
};

void AddSegment(const Session& session, const MapSegment& segment, std::uint64_t largest_request,
                const std::vector<TimeNs>& since, PoolSums& sums) {
  PoolFragmentation& pool = sums.pool;
  ++pool.segments;
  pool.reserved_bytes += segment.bytes;
  pool.free_bytes += segment.free_bytes;
  pool.allocated_bytes += segment.bytes - segment.free_bytes;
  pool.largest_hole = std::max(pool.largest_hole, segment.largest_hole);
  if (segment.free_bytes == segment.bytes)
    pool.releasable_bytes += segment.bytes;
  else
    pool.pinned_bytes += segment.free_bytes;
  for (const MapPiece& piece : segment.pieces) {
    if (piece.hole()) {
      const double bytes = static_cast<double>(piece.bytes);
      sums.squares += bytes * bytes;
      ++pool.hole_count;
      if (largest_request > 0) sums.usable += piece.bytes / largest_request * largest_request;
      if (piece.bytes < largest_request) pool.unusable_bytes += piece.bytes;
      continue;
    }
    ++pool.blocks;
    const Allocation& block = session.allocation(piece.allocation);
    if (block.bytes > block.requested) pool.rounding_bytes += block.bytes - block.requested;
  }
  AddHoles(session, segment, since, pool.holes);
  AddPins(segment, since, pool.pins);
}

void FinishPool(const Session& session, TimeNs time, PoolSums& sums) {
  PoolFragmentation& pool = sums.pool;
  if (pool.free_bytes > 0) {
    const double free = static_cast<double>(pool.free_bytes);
    pool.external = 1 - static_cast<double>(pool.largest_hole) / free;
    pool.request_relative = 1 - static_cast<double>(sums.usable) / free;
    pool.sum_of_squares = 1 - sums.squares / (free * free);
  }
  std::stable_sort(pool.pins.begin(), pool.pins.end(),
                   [](const Pin& a, const Pin& b) { return PinWeight(a) > PinWeight(b); });
  if (pool.pins.size() > kMaxPins) pool.pins.resize(kMaxPins);
  for (Pin& pin : pool.pins) pin.tensor = TensorIn(session, pin.block, time);
  std::stable_sort(pool.holes.begin(), pool.holes.end(),
                   [](const Hole& a, const Hole& b) { return a.bytes > b.bytes; });
  if (pool.holes.size() > kMaxHoles) pool.holes.resize(kMaxHoles);
}

void AppendPools(const Session& session, int device, TimeNs time,
                 std::vector<PoolFragmentation>& pools) {
  std::vector<MapSegment> segments = BuildAddressMap(session, device, time).segments;
  std::erase_if(segments, [](const MapSegment& segment) { return !segment.framework; });
  if (segments.empty()) return;
  const std::map<PoolKey, std::uint64_t> largest = LargestRequests(session, time);
  const UnusedSince unused(session, segments, time);
  std::map<PoolKey, PoolSums> by_key;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const MapSegment& segment = segments[s];
    const PoolKey key = KeyOf(session.allocation(segment.allocation));
    const auto request = largest.find(key);
    PoolSums& sums = by_key[key];
    std::tie(sums.pool.device, sums.pool.stream, sums.pool.small_blocks) = key;
    AddSegment(session, segment, request == largest.end() ? 0 : request->second, unused.Of(s),
               sums);
  }
  for (auto& [key, sums] : by_key) {
    FinishPool(session, time, sums);
    pools.push_back(std::move(sums.pool));
  }
}

}  // namespace

std::vector<PoolFragmentation> FragmentationAt(const Session& session, int device, TimeNs time) {
  std::vector<PoolFragmentation> pools;
  AppendPools(session, device, time, pools);
  return pools;
}

FragmentationReport AnalyseFragmentation(const Session& session, int device, TimeNs time) {
  FragmentationReport report;
  // Reserved memory stays at its maximum for long; of these instants the first at which most was in
  // use is taken: what is free even then is waste.
  const PeakFinder<2> peaks(session, SumOf);
  std::uint64_t peak_allocated = 0, peak_reserved = 0, worst_reserved = 0;
  std::uint64_t allocated_at_peak = 0, reserved_at_peak = 0;
  for (const auto& [ordinal, mark] : peaks.marks()) {
    if (device != kNoDevice && ordinal != device) continue;
    if (!mark.event.valid()) continue;
    const TimeNs peak_time = session.events().time(mark.event.value);
    peak_allocated += mark.highest[1];
    peak_reserved += mark.peak[0];
    const AddressMap at_peak = BuildAddressMap(session, ordinal, peak_time);
    for (const MapSegment& segment : at_peak.segments) {
      if (!segment.framework) continue;
      reserved_at_peak += segment.bytes;
      allocated_at_peak += segment.bytes - segment.free_bytes;
    }
    if (mark.peak[0] > worst_reserved) {
      worst_reserved = mark.peak[0];
      report.time = peak_time;
    }
    AppendPools(session, ordinal, time == kForever ? peak_time : time, report.pools);
  }
  if (time != kForever) report.time = time;
  if (!report.pools.empty() || time != kForever) report.step = session.StepAt(report.time);
  if (peak_reserved > 0) {
    report.utilisation = static_cast<double>(peak_allocated) / static_cast<double>(peak_reserved);
  }
  if (reserved_at_peak > 0) {
    report.at_peak =
        1 - static_cast<double>(allocated_at_peak) / static_cast<double>(reserved_at_peak);
  }
  return report;
}

}  // namespace memprof::analysis
