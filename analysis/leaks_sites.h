// Sites and their survivors by birth step: what the leak rule is fed with. Internal to analysis/.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/leaks_rule.h"
#include "analysis/session.h"

namespace memprof::analysis {

// Steps as dense indices 0, 1, …: marks with the same number in a row, as several threads give
// them, are one step.
class StepClock {
 public:
  explicit StepClock(const Session& session);
  // The step in which `event` lies; -1 before the first mark.
  std::int64_t IndexAt(EventId event) const;
  // The mark that began step `index`.
  EventId BeginOf(std::int64_t index) const { return begins_[index]; }
  std::int64_t NumberOf(std::int64_t index) const { return index < 0 ? -1 : numbers_[index]; }
  // Steps that were followed by another: the last one ends with the log, and with whatever the
  // program does on its way out.
  std::int64_t completed() const {
    return begins_.empty() ? 0 : static_cast<std::int64_t>(begins_.size()) - 1;
  }
  // The event at which the last completed step ended: survivors are judged right before it.
  EventId judged_at() const { return begins_.empty() ? EventId() : begins_.back(); }

 private:
  std::vector<EventId> begins_;
  std::vector<std::int64_t> numbers_;
};

// One stack × layer × device (× size where there is no stack).
struct LeakSite {
  int device = kNoDevice;
  Layer layer = Layer::kUnspecified;
  StackId stack;
  std::vector<AllocationId> judged_alive;  // when the last completed step ended, in order of birth
  std::vector<AllocationId> alive_at_end;  // of the log
  std::vector<AllocationId> members;       // every allocation of the site
  std::int64_t longest_lifetime = 0;
};

// Which allocations are judged: blocks on devices where a framework's allocator was seen, and
// driver memory that no allocator carves; page-locked host memory; imported memory, which is only
// ever reported as open. Index = AllocationId.
std::vector<bool> SelectJudged(const Session& session);

std::vector<LeakSite> GroupLeakSites(const Session& session, const StepClock& clock);

// The rule's input for `site`.
SiteHistory HistoryOf(const Session& session, const StepClock& clock, const LeakSite& site);

// Alive right before the event at which survivors are judged.
bool AliveWhenJudged(const StepClock& clock, const AllocationRecord& a);

}  // namespace memprof::analysis
