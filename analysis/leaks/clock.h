// The clock that growth is judged by: training steps or, where there are none, windows of equal
// activity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Steps as dense indices 0, 1, …: marks with the same number in a row, as several threads give
// them, are one step.
class StepClock {
 public:
  explicit StepClock(const Session& session);
  // Those of one process: a row of session.processes().
  StepClock(const Session& session, std::uint32_t process);

  // Windows in each of which equally much was freed, launched and copied before the last
  // allocation. What a program makes once and keeps takes no time by this clock, and neither does
  // what it leaks; each turn of a loop, or request, takes about the same. A program that never
  // frees anything is measured by its allocations.
  static StepClock OfActivity(const Session& session, std::uint32_t process);

  // The step in which `event` lies; -1 before the first mark.
  std::int64_t IndexAt(EventId event) const;
  // The mark that began step `index`.
  EventId BeginOf(std::int64_t index) const { return begins_[index]; }
  // -1 of windows, which have no numbers.
  std::int64_t NumberOf(std::int64_t index) const { return index < 0 ? -1 : numbers_[index]; }
  // Steps that were followed by another: the last one ends with the log, and with whatever the
  // program does on its way out.
  std::int64_t completed() const {
    return begins_.empty() ? 0 : static_cast<std::int64_t>(begins_.size()) - 1;
  }
  // The event at which the last completed step ended: survivors are judged right before it.
  EventId judged_at() const { return begins_.empty() ? EventId() : begins_.back(); }

  bool of_steps() const { return of_steps_; }
  // Of windows: nothing but allocations was there to measure time by.
  bool births_only() const { return births_only_; }

 private:
  StepClock() = default;
  explicit StepClock(std::span<const StepInfo> steps);

  std::vector<EventId> begins_;
  std::vector<std::int64_t> numbers_;
  bool of_steps_ = true, births_only_ = false;
};

// Steps if the process has any, else windows.
StepClock ClockForLeaks(const Session& session, std::uint32_t process);
// Of each process.
std::vector<StepClock> ClocksForLeaks(const Session& session);

// Alive when its process ended, as far as the log knows: if a later run is in the session, that is
// where the lifetime ends.
bool AliveAtExit(const Session& session, const AllocationRecord& a);
// Alive right before the event at which survivors are judged.
bool AliveWhenJudged(const StepClock& clock, const AllocationRecord& a);

}  // namespace memprof::analysis
