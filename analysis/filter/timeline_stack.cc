// Stacks of a device's memory over time: their bands, and queries of them.
#include "analysis/filter/timeline_stack.h"

#include <algorithm>
#include <utility>

#include "analysis/filter/internal/stack_builder.h"
#include "analysis/filter/internal/stack_cursor.h"
#include "analysis/filter/internal/stack_data.h"

namespace memprof::analysis {

TimelineStack::TimelineStack(std::unique_ptr<const StackData> data) : data_(std::move(data)) {}

TimelineStack::TimelineStack(const TimelineStack& like, StackGroups groups)
    : TimelineStack(BuildStack(*like.data_, std::move(groups))) {}

TimelineStack::~TimelineStack() = default;

const std::shared_ptr<const Session>& TimelineStack::session() const { return data_->session; }
int TimelineStack::device() const { return data_->device; }
bool TimelineStack::framework() const { return data_->framework; }
std::span<const StackBand> TimelineStack::bands() const { return data_->bands; }

int TimelineStack::BandOfGroup(std::uint8_t group) const {
  if (group == StackGroups::kNone) return -1;
  const std::size_t output = group + (data_->groups.tensors_within > 0 ? 1u : 0u);
  for (std::size_t b = 0; b < data_->bands.size(); ++b)
    if (data_->kept[b] == output) return static_cast<int>(b);
  return -1;
}

int TimelineStack::BandOf(AllocationId id) const {
  const AllocationRecord& a = data_->session->record(id);
  return a.device == data_->device ? BandOfGroup(data_->GroupOf(id, a)) : -1;
}

int TimelineStack::BandOfSite(StackId site) const {
  if (data_->groups.of_stack.empty() || !site.valid()) return -1;
  const std::size_t slot = std::min<std::size_t>(site.value, data_->groups.of_stack.size() - 1);
  const int band = BandOfGroup(data_->groups.of_stack[slot]);
  return band >= 0 && data_->bands[static_cast<std::size_t>(band)].kind == StackBandKind::kSite
             ? band
             : -1;
}

std::size_t TimelineStack::SlotOf(Line line) const {
  const std::size_t none = data_->kept.size();
  if (line == Line::kTop) return data_->bands.empty() ? none : data_->bands.size() - 1;
  const std::size_t output = data_->all_bands.size() + (line == Line::kAllocated ? 1 : 0);
  for (std::size_t slot = data_->bands.size(); slot < none; ++slot)
    if (data_->kept[slot] == output) return slot;
  // The uppermost edge of the groups that is kept.
  const std::size_t groups =
      data_->groups.bands.size() + (data_->groups.tensors_within > 0 ? 1 : 0);
  std::size_t slot = none;
  for (std::size_t b = 0; b < data_->bands.size() && data_->kept[b] < groups; ++b) slot = b;
  return slot;
}

std::uint64_t TimelineStack::At(Line line, TimeNs time) const {
  return Between(line, time, time).last;
}

Series::Sample TimelineStack::Between(Line line, TimeNs begin, TimeNs end) const {
  const std::size_t slot = SlotOf(line);
  if (slot == data_->kept.size()) return {};
  StackCursor cursor(*data_);
  const std::uint32_t last = data_->FirstEventFrom(end);
  const StackRange range = cursor.RangeOf({begin, end}, data_->FirstEventFrom(begin), last, false);
  StackData::Outputs outputs;
  if (end > begin) cursor.Seek(last);
  data_->Evaluate(cursor.state(), outputs);
  return {range.least[slot], range.most[slot], outputs[data_->kept[slot]]};
}

std::uint64_t TimelineStack::Max(Line line) const {
  const std::size_t slot = SlotOf(line);
  if (slot == data_->kept.size()) return 0;
  return data_->curves[slot].pyramid.Max(data_->curves[slot].most);
}

TimeNs TimelineStack::TimeOfMax(Line line) const {
  const std::uint64_t peak = Max(line);
  if (peak == 0) return 0;
  const std::size_t slot = SlotOf(line);
  const std::size_t block = data_->curves[slot].pyramid.FirstOfMax(data_->curves[slot].most);
  StackCursor cursor(*data_);
  cursor.Seek(static_cast<std::uint32_t>(block) * StackData::kBlock);
  StackData::Outputs outputs;
  do {
    cursor.Step();
    data_->Evaluate(cursor.state(), outputs);
  } while (outputs[data_->kept[slot]] != peak);
  return data_->session->events().time(cursor.event() - 1);
}

std::vector<std::uint64_t> TimelineStack::BytesAt(TimeNs time) const {
  std::vector<std::uint64_t> bytes;
  if (data_->bands.empty()) return bytes;
  StackCursor cursor(*data_);
  const StackRange range = cursor.RangeOf({time, time}, 0, 0, true);
  return {range.least.begin(),
          range.least.begin() + static_cast<std::ptrdiff_t>(data_->bands.size())};
}

std::size_t TimelineStack::memory_bytes() const {
  const auto of = [](const auto& v) {
    return v.capacity() * sizeof(typename std::decay_t<decltype(v)>::value_type);
  };
  std::size_t bytes = sizeof(*this) + sizeof(*data_) + of(data_->groups.of_allocation) +
                      of(data_->block_time) + of(data_->block_birth);
  for (const auto& states : data_->block_state) bytes += of(states);
  for (const StackData::Curve& curve : data_->curves)
    bytes += of(curve.least) + of(curve.most) + curve.pyramid.memory_bytes();
  return bytes + data_->changes().memory_bytes();
}

}  // namespace memprof::analysis
