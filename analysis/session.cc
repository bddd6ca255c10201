// Look-ups in a loaded session: strings, stacks, steps, live sets, children.
#include "analysis/session.h"

#include <algorithm>

namespace memprof::analysis {
namespace {

std::int64_t NumberAt(std::span<const StepInfo> steps, TimeNs time) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](TimeNs t, const StepInfo& step) { return t < step.begin; });
  return after == steps.begin() ? -1 : (after - 1)->number;
}

}  // namespace

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

std::int64_t Session::StepAt(TimeNs time) const { return NumberAt(steps_, time); }

std::int64_t Session::StepAt(TimeNs time, std::uint32_t process) const {
  return NumberAt(StepsOf(process), time);
}

std::int64_t Session::StepOf(EventId event) const {
  if (!event.valid()) return -1;
  const std::span<const StepInfo> steps =
      process_steps_.empty() ? steps_ : StepsOf(ProcessOf(event));
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), event,
                       [](EventId e, const StepInfo& step) { return e < step.event; });
  return after == steps.begin() ? -1 : (after - 1)->number;
}

EventId Session::EventAt(TimeNs time) const {
  std::uint32_t begin = 0, end = static_cast<std::uint32_t>(events_.size());  // first after `time`
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (events_.time(middle) <= time)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin == 0 ? EventId() : EventId(begin - 1);
}

Allocation Session::allocation(AllocationId id) const {
  const AllocationRecord& record = events_.records()[id.value];
  Allocation a;
  a.layer = record.layer;
  a.end_reason = record.end_reason;
  a.import_kind = record.import_kind;
  a.device = record.device;
  a.thread = events_.thread(record.birth.value);
  a.birth = record.birth;
  a.death = record.death;
  a.birth_time = events_.time(record.birth.value);
  if (record.death.valid()) a.death_time = events_.time(record.death.value);
  a.birth_step = StepOf(record.birth);
  a.death_step = StepOf(record.death);
  a.address = record.address;
  a.bytes = a.requested = record.bytes;
  const bool said = record.layer == Layer::kBlock && record.second != 0;
  if (said || record.layer == Layer::kModule) a.requested = record.second;
  a.stream = events_.stream(record.birth.value);
  if (record.layer == Layer::kStreamOrdered || record.layer == Layer::kSegment)
    a.pool = record.second;
  a.stack = record.stack;
  a.api = events_.api(record.birth.value);
  a.parent = record.parent;
  if (record.layer == Layer::kTensor)
    a.tensor = TensorId(static_cast<std::uint32_t>(record.second));
  return a;
}

std::size_t Session::memory_bytes() const {
  std::size_t bytes = events_.memory_bytes();
  const auto add = [&bytes](const auto& column) { bytes += column.capacity() * sizeof(column[0]); };
  add(children_);
  add(children_begin_);
  add(other_deaths_);
  add(marks_);
  add(live_until_);
  add(live_layer_);
  for (const Checkpoint& checkpoint : checkpoints_) add(checkpoint.live);
  return bytes;
}

std::span<const AllocationId> Session::Children(AllocationId id) const {
  if (id.value >= records().size() || children_begin_.empty()) return {};
  const std::uint32_t begin = children_begin_[id.value], end = children_begin_[id.value + 1];
  return std::span(children_).subspan(begin, end - begin);
}

std::span<const EventId> Session::Marks(AllocationId id) const {
  const auto of = [this](EventId event) { return events_.allocation(event.value); };
  const auto begin = std::lower_bound(marks_.begin(), marks_.end(), id,
                                      [&](EventId mark, AllocationId i) { return of(mark) < i; });
  const auto end = std::upper_bound(begin, marks_.end(), id,
                                    [&](AllocationId i, EventId mark) { return i < of(mark); });
  return {begin, end};
}

}  // namespace memprof::analysis
