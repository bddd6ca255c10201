// Free memory that cannot be used, per pool, and the blocks that pin it.
#include "analysis/fragmentation/fragmentation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/fragmentation/internal/hole_past.h"
#include "analysis/peak/finder.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kMaxPins = 20, kMaxHoles = 20;

// The sums of a framework's allocator: 0 = segments, 1 = blocks in use, 2 = neither.
std::size_t PoolSumOf(const AllocationRecord& a) {
  if (a.layer == Layer::kSegment) return 0;
  return a.layer == Layer::kBlock ? 1 : 2;
}

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

void AddHoles(const MapSegment& segment, const std::vector<TimeNs>& since,
              std::vector<Hole>& holes) {
  const auto block_at = [&segment](std::size_t i) {
    return i < segment.pieces.size() ? segment.pieces[i].allocation : AllocationId();
  };
  for (std::size_t i = 0; i < segment.pieces.size(); ++i) {
    const MapPiece& piece = segment.pieces[i];
    if (!piece.hole()) continue;
    holes.push_back({piece.address, piece.bytes, since[i], -1, segment.allocation,
                     i > 0 ? block_at(i - 1) : AllocationId(), block_at(i + 1)});
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

// The free bytes that a pin separates, reduced by the share of the pin in the run that would be
// free without it.
double PinWeight(const Pin& pin) {
  const double frees = static_cast<double>(pin.frees_bytes);
  return frees * (frees / (frees + static_cast<double>(pin.bytes)));
}

// The first `most` in order, sorted.
template <typename T, typename Less>
void KeepFirst(std::vector<T>& all, std::size_t most, Less less) {
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), end, all.end(), less);
  all.erase(end, all.end());
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
    const AllocationRecord& block = session.record(piece.allocation);
    if (block.bytes > block.requested()) pool.rounding_bytes += block.bytes - block.requested();
  }
  AddHoles(segment, since, pool.holes);
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
  KeepFirst(pool.pins, kMaxPins, [](const Pin& a, const Pin& b) {
    const double weight_a = PinWeight(a), weight_b = PinWeight(b);
    return weight_a != weight_b ? weight_a > weight_b : a.block < b.block;
  });
  for (Pin& pin : pool.pins) pin.tensor = TensorIn(session, pin.block, time);
  KeepFirst(pool.holes, kMaxHoles, [](const Hole& a, const Hole& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.address < b.address;
  });
  for (Hole& hole : pool.holes) hole.since_step = session.StepAt(hole.since);
}

// Segments that allocators suballocate, with everything that lies in them.
std::vector<MapSegment> SuballocatedSegments(const Session& session, int device, TimeNs time) {
  std::vector<MapSegment> segments = BuildAddressMap(session, device, time).segments;
  std::erase_if(segments, [](const MapSegment& segment) { return !segment.framework; });
  return segments;
}

// `requests` reach at least to `time`; `unused` is of `segments`.
void AppendPools(const Session& session, TimeNs time, std::span<const MapSegment> segments,
                 const LargestRequests& requests, const TimesOfPieces& unused,
                 std::vector<PoolFragmentation>& pools) {
  const EventId event = session.EventAt(time);
  std::map<PoolKey, PoolSums> by_key;
  for (std::size_t s = 0; s < segments.size(); ++s) {
    const MapSegment& segment = segments[s];
    const PoolKey key = PoolOf(session.allocation(segment.allocation));
    PoolSums& sums = by_key[key];
    std::tie(sums.pool.device, sums.pool.private_pool, sums.pool.stream, sums.pool.small_blocks) =
        key;
    AddSegment(session, segment, requests.At(key, event), unused[s], sums);
  }
  for (auto& [key, sums] : by_key) {
    FinishPool(session, time, sums);
    pools.push_back(std::move(sums.pool));
  }
}

// By looking back over the log; `requests` reach at least to `time`.
void AppendPools(const Session& session, int device, TimeNs time, const LargestRequests& requests,
                 std::vector<PoolFragmentation>& pools) {
  const std::vector<MapSegment> segments = SuballocatedSegments(session, device, time);
  if (segments.empty()) return;
  AppendPools(session, time, segments, requests, LookBackAtHoles(session, segments, time), pools);
}

}  // namespace

std::vector<PoolFragmentation> FragmentationAt(const Session& session, int device, TimeNs time) {
  std::vector<PoolFragmentation> pools;
  AppendPools(session, device, time, LargestRequests(session, session.EventAt(time)), pools);
  return pools;
}

struct FragmentationHistory::Indices {
  explicit Indices(const Session& session)
      : requests(session, EventId(static_cast<std::uint32_t>(session.events().size()))),
        holes(session) {}
  const LargestRequests requests;
  const HoleIndex holes;
};

FragmentationHistory::FragmentationHistory(std::shared_ptr<const Session> session)
    : session_(std::move(session)) {}

FragmentationHistory::~FragmentationHistory() = default;

void FragmentationHistory::Prepare() const {
  std::call_once(once_, [this] {
    indices_ = std::make_unique<const Indices>(*session_);
    ready_.store(indices_.get(), std::memory_order_release);
  });
}

std::vector<PoolFragmentation> FragmentationHistory::At(int device, TimeNs time) const {
  const Indices* indices = ready_.load(std::memory_order_acquire);
  if (indices == nullptr) return FragmentationAt(*session_, device, time);
  std::vector<PoolFragmentation> pools;
  const std::vector<MapSegment> segments = SuballocatedSegments(*session_, device, time);
  if (segments.empty()) return pools;
  AppendPools(*session_, time, segments, indices->requests,
              indices->holes.At(*session_, segments, time), pools);
  return pools;
}

std::shared_ptr<const FragmentationReport> FragmentationOf(const Session& session) {
  return session.facts().Get<FragmentationReport>([&] { return AnalyseFragmentation(session); });
}

FragmentationReport AnalyseFragmentation(const Session& session, int device, TimeNs time) {
  FragmentationReport report;
  // Reserved memory stays at its maximum for long; of these instants the first at which most was in
  // use is chosen: what is free even then is waste.
  const PeakFinder<2> peaks(session, PoolSumOf);
  std::uint64_t peak_allocated = 0, peak_reserved = 0, worst_reserved = 0;
  std::uint64_t allocated_at_peak = 0, reserved_at_peak = 0;
  std::optional<LargestRequests> requests;  // read once for all devices
  for (const auto& [ordinal, mark] : peaks.marks()) {
    if (device != kNoDevice && ordinal != device) continue;
    if (mark.peak[0] == 0) continue;  // no segment was ever seen
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
    if (!requests)
      requests.emplace(session, EventId(static_cast<std::uint32_t>(session.events().size())));
    AppendPools(session, ordinal, time == kForever ? peak_time : time, *requests, report.pools);
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
