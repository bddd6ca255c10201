// Cuts the log into steps or windows.
#include "analysis/leaks/clock.h"

#include <algorithm>

namespace memprof::analysis {
namespace {

// A recording always on writes what lives on once it is four units old, of a second where no steps
// are marked (the thinner's kHorizonUnits): at the end of a log, younger blocks are missing.
constexpr TimeNs kUndecidedNs = 4'000'000'000;
// Few enough windows that each has some iterations of a loop, and enough for a trend.
constexpr std::size_t kMaxWindows = 120, kMinWindows = 20;

bool OwnsMemory(Layer layer) {
  return layer == Layer::kBlock || OccupiesDevice(layer) || OccupiesHost(layer);
}

bool IsBirth(const EventTable& events, std::uint32_t i) {
  return events.op(i) == Op::kAlloc && OwnsMemory(events.layer(i));
}

// Whether the program does this in each iteration, other than allocating.
bool IsActivity(const EventTable& events, std::uint32_t i) {
  const Op op = events.op(i);
  if (op == Op::kFree) return OwnsMemory(events.layer(i));
  return op == Op::kTouch || op == Op::kMemcpy || op == Op::kMemset;
}

// The first event of the process that is no memory from before: that has no birth, and is no
// evidence of growth.
std::uint32_t FirstOf(const Session& session, std::uint32_t process) {
  const EventTable& events = session.events();
  const ProcessInfo& info = session.processes()[process];
  std::uint32_t i = 0;
  if (info.run.before_attach == 0) return i;
  while (i < events.size() && (session.ProcessOf(EventId(i)) != process ||
                               events.time(i) <= info.run.before_attach + info.clock_shift_ns))
    ++i;
  return i;
}

}  // namespace

StepClock::StepClock(const Session& session) : StepClock(session.steps()) {}

StepClock::StepClock(const Session& session, std::uint32_t process)
    : StepClock(session.StepsOf(process)) {}

StepClock::StepClock(std::span<const StepInfo> steps) {
  for (const StepInfo& step : steps) {
    if (!step.event.valid()) continue;
    if (!numbers_.empty() && numbers_.back() == step.number) continue;
    begins_.push_back(step.event);
    numbers_.push_back(step.number);
  }
  cuts_ = EventCuts(begins_);
}

StepClock StepClock::OfTime(const Session& session, std::uint32_t process) {
  StepClock clock;
  clock.of_steps_ = false;
  clock.by_clock_ = true;
  const EventTable& events = session.events();
  std::vector<std::uint32_t> births;
  EventId first;
  TimeNs end = 0;
  for (std::uint32_t i = FirstOf(session, process); i < events.size(); ++i) {
    if (session.ProcessOf(EventId(i)) != process) continue;
    if (!first.valid()) first = EventId(i);
    end = events.time(i);
    if (IsBirth(events, i)) births.push_back(i);
  }
  const auto decided = static_cast<std::size_t>(
      std::partition_point(births.begin(), births.end(),
                           [&](std::uint32_t i) { return events.time(i) + kUndecidedNs <= end; }) -
      births.begin());
  if (decided >= kMinWindows) births.resize(decided);
  if (births.size() < kMinWindows) return clock;
  const EventId last_birth(births.back());
  const TimeNs begin = events.time(first.value);
  const double time = static_cast<double>(events.time(last_birth.value) - begin);
  const std::size_t windows = std::clamp(births.size() / 4, kMinWindows, kMaxWindows);
  for (std::uint32_t i = first.value; i <= last_birth.value; ++i)
    while (clock.begins_.size() < windows &&
           static_cast<double>(events.time(i) - begin) * static_cast<double>(windows) >=
               time * static_cast<double>(clock.begins_.size()))
      clock.begins_.push_back(EventId(i));
  clock.begins_.push_back(EventId(last_birth.value + 1));
  clock.numbers_.assign(clock.begins_.size(), -1);
  clock.cuts_ = EventCuts(clock.begins_);
  return clock;
}

StepClock StepClock::OfActivity(const Session& session, std::uint32_t process) {
  const bool several = session.processes().size() > 1;
  const auto others = [&](std::uint32_t i) {
    return several && session.ProcessOf(EventId(i)) != process;
  };
  StepClock clock;
  clock.of_steps_ = false;
  const EventTable& events = session.events();
  std::size_t births = 0, seen = 0, ticks = 0;  // ticks: activity before the last birth
  EventId last_birth;
  const std::uint32_t first = FirstOf(session, process);
  for (std::uint32_t i = first; i < events.size(); ++i) {
    if (others(i)) continue;
    if (IsBirth(events, i)) {
      ++births;
      last_birth = EventId(i);
      ticks = seen;
    } else {
      seen += IsActivity(events, i);
    }
  }
  clock.births_only_ = ticks < kMinWindows;
  const std::size_t measure = clock.births_only_ ? births : ticks;
  // If nothing is ever freed, set-up looks like a loop: then windows of single allocations are no
  // evidence.
  if (measure < kMinWindows * (clock.births_only_ ? 4 : 1)) return clock;
  const std::size_t windows = std::clamp(measure / 4, kMinWindows, kMaxWindows);
  clock.begins_.push_back(EventId(first));
  std::size_t at = 0;
  for (std::uint32_t i = first; clock.begins_.size() < windows && i < events.size(); ++i) {
    if (clock.births_only_ ? !IsBirth(events, i) : !IsActivity(events, i)) continue;
    if (others(i)) continue;
    if (at++ == clock.begins_.size() * measure / windows) clock.begins_.push_back(EventId(i));
  }
  clock.begins_.push_back(EventId(last_birth.value + 1));
  clock.numbers_.assign(clock.begins_.size(), -1);
  clock.cuts_ = EventCuts(clock.begins_);
  return clock;
}

StepClock ClockForLeaks(const Session& session, std::uint32_t process) {
  StepClock steps(session, process);
  if (steps.judged_at().valid()) return steps;
  return session.events().Has(Op::kThinned) ? StepClock::OfTime(session, process)
                                            : StepClock::OfActivity(session, process);
}

std::vector<StepClock> ClocksForLeaks(const Session& session) {
  std::vector<StepClock> clocks;
  for (std::uint32_t i = 0; i < session.processes().size(); ++i)
    clocks.push_back(ClockForLeaks(session, i));
  return clocks;
}

std::int64_t StepClock::IndexAt(EventId event) const {
  return static_cast<std::int64_t>(cuts_.UpTo(event)) - 1;
}

bool AliveAtExit(const Session& session, const AllocationRecord& a) {
  return a.alive() || (session.processes().size() > 1 && a.death.valid() &&
                       session.ProcessOf(a.death) != session.ProcessOf(a.birth));
}

bool AliveWhenJudged(const StepClock& clock, const AllocationRecord& a) {
  const EventId judged = clock.judged_at();
  if (!judged.valid()) return a.alive();
  if (!a.birth.valid() || a.birth >= judged) return false;
  return a.alive() || (a.death.valid() && a.death >= judged);
}

}  // namespace memprof::analysis
