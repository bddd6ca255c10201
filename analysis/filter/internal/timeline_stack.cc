// Stacks of a device's memory over time: their bands, and queries of them.
#include "analysis/filter/internal/timeline_stack.h"

#include <algorithm>

#include "analysis/filter/stack_cursor.h"

namespace memprof::analysis {

TimelineStack::TimelineStack(std::shared_ptr<const Session> session, int device, bool framework,
                             StackGroups groups)
    : session_(std::move(session)),
      device_(device),
      framework_(framework),
      groups_(std::move(groups)),
      pools_(PoolsOf(*session_)) {
  ListBands();
}

TimelineStack::TimelineStack(const TimelineStack& like, StackGroups groups)
    : TimelineStack(like.session_, like.device_, like.framework_, std::move(groups)) {
  struct Visitor {
    StackBuilder builder;
    std::uint32_t births = 0;

    void Birth(EventId, AllocationId id) {
      ++births;
      builder.Birth(id);
    }
    void Death(EventId, AllocationId id) { builder.Death(id); }
    void After(EventId event) { builder.After(event.value, births); }
  } visitor{StackBuilder(this)};
  WalkLifetimes(*session_, visitor);
  visitor.builder.Finish();
}

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

std::uint64_t TimelineStack::At(Line line, TimeNs time) const {
  return Between(line, time, time).last;
}

Series::Sample TimelineStack::Between(Line line, TimeNs begin, TimeNs end) const {
  const std::size_t slot = SlotOf(line);
  if (slot == kept_.size()) return {};
  StackCursor cursor(*this);
  const std::uint32_t last = FirstEventFrom(end);
  const Range range = RangeOf(cursor, {begin, end}, FirstEventFrom(begin), last, false);
  Outputs outputs;
  if (end > begin) cursor.Seek(last);
  Evaluate(cursor.state(), outputs);
  return {range.least[slot], range.most[slot], outputs[kept_[slot]]};
}

std::uint64_t TimelineStack::Max(Line line) const {
  const std::size_t slot = SlotOf(line);
  if (slot == kept_.size()) return 0;
  return curves_[slot].pyramid.Max(curves_[slot].most);
}

TimeNs TimelineStack::TimeOfMax(Line line) const {
  const std::uint64_t peak = Max(line);
  if (peak == 0) return 0;
  const std::size_t slot = SlotOf(line);
  const std::size_t block = curves_[slot].pyramid.FirstOfMax(curves_[slot].most);
  StackCursor cursor(*this);
  cursor.Seek(static_cast<std::uint32_t>(block) * kBlock);
  Outputs outputs;
  do {
    cursor.Step();
    Evaluate(cursor.state(), outputs);
  } while (outputs[kept_[slot]] != peak);
  return session_->events().time(cursor.event() - 1);
}

std::vector<std::uint64_t> TimelineStack::BytesAt(TimeNs time) const {
  std::vector<std::uint64_t> bytes;
  if (bands_.empty()) return bytes;
  StackCursor cursor(*this);
  const Range range = RangeOf(cursor, {time, time}, 0, 0, true);
  return {range.least.begin(), range.least.begin() + static_cast<std::ptrdiff_t>(bands_.size())};
}

std::size_t TimelineStack::memory_bytes() const {
  const auto of = [](const auto& v) {
    return v.capacity() * sizeof(typename std::decay_t<decltype(v)>::value_type);
  };
  std::size_t bytes =
      sizeof(*this) + of(groups_.of_allocation) + of(block_time_) + of(block_birth_);
  for (const auto& states : block_state_) bytes += of(states);
  for (const Curve& curve : curves_)
    bytes += of(curve.least) + of(curve.most) + curve.pyramid.memory_bytes();
  return bytes + changes().memory_bytes();
}

}  // namespace memprof::analysis
