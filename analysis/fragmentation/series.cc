// Follows every pool through the events of a session.
#include "analysis/fragmentation/series.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/base/sizes.h"
#include "analysis/fragmentation/internal/pool_layout.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/timeline/address_map.h"
#include "analysis/timeline/thinned_series.h"

namespace memprof::analysis {
namespace {

// Device, kind, handle or private pool, stream, small blocks.
using SeriesKey = std::tuple<int, PoolKind, std::uint64_t, std::uint64_t, bool>;

SeriesKey SeriesKeyOf(const Allocation& segment) {
  return {segment.device, PoolKind::kSegments, segment.pool, segment.stream,
          segment.bytes <= kSmallSegmentBytes};
}

// Points of each pool; their total is limited, because a log may have a hundred thousand pools.
std::size_t PointsOfEach(const Session& session, std::size_t most) {
  constexpr std::size_t kAllPoints = 1u << 18;
  absl::flat_hash_set<SeriesKey> pools;
  const std::span<const AllocationRecord> records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    AllocationId segment;
    if (a.layer == Layer::kSegment) segment = AllocationId(i);
    if (a.layer == Layer::kBlock && a.parent.valid() &&
        session.record(a.parent).layer != Layer::kSegment)
      segment = BaseOf(session, AllocationId(i));
    if (segment.valid()) pools.insert(SeriesKeyOf(session.allocation(segment)));
    if (a.layer == Layer::kStreamOrdered)
      pools.insert({a.device, PoolKind::kStreamOrdered, a.pool(), 0, false});
  }
  return std::min(most,
                  std::max<std::size_t>(kAllPoints / std::max<std::size_t>(pools.size(), 1), 1));
}

// The begins of points; the last point ends with the log.
std::vector<TimeNs> PointsOf(const Session& session, std::size_t most) {
  const EventTable& events = session.events();
  most = std::max<std::size_t>(most, 1);
  std::vector<TimeNs> begins = {events.first_time()};
  if (!session.steps().empty()) {
    for (const StepInfo& step : session.steps())
      if (step.begin > begins.back()) begins.push_back(step.begin);
    const std::size_t together = (begins.size() + most - 1) / most;
    std::vector<TimeNs> kept;
    for (std::size_t i = 0; i < begins.size(); i += together) kept.push_back(begins[i]);
    return kept;
  }
  const TimeNs length = events.last_time() - events.first_time();
  for (std::size_t i = 1; i < most; ++i) {
    const TimeNs begin = events.first_time() +
                         static_cast<TimeNs>(static_cast<double>(length) *
                                             (static_cast<double>(i) / static_cast<double>(most)));
    if (begin > begins.back()) begins.push_back(begin);
  }
  return begins;
}

bool WorsePool(const PoolState& a, const PoolState& b) {
  return std::tuple(a.pinned, a.free()) > std::tuple(b.pinned, b.free());
}

// The curves of one pool as they grow.
struct PoolCurves {
  explicit PoolCurves(std::size_t max_groups)
      : reserved(max_groups),
        allocated(max_groups),
        pinned(max_groups),
        largest_hole(max_groups),
        share(max_groups) {}

  void Add(TimeNs time, const PoolState& state) {
    reserved.Add(time, state.reserved);
    allocated.Add(time, state.allocated);
    pinned.Add(time, state.pinned);
    largest_hole.Add(time, state.largest_hole);
    share.Add(time, state.reserved == 0
                        ? 0
                        : static_cast<std::uint64_t>(1e6 * static_cast<double>(state.pinned) /
                                                     static_cast<double>(state.reserved)));
  }

  ThinnedSeries reserved, allocated, pinned, largest_hole, share;
};

class SeriesBuilder {
 public:
  // `max_groups` of curves; 0 = no curves are wanted.
  SeriesBuilder(const Session& session, int device, std::size_t most, std::size_t max_groups = 0,
                const ProgressFunction* progress = nullptr)
      : session_(session),
        device_(device),
        max_groups_(max_groups),
        progress_(progress),
        begins_(PointsOf(session, PointsOfEach(session, most))),
        base_(session.records().size(), AllocationId::kNone) {}

  void Birth(EventId event, AllocationId id) {
    if (stopped_) return;
    GoTo(session_.events().time(event.value));
    const AllocationRecord& a = session_.record(id);
    if (a.layer == Layer::kSegment) {
      Pool& pool = PoolOf(id);
      pool.layout.AddSegment(id.value, a.address, a.bytes);
    } else if (a.layer == Layer::kBlock) {
      const AllocationId base = BaseOf(session_, id);
      if (base == id) return;
      base_[id.value] = base.value;
      Pool& pool = PoolOf(base);
      const AllocationRecord& segment = session_.record(base);
      if (!pool.layout.Has(base.value)) {
        // Gone before the block came, or driver memory that blocks are suballocated from directly.
        if (segment.layer == Layer::kSegment) return;
        pool.layout.AddSegment(base.value, segment.address, segment.bytes);
      }
      pool.layout.AddBlock(base.value, id.value, a.address, a.bytes,
                           session_.allocation(id).requested);
    } else if (a.layer == Layer::kStreamOrdered) {
      DriverPool(a.device, a.pool()).live += a.bytes;
    }
  }

  void Death(EventId event, AllocationId id) {
    if (stopped_) return;
    GoTo(session_.events().time(event.value));
    const AllocationRecord& a = session_.record(id);
    if (a.layer == Layer::kSegment) {
      PoolOf(id).layout.RemoveSegment(id.value);
    } else if (a.layer == Layer::kBlock) {
      if (base_[id.value] == AllocationId::kNone) return;
      const AllocationId base(base_[id.value]);
      Pool& pool = PoolOf(base);
      pool.layout.RemoveBlock(base.value, id.value, a.address);
      if (session_.record(base).layer != Layer::kSegment && pool.layout.Has(base.value) &&
          pool.layout.BlocksOf(base.value) == 0)
        pool.layout.RemoveSegment(base.value);
    } else if (a.layer == Layer::kStreamOrdered) {
      Pool& pool = DriverPool(a.device, a.pool());
      pool.live -= std::min(pool.live, a.bytes);
    }
  }

  void After(EventId event) {
    if (stopped_ || !GoesOn(event)) return;
    const EventTable& events = session_.events();
    const TimeNs time = events.time(event.value);
    if (events.op(event.value) == Op::kPoolSample && events.layer(event.value) != Layer::kGraph) {
      GoTo(time);
      DriverPool(events.device(event.value), events.address(event.value)).sampled =
          events.bytes(event.value);
    }
    if (changed_.empty()) return;
    // A state between two events of the same time has no duration, and is skipped.
    if (event.value + 1 < events.size() && events.time(event.value + 1) == time) return;
    for (Pool* pool : changed_) {
      pool->changed = false;
      Consider(*pool, time);
    }
    changed_.clear();
  }

  bool stopped() const { return stopped_; }

  std::vector<PoolSeries> Finish() {
    std::vector<PoolSeries> all;
    Finish([&all](Pool& pool) { all.push_back(std::move(pool.series)); });
    return all;
  }

  std::vector<PoolTimeline> FinishTimelines() {
    std::vector<PoolTimeline> all;
    Finish([&all](Pool& pool) {
      PoolTimeline& timeline = all.emplace_back();
      PoolCurves& curves = *pool.curves;
      timeline.pool = std::move(pool.series);
      timeline.reserved = curves.reserved.Finish();
      timeline.allocated = curves.allocated.Finish();
      timeline.pinned = curves.pinned.Finish();
      timeline.largest_hole = curves.largest_hole.Finish();
      timeline.share = curves.share.Finish();
      for (const ThinnedSeries* curve : {&curves.reserved, &curves.allocated, &curves.pinned,
                                         &curves.largest_hole, &curves.share})
        timeline.stride = std::max(timeline.stride, curve->stride());
    });
    return all;
  }

 private:
  struct Pool {
    PoolSeries series;
    PoolLayout layout;
    std::uint64_t live = 0, sampled = 0;  // of driver pools
    std::unique_ptr<PoolCurves> curves;
    bool changed = false;
  };
  // Reports progress from time to time; false after a request to stop.
  bool GoesOn(EventId event) {
    constexpr std::uint32_t kEvery = 1u << 16;
    if (progress_ == nullptr || !*progress_ || event.value % kEvery != 0) return true;
    stopped_ = !(*progress_)(static_cast<double>(event.value) /
                             static_cast<double>(session_.events().size()));
    return !stopped_;
  }

  // Calls `keep(pool)` for each that ever held anything.
  template <typename Keep>
  void Finish(Keep keep) {
    if (!session_.events().empty()) GoTo(session_.events().last_time());
    for (auto& [key, pool] : pools_) {
      PoolSeries& series = pool.series;
      if (series.points.empty() || (device_ != kNoDevice && series.device != device_)) continue;
      for (FragmentationPoint& point : series.points) point.step = session_.StepAt(point.time);
      const auto ever = [](const FragmentationPoint& p) { return p.state.reserved > 0; };
      if (std::none_of(series.points.begin(), series.points.end(), ever)) continue;
      series.worst = *std::max_element(
          series.points.begin(), series.points.end(),
          [](const auto& a, const auto& b) { return WorsePool(b.state, a.state); });
      keep(pool);
    }
  }

  Pool& PoolOf(AllocationId segment) {
    auto& known = pool_of_[segment.value];
    if (known == nullptr) known = &Get(SeriesKeyOf(session_.allocation(segment)));
    return Touch(*known);
  }

  Pool& DriverPool(int device, std::uint64_t handle) {
    return Touch(Get({device, PoolKind::kStreamOrdered, handle, 0, false}));
  }

  Pool& Get(const SeriesKey& key) {
    const auto [at, fresh] = pools_.try_emplace(key);
    Pool& pool = at->second;
    if (!fresh) return pool;
    PoolSeries& series = pool.series;
    std::tie(series.device, series.kind, series.pool, series.stream, series.small_blocks) = key;
    if (max_groups_ > 0) pool.curves = std::make_unique<PoolCurves>(max_groups_);
    for (std::size_t i = 0; i <= now_; ++i) AddPoint(pool, i);
    return pool;
  }

  Pool& Touch(Pool& pool) {
    if (!pool.changed) changed_.push_back(&pool);
    pool.changed = true;
    return pool;
  }

  static PoolState StateOf(const Pool& pool) {
    if (pool.series.kind == PoolKind::kSegments) return pool.layout.State();
    PoolState state;
    state.reserved = std::max(pool.live, pool.sampled);
    state.allocated = pool.live;
    state.pinned = state.free();
    return state;
  }

  void AddPoint(Pool& pool, std::size_t i) {
    const TimeNs end = i + 1 < begins_.size() ? begins_[i + 1] : session_.events().last_time() + 1;
    pool.series.points.push_back(
        {.begin = begins_[i], .end = end, .time = begins_[i], .state = {}});
  }

  // Moves on to the point that contains `time`. The state at the begin of a point is its first
  // instant.
  void GoTo(TimeNs time) {
    while (now_ + 1 < begins_.size() && begins_[now_ + 1] <= time) {
      ++now_;
      for (auto& [key, pool] : pools_) {
        AddPoint(pool, now_);
        // At the very instant of the beginning events may still change it.
        if (begins_[now_] < time) pool.series.points.back().state = StateOf(pool);
      }
      if (begins_[now_] == time)
        for (auto& [key, pool] : pools_) Touch(pool);
    }
  }

  void Consider(Pool& pool, TimeNs time) {
    FragmentationPoint& point = pool.series.points.back();
    const PoolState state = StateOf(pool);
    if (pool.curves != nullptr) pool.curves->Add(time, state);
    if (point.time == time || WorsePool(state, point.state)) {
      point.time = time;
      point.state = state;
    }
  }

  const Session& session_;
  const int device_;
  const std::size_t max_groups_;
  const ProgressFunction* const progress_;
  bool stopped_ = false;
  const std::vector<TimeNs> begins_;
  std::size_t now_ = 0;
  std::map<SeriesKey, Pool> pools_;
  absl::flat_hash_map<std::uint32_t, Pool*> pool_of_;  // by segment
  std::vector<std::uint32_t> base_;                    // by block
  std::vector<Pool*> changed_;
};

}  // namespace

std::vector<PoolSeries> BuildFragmentationSeries(const Session& session, int device,
                                                 std::size_t max_points) {
  SeriesBuilder builder(session, device, max_points);
  WalkLifetimes(session, builder);
  return builder.Finish();
}

std::vector<PoolTimeline> BuildPoolTimelines(const Session& session, std::size_t max_points,
                                             std::size_t max_groups,
                                             const ProgressFunction& progress) {
  SeriesBuilder builder(session, kNoDevice, max_points, std::max<std::size_t>(max_groups, 2),
                        &progress);
  WalkLifetimes(session, builder);
  if (builder.stopped()) return {};
  return builder.FinishTimelines();
}

}  // namespace memprof::analysis
