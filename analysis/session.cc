// Look-ups in a loaded session: strings, stacks, steps, live sets, children.
#include "analysis/session.h"

#include <algorithm>

namespace memprof::analysis {

std::string_view Session::string(StringId id) const {
  return id.value < strings_.size() ? std::string_view(strings_[id.value]) : std::string_view();
}

const TensorInfo* Session::tensor(TensorId id) const {
  return id.value < tensors_.size() ? &tensors_[id.value] : nullptr;
}

std::vector<FrameId> Session::StackFrames(StackId id) const {
  std::vector<FrameId> frames;
  for (; id.value < stack_frame_.size(); id = stack_parent_[id.value])
    frames.push_back(stack_frame_[id.value]);
  return frames;
}

StackId Session::StackParent(StackId id) const {
  return id.value < stack_parent_.size() ? stack_parent_[id.value] : StackId();
}

FrameId Session::StackFrame(StackId id) const {
  return id.value < stack_frame_.size() ? stack_frame_[id.value] : FrameId();
}

std::int64_t Session::StepAt(TimeNs time) const {
  const auto after =
      std::upper_bound(steps_.begin(), steps_.end(), time,
                       [](TimeNs t, const StepInfo& step) { return t < step.begin; });
  return after == steps_.begin() ? -1 : (after - 1)->number;
}

EventId Session::EventAt(TimeNs time) const {
  const auto after = std::upper_bound(events_.time.begin(), events_.time.end(), time);
  if (after == events_.time.begin()) return EventId();
  return EventId(static_cast<std::uint32_t>(after - events_.time.begin() - 1));
}

std::vector<AllocationId> Session::LiveAfter(EventId event, std::uint32_t layers) const {
  std::vector<AllocationId> live;
  if (!event.valid()) return live;
  const auto keep = [&](AllocationId id) {
    const Allocation& allocation = allocations_[id.value];
    if ((layers & LayerBit(allocation.layer)) == 0) return;
    if (!allocation.death.valid() || allocation.death > event) live.push_back(id);
  };
  const auto after = std::upper_bound(
      checkpoints_.begin(), checkpoints_.end(), event.value,
      [](std::uint32_t e, const Checkpoint& checkpoint) { return e + 1 < checkpoint.event; });
  std::uint32_t replayed_from = 0;
  if (after != checkpoints_.begin()) {
    const Checkpoint& checkpoint = *(after - 1);
    replayed_from = checkpoint.event;
    for (const AllocationId id : checkpoint.live) keep(id);
  }
  // Ids are in order of birth, so what was born since the checkpoint is a range of ids.
  const auto born_before = [](const Allocation& allocation, std::uint32_t e) {
    return allocation.birth.value < e;
  };
  auto fresh =
      std::lower_bound(allocations_.begin(), allocations_.end(), replayed_from, born_before);
  for (; fresh != allocations_.end() && fresh->birth <= event; ++fresh)
    keep(AllocationId(static_cast<std::uint32_t>(fresh - allocations_.begin())));
  return live;
}

std::vector<AllocationId> Session::LiveAt(TimeNs time, std::uint32_t layers) const {
  return LiveAfter(EventAt(time), layers);
}

std::span<const AllocationId> Session::Children(AllocationId id) const {
  if (id.value >= allocations_.size() || children_begin_.empty()) return {};
  const std::uint32_t begin = children_begin_[id.value], end = children_begin_[id.value + 1];
  return std::span(children_).subspan(begin, end - begin);
}

std::span<const EventId> Session::Marks(AllocationId id) const {
  const auto of = [this](EventId event) { return events_.allocation[event.value]; };
  const auto begin = std::lower_bound(marks_.begin(), marks_.end(), id,
                                      [&](EventId mark, AllocationId i) { return of(mark) < i; });
  const auto end = std::upper_bound(begin, marks_.end(), id,
                                    [&](AllocationId i, EventId mark) { return i < of(mark); });
  return {begin, end};
}

}  // namespace memprof::analysis
