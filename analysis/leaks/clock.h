// The time scale by which growth is judged: training steps or, if there are none, windows of equal
// activity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/store/event_cuts.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Steps as dense indices 0, 1, …. Consecutive marks with the same number, as from several threads,
// are one step.
class StepClock {
 public:
  explicit StepClock(const Session& session);
  // Those of one process: a row of session.processes().
  StepClock(const Session& session, std::uint32_t process);

  // Windows with the same number of frees, launches, copies and memsets each, counted up to the
  // last allocation. Memory that a program allocates once and keeps takes no time on this scale,
  // and neither does memory that it leaks; each iteration of a loop, or request, takes about the
  // same. A program that does hardly any of these is measured by its allocations.
  static StepClock OfActivity(const Session& session, std::uint32_t process);

  // Windows of equal time up to the last allocation: for logs that are always on, which leave most
  // activity out.
  static StepClock OfTime(const Session& session, std::uint32_t process);

  // The step in which `event` lies; -1 before the first mark.
  std::int64_t IndexAt(EventId event) const;
  // The mark that began step `index`.
  EventId BeginOf(std::int64_t index) const { return begins_[index]; }
  // -1 for windows, which have no numbers.
  std::int64_t NumberOf(std::int64_t index) const { return index < 0 ? -1 : numbers_[index]; }
  // Steps that were followed by another one: the last step ends with the log, and includes whatever
  // the program does at its exit.
  std::int64_t completed() const {
    return begins_.empty() ? 0 : static_cast<std::int64_t>(begins_.size()) - 1;
  }
  // The event at which the last completed step ended: survivors are judged right before it.
  EventId judged_at() const { return begins_.empty() ? EventId() : begins_.back(); }

  bool of_steps() const { return of_steps_; }
  // For windows: time was measured by allocations only.
  bool births_only() const { return births_only_; }
  // For windows: they are of equal time.
  bool by_clock() const { return by_clock_; }

 private:
  StepClock() = default;
  explicit StepClock(std::span<const StepInfo> steps);

  std::vector<EventId> begins_;
  EventCuts cuts_;  // the same
  std::vector<std::int64_t> numbers_;
  bool of_steps_ = true, births_only_ = false, by_clock_ = false;
};

// Steps if the process has any, else windows.
StepClock ClockForLeaks(const Session& session, std::uint32_t process);
// Of each process.
std::vector<StepClock> ClocksForLeaks(const Session& session);

// Whether it was alive when its process ended, as far as the log shows: if the session has a later
// run, the lifetime ends there.
bool AliveAtExit(const Session& session, const AllocationRecord& a);
// Whether it was alive right before the event at which survivors are judged.
bool AliveWhenJudged(const StepClock& clock, const AllocationRecord& a);

}  // namespace memprof::analysis
