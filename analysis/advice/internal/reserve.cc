// Memory that allocators and the driver's pools keep beyond what is in use.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "analysis/advice/internal/drafts.h"
#include "analysis/allocators/allocator_replay.h"
#include "analysis/peak/finder.h"
#include "analysis/timeline/address_map.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis::advice {
namespace {

constexpr double kReserveShare = 0.1;  // of what is held, that is not in use

std::size_t ReserveSum(const AllocationRecord& a) {
  return a.layer == Layer::kSegment ? 0 : a.layer == Layer::kBlock ? 1 : 2;
}

// What segments that grow would have saved of the peak, by a replay of all requests; negative if
// they would have taken more. None if the replay of the recorded allocator is not near the
// recording, or if its segments grow already.
std::optional<std::int64_t> SavedByGrowingSegments(const Session& session, int device) {
  ReplayOptions options{.device = device, .placement_seconds = 0};
  allocators::AllocatorSpec growing;
  growing.caching.expandable = true;
  options.others = {growing};
  std::optional<std::int64_t> saved;
  for (const DeviceReplay& replay : ReplayAllocators(session, options)) {
    if (replay.uncertain || replay.replayed.spec.caching.expandable || replay.others.empty() ||
        !replay.others.front().done)
      return std::nullopt;
    saved = saved.value_or(0) + replay.others.front().saving;
  }
  return saved;
}

// Segments without any block whose stream has no block at all: nothing can use them but this
// stream.
void CountIdleStreams(const Session& session, int device, EventId at, Draft* draft) {
  std::map<std::uint64_t, std::uint64_t> idle;  // bytes of such segments by stream
  std::set<std::uint64_t> busy;
  for (const MapSegment& segment :
       BuildAddressMap(session, device, session.events().time(at.value)).segments) {
    if (!segment.framework) continue;
    const std::uint64_t stream = session.allocation(segment.allocation).stream;
    if (segment.free_bytes < segment.bytes)
      busy.insert(stream);
    else
      idle[stream] += segment.bytes;
  }
  for (const auto& [stream, bytes] : idle) {
    if (busy.contains(stream)) continue;
    draft->idle_bytes += bytes;
    ++draft->idle_streams;
  }
}

void FindSegments(Drafts& drafts) {
  const Session& session = drafts.session();
  const PeakFinder<2> finder(session, ReserveSum);
  for (const auto& [device, mark] : finder.marks()) {
    const std::uint64_t reserved = mark.peak[0], used = mark.highest[1];
    if (reserved == 0 || used == 0 || used > reserved ||
        static_cast<double>(reserved - used) < kReserveShare * static_cast<double>(reserved))
      continue;
    Draft& draft = drafts.At(Pattern::kOverReservation, device, Layer::kSegment, StackId());
    drafts.Count(draft, reserved - used, {mark.event, {}, {}, {}});
    Finding& finding = draft.finding;
    CountIdleStreams(session, device, mark.event, &draft);
    if (!OfIdleStreams(draft)) draft.tried = SavedByGrowingSegments(session, device);
    finding.upper_bound = draft.tried.value_or(0) <= 0;
    finding.saves_bytes =
        finding.upper_bound ? reserved - used : static_cast<std::uint64_t>(*draft.tried);
    const Level* driver = drafts.levels().Find(device, PeakLayer::kDriver);
    if (driver != nullptr) {
      finding.peak_of = PeakLayer::kDriver;
      finding.new_peak = driver->peak();
      finding.new_peak.bytes -= std::min(finding.new_peak.bytes, finding.saves_bytes);
    }
    draft.other = used;
    draft.reserved = reserved;
    Weaken(draft, Confidence::kPossible);
  }
}

// At the last sample: what is trimmed then, other processes can have.
void FindPools(Drafts& drafts) {
  const Session& session = drafts.session();
  for (const auto& [device, entry] : PoolsThatKeep(session)) {
    Draft& draft = drafts.At(Pattern::kOverReservation, device, Layer::kStreamOrdered, StackId());
    drafts.Count(draft, entry.pools_bytes, {entry.sample.event, {}, {}, {}});
    // Since most was in use, the pool has not given it back.
    const TimeNs since = FindHighestUse(session, SamplesOf(session)->Of(device), device).time;
    draft.finding.byte_seconds =
        static_cast<double>(entry.pools_bytes) *
        static_cast<double>(entry.sample.time - std::min(since, entry.sample.time)) * 1e-9;
    draft.reserved = entry.pools_bytes;
    draft.other = entry.by_layer[static_cast<std::size_t>(Layer::kStreamOrdered)];
  }
}

}  // namespace

void FindOverReservation(Drafts& drafts) {
  FindSegments(drafts);
  FindPools(drafts);
}

}  // namespace memprof::analysis::advice
