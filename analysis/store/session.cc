// Look-ups in a loaded session: strings, stacks, steps, live sets, children.
#include "analysis/store/session.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/store/internal/session_index.h"

namespace memprof::analysis {
namespace {

std::int64_t NumberAt(std::span<const StepInfo> steps, TimeNs time) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](TimeNs t, const StepInfo& step) { return t < step.begin; });
  return after == steps.begin() ? -1 : (after - 1)->number;
}

}  // namespace

Session::Session(SessionData data) : data_(std::move(data)) { IndexSession(&data_); }

void Session::SetSteps(FoundSteps steps) {
  data_.steps = std::move(steps.steps);
  data_.step_origin = std::move(steps.origin);
  facts_->Clear();
}

std::string_view Session::string(StringId id) const {
  return id.value < data_.strings.size() ? std::string_view(data_.strings[id.value])
                                         : std::string_view();
}

const TensorInfo* Session::tensor(TensorId id) const {
  return id.value < data_.tensors.size() ? &data_.tensors[id.value] : nullptr;
}

std::vector<FrameId> Session::StackFrames(StackId id) const {
  std::vector<FrameId> frames;
  for (; id.value < data_.stack_frame.size(); id = data_.stack_parent[id.value])
    frames.push_back(data_.stack_frame[id.value]);
  return frames;
}

StackId Session::StackParent(StackId id) const {
  return id.value < data_.stack_parent.size() ? data_.stack_parent[id.value] : StackId();
}

FrameId Session::StackFrame(StackId id) const {
  return id.value < data_.stack_frame.size() ? data_.stack_frame[id.value] : FrameId();
}

bool Session::EndsWithFailure() const {
  std::set<std::uint32_t> went_on;
  for (std::size_t i = data_.events.size(); i-- > 0;) {
    const std::uint32_t process = ProcessOf(EventId(static_cast<std::uint32_t>(i)));
    const Op op = data_.events.op(i);
    if ((op == Op::kAllocFailed || op == Op::kFrameworkOom) && !went_on.contains(process))
      return true;
    if (op == Op::kAlloc || op == Op::kStep || op == Op::kThinned) {
      went_on.insert(process);
      if (went_on.size() == data_.processes.size()) return false;
    }
  }
  return false;
}

bool Session::WasThereBefore(EventId birth) const {
  const ProcessInfo& process = data_.processes[ProcessOf(birth)];
  return process.run.before_attach != 0 &&
         data_.events.time(birth.value) == process.run.before_attach + process.clock_shift_ns;
}

bool Session::IsListedAgain(EventId birth) const {
  return data_.processes[ProcessOf(birth)].run.always_on.segment > 1 && WasThereBefore(birth);
}

std::int64_t Session::StepAt(TimeNs time) const { return NumberAt(data_.steps, time); }

std::int64_t Session::StepAt(TimeNs time, std::uint32_t process) const {
  return NumberAt(StepsOf(process), time);
}

std::int64_t Session::StepOf(EventId event) const {
  if (!event.valid()) return -1;
  const std::span<const StepInfo> steps =
      data_.process_steps.empty() ? data_.steps : StepsOf(ProcessOf(event));
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), event,
                       [](EventId e, const StepInfo& step) { return e < step.event; });
  return after == steps.begin() ? -1 : (after - 1)->number;
}

EventId Session::EventAt(TimeNs time) const {
  std::uint32_t begin = 0,
                end = static_cast<std::uint32_t>(data_.events.size());  // first after `time`
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (data_.events.time(middle) <= time)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin == 0 ? EventId() : EventId(begin - 1);
}

Allocation Session::allocation(AllocationId id) const {
  const AllocationRecord& record = data_.events.records()[id.value];
  Allocation a;
  a.layer = record.layer;
  a.end_reason = record.end_reason;
  a.import_kind = record.import_kind;
  a.device = record.device;
  a.thread = data_.events.thread(record.birth.value);
  a.birth = record.birth;
  a.death = record.death;
  a.birth_time = data_.events.time(record.birth.value);
  if (record.death.valid()) a.death_time = data_.events.time(record.death.value);
  a.birth_step = StepOf(record.birth);
  a.death_step = StepOf(record.death);
  a.address = record.address;
  a.bytes = record.bytes;
  a.requested = record.requested_or_image();
  a.stream = data_.events.stream(record.birth.value);
  a.pool = record.pool();
  a.stack = record.stack;
  a.api = data_.events.api(record.birth.value);
  a.parent = record.parent;
  a.tensor = record.tensor();
  return a;
}

std::size_t Session::memory_bytes() const {
  std::size_t bytes = data_.events.memory_bytes();
  const auto add = [&bytes](const auto& column) { bytes += column.capacity() * sizeof(column[0]); };
  add(data_.children);
  add(data_.children_begin);
  add(data_.other_deaths);
  add(data_.marks);
  add(data_.live_until);
  add(data_.live_layer);
  for (const LiveCheckpoint& checkpoint : data_.checkpoints) add(checkpoint.live);
  return bytes;
}

std::span<const AllocationId> Session::Children(AllocationId id) const {
  if (id.value >= records().size() || data_.children_begin.empty()) return {};
  const std::uint32_t begin = data_.children_begin[id.value],
                      end = data_.children_begin[id.value + 1];
  return std::span(data_.children).subspan(begin, end - begin);
}

bool Session::IsSuballocated(AllocationId id) const {
  const std::span<const AllocationId> children = Children(id);
  return std::any_of(children.begin(), children.end(), [this](AllocationId child) {
    const Layer layer = record(child).layer;
    return layer == Layer::kSegment || layer == Layer::kBlock;
  });
}

std::span<const EventId> Session::Marks(AllocationId id) const {
  const auto of = [this](EventId event) { return data_.events.allocation(event.value); };
  const auto begin = std::lower_bound(data_.marks.begin(), data_.marks.end(), id,
                                      [&](EventId mark, AllocationId i) { return of(mark) < i; });
  const auto end = std::upper_bound(begin, data_.marks.end(), id,
                                    [&](AllocationId i, EventId mark) { return i < of(mark); });
  return {begin, end};
}

}  // namespace memprof::analysis
