// Stacks of a device's memory over time: what bands there are, and what is asked of them.
#include "analysis/filter/internal/timeline_stack.h"

#include <algorithm>

#include "analysis/filter/stack_replay.h"

namespace memprof::analysis {

TimelineStack::TimelineStack(std::shared_ptr<const Session> session, int device, bool framework,
                             StackGroups groups)
    : session_(std::move(session)),
      device_(device),
      framework_(framework),
      groups_(std::move(groups)) {
  ListBands();
}

TimelineStack::TimelineStack(const TimelineStack& like, StackGroups groups)
    : TimelineStack(like.session_, like.device_, like.framework_, std::move(groups)) {
  pools_ = like.pools_;
  struct Visitor {
    StackBuilder builder;
    const PoolChanges* pools;
    std::size_t next_pool = 0;
    std::uint32_t births = 0;

    void Birth(EventId, AllocationId id) {
      ++births;
      builder.Birth(id);
    }
    void Death(EventId, AllocationId id) { builder.Death(id); }
    void After(EventId event) {
      for (;
           pools != nullptr && next_pool < pools->size() && pools->event(next_pool) <= event.value;
           ++next_pool)
        builder.SetBeyond(pools->bytes(next_pool));
      builder.After(event.value, births);
    }
  } visitor{StackBuilder(this), pools_.get()};
  ReplayLifetimes(*session_, visitor);
  visitor.builder.Finish();
}

TimelineStack::~TimelineStack() = default;

void TimelineStack::ListBands() {
  const auto add = [this](StackBandKind kind) { all_bands_.push_back({.kind = kind}); };
  if (groups_.tensors_within > 0) add(StackBandKind::kTensors);
  all_bands_.insert(all_bands_.end(), groups_.bands.begin(), groups_.bands.end());
  if (groups_.framework) {
    add(StackBandKind::kCached);
    add(StackBandKind::kOtherDriver);
  }
  if (groups_.pools) add(StackBandKind::kPools);
}

void TimelineStack::Evaluate(const State& state, Outputs& outputs) const {
  std::size_t n = 0;
  std::uint64_t tensors = 0, sum = 0;
  if (groups_.tensors_within > 0) {
    for (std::size_t g = 0; g < groups_.tensors_within; ++g) tensors += state[kFirstGroup + g];
    tensors = std::min(tensors, state[kTensors]);
    outputs[n++] = tensors;
  }
  for (std::size_t g = 0; g < groups_.bands.size(); ++g) {
    sum += state[kFirstGroup + g];
    outputs[n++] = std::max(tensors, sum);
  }
  std::uint64_t top = sum;
  if (groups_.framework) {
    outputs[n++] = top = std::max(top, state[kSegments]);
    outputs[n++] = top = std::max(top, state[kDriver]);
  }
  if (groups_.pools) outputs[n++] = std::max(top, state[kDriver] + state[kBeyond]);
  outputs[n++] = sum;
  outputs[n] = state[kDriver];
}

std::uint8_t TimelineStack::GroupOf(AllocationId id, const AllocationRecord& a) const {
  if (!groups_.of_allocation.empty()) return groups_.of_allocation[id.value];
  return groups_
      .of_layer[std::min<std::size_t>(static_cast<std::size_t>(a.layer), kLayerCount - 1)];
}

bool TimelineStack::Apply(AllocationId id, bool birth, State& state) const {
  const AllocationRecord& a = session_->record(id);
  if (a.device != device_ || a.bytes == 0) return false;
  const std::uint64_t change = birth ? a.bytes : 0 - a.bytes;
  if (const std::uint8_t group = GroupOf(id, a); group != StackGroups::kNone)
    state[kFirstGroup + group] += change;
  if (a.layer == Layer::kTensor) {
    if (groups_.passing == nullptr || groups_.passing->Has(id)) state[kTensors] += change;
  } else if (a.layer == Layer::kSegment) {
    state[kSegments] += change;
  } else if (device_ == kNoDevice ? OccupiesHost(a.layer) : OccupiesDevice(a.layer)) {
    state[kDriver] += change;
  }
  return true;
}

int TimelineStack::BandOfGroup(std::uint8_t group) const {
  if (group == StackGroups::kNone) return -1;
  const std::size_t output = group + (groups_.tensors_within > 0 ? 1u : 0u);
  for (std::size_t b = 0; b < bands_.size(); ++b)
    if (kept_[b] == output) return static_cast<int>(b);
  return -1;
}

int TimelineStack::BandOf(AllocationId id) const {
  const AllocationRecord& a = session_->record(id);
  return a.device == device_ ? BandOfGroup(GroupOf(id, a)) : -1;
}

int TimelineStack::BandOfSite(StackId site) const {
  if (groups_.of_stack.empty() || !site.valid()) return -1;
  const std::size_t slot = std::min<std::size_t>(site.value, groups_.of_stack.size() - 1);
  const int band = BandOfGroup(groups_.of_stack[slot]);
  return band >= 0 && bands_[static_cast<std::size_t>(band)].kind == StackBandKind::kSite ? band
                                                                                          : -1;
}

std::uint32_t TimelineStack::FirstEventFrom(TimeNs time) const {
  const auto block = std::lower_bound(block_time_.begin(), block_time_.end(), time);
  const auto after = static_cast<std::uint32_t>(block - block_time_.begin()) * kBlock;
  std::uint32_t first = after == 0 ? 0 : after - kBlock + 1, last = std::min(after, events());
  const EventTable& table = session_->events();
  while (first < last) {
    const std::uint32_t middle = first + (last - first) / 2;
    if (table.time(middle) < time) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

std::size_t TimelineStack::SlotOf(Line line) const {
  const std::size_t none = kept_.size();
  if (line == Line::kTop) return bands_.empty() ? none : bands_.size() - 1;
  if (line == Line::kAllocated && groups_.framework) return none - 1;
  // The uppermost edge of the groups that is kept.
  const std::size_t groups = groups_.bands.size() + (groups_.tensors_within > 0 ? 1 : 0);
  std::size_t slot = none;
  for (std::size_t b = 0; b < bands_.size() && kept_[b] < groups; ++b) slot = b;
  return slot;
}

void TimelineStack::Join(std::size_t begin, std::size_t end, Range& range) const {
  for (std::size_t slot = 0; slot < kept_.size(); ++slot) {
    std::uint64_t least = range.least[slot], most = range.most[slot];
    std::size_t first = begin, last = end;
    for (const Level& level : pyramids_[slot]) {
      const std::size_t inner_first = (first + kFanOut - 1) / kFanOut;
      const std::size_t inner_last = last / kFanOut;
      const bool done = &level == &pyramids_[slot].back() || inner_first >= inner_last;
      const auto join = [&](std::size_t from, std::size_t to) {
        for (; from < to; ++from) {
          least = std::min(least, level.min[from]);
          most = std::max(most, level.max[from]);
        }
      };
      if (done) {
        join(first, last);
        break;
      }
      join(first, inner_first * kFanOut);
      join(inner_last * kFanOut, last);
      first = inner_first;
      last = inner_last;
    }
    range.least[slot] = least;
    range.most[slot] = most;
  }
}

TimelineStack::Range TimelineStack::RangeOf(StackReplay& replay, TimeWindow window,
                                            std::uint32_t first, std::uint32_t last,
                                            bool own) const {
  Range range;
  range.least.fill(~std::uint64_t{0});
  range.most.fill(0);
  Outputs outputs;
  const auto look = [&] {
    Evaluate(replay.state(), outputs);
    std::uint64_t below = 0;
    for (std::size_t slot = 0; slot < kept_.size(); ++slot) {
      std::uint64_t value = outputs[kept_[slot]];
      if (own) {
        value -= std::min(below, value);
        below = outputs[kept_[slot]];
      }
      range.least[slot] = std::min(range.least[slot], value);
      range.most[slot] = std::max(range.most[slot], value);
    }
  };
  if (window.end <= window.begin) {  // what holds at that instant
    replay.Seek(window.begin == kForever ? events() : FirstEventFrom(window.begin + 1));
    look();
    return range;
  }
  if (first == last || first == events() || session_->events().time(first) > window.begin) {
    replay.Seek(first);  // what held before still holds when the range begins
    look();
  }
  const auto walk = [&](std::uint32_t from, std::uint32_t to) {
    if (from >= to) return;
    replay.Seek(from);
    for (bool fresh = true; from < to; ++from, fresh = false)
      if (replay.Step() || fresh) look();
  };
  const std::uint32_t inner_first = (first + kBlock - 1) / kBlock, inner_last = last / kBlock;
  if (own || inner_first >= inner_last) {
    walk(first, last);
    return range;
  }
  walk(first, inner_first * kBlock);
  Join(inner_first, inner_last, range);
  walk(inner_last * kBlock, last);
  return range;
}

std::vector<std::uint32_t> TimelineStack::ColumnBegins(std::span<const TimeNs> times,
                                                       double slack) const {
  constexpr std::uint32_t kManyEvents = 8 * kBlock;
  std::vector<std::uint32_t> first(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) first[i] = FirstEventFrom(times[i]);
  for (std::size_t i = 1; slack > 0 && i + 1 < times.size(); ++i) {
    if (first[i + 1] - first[i] < kManyEvents) continue;
    const std::uint32_t begin = first[i] / kBlock * kBlock;
    const TimeNs moved = block_time_[first[i] / kBlock];
    const bool near = moved <= times[i] && static_cast<double>(times[i] - moved) <=
                                               slack * static_cast<double>(times[i + 1] - times[i]);
    if (near) first[i] = std::max(begin, first[i - 1]);
  }
  return first;
}

TimelineStack::Columns TimelineStack::MakeColumns(std::span<const TimeNs> times, bool own,
                                                  double slack) const {
  Columns columns;
  const std::size_t n = times.empty() ? 0 : times.size() - 1;
  columns.low.assign(bands_.size(), std::vector<std::uint64_t>(n));
  columns.high = columns.low;
  if (bands_.empty() || n == 0) return columns;
  StackReplay replay(*this);
  const std::vector<std::uint32_t> first = ColumnBegins(times, slack);
  for (std::size_t i = 0; i < n; ++i) {
    const Range range = RangeOf(replay, {times[i], times[i + 1]}, first[i], first[i + 1], own);
    for (std::size_t b = 0; b < bands_.size(); ++b) {
      columns.low[b][i] = range.least[b];
      columns.high[b][i] = range.most[b];
    }
  }
  return columns;
}

TimelineStack::Columns TimelineStack::Edges(std::span<const TimeNs> times, double slack) const {
  return MakeColumns(times, false, slack);
}
TimelineStack::Columns TimelineStack::Bytes(std::span<const TimeNs> times) const {
  return MakeColumns(times, true, 0);
}

std::uint64_t TimelineStack::At(Line line, TimeNs time) const {
  return Between(line, time, time).last;
}

Series::Sample TimelineStack::Between(Line line, TimeNs begin, TimeNs end) const {
  const std::size_t slot = SlotOf(line);
  if (slot == kept_.size()) return {};
  StackReplay replay(*this);
  const std::uint32_t last = FirstEventFrom(end);
  const Range range = RangeOf(replay, {begin, end}, FirstEventFrom(begin), last, false);
  Outputs outputs;
  if (end > begin) replay.Seek(last);
  Evaluate(replay.state(), outputs);
  return {range.least[slot], range.most[slot], outputs[kept_[slot]]};
}

std::uint64_t TimelineStack::Max(Line line) const {
  const std::size_t slot = SlotOf(line);
  if (slot == kept_.size()) return 0;
  const std::vector<std::uint64_t>& top = pyramids_[slot].back().max;
  return top.empty() ? 0 : *std::max_element(top.begin(), top.end());
}

TimeNs TimelineStack::TimeOfMax(Line line) const {
  const std::uint64_t peak = Max(line);
  if (peak == 0) return 0;
  const std::size_t slot = SlotOf(line);
  std::size_t index = 0;
  for (std::size_t level = pyramids_[slot].size(); level-- > 0;) {
    while (pyramids_[slot][level].max[index] != peak) ++index;
    if (level > 0) index *= kFanOut;
  }
  StackReplay replay(*this);
  replay.Seek(static_cast<std::uint32_t>(index) * kBlock);
  Outputs outputs;
  do {
    replay.Step();
    Evaluate(replay.state(), outputs);
  } while (outputs[kept_[slot]] != peak);
  return session_->events().time(replay.event() - 1);
}

std::vector<std::uint64_t> TimelineStack::BytesAt(TimeNs time) const {
  std::vector<std::uint64_t> bytes;
  if (bands_.empty()) return bytes;
  StackReplay replay(*this);
  const Range range = RangeOf(replay, {time, time}, 0, 0, true);
  return {range.least.begin(), range.least.begin() + static_cast<std::ptrdiff_t>(bands_.size())};
}

std::size_t TimelineStack::memory_bytes() const {
  const auto of = [](const auto& v) {
    return v.capacity() * sizeof(typename std::decay_t<decltype(v)>::value_type);
  };
  std::size_t bytes =
      sizeof(*this) + of(groups_.of_allocation) + of(block_time_) + of(block_birth_);
  for (const auto& states : block_state_) bytes += of(states);
  for (const Pyramid& pyramid : pyramids_)
    for (const Level& level : pyramid) bytes += of(level.min) + of(level.max);
  return bytes + (pools_ == nullptr ? 0 : pools_->memory_bytes());
}

}  // namespace memprof::analysis
