// Findings while they are collected: shared by the finders of patterns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "analysis/advice/advice.h"
#include "analysis/leaks/sites.h"
#include "analysis/peak/change.h"
#include "analysis/store/session.h"
#include "analysis/timeline/accesses.h"

namespace memprof::analysis::advice {

// One finding, and what its sentences need.
struct Draft {
  Finding finding;
  std::vector<LevelChange> changes;  // of the level that the site's allocations belong to
  std::uint64_t launches = 0;        // in the gaps, summed
  std::uint64_t reserved = 0;        // bytes of the allocator at its peak
  int torch_release = 0;             // as TorchReleaseNumber() has it
  TimeNs gap = 0;                    // time of the gaps, summed
  std::uint64_t unknown = 0;  // cases in which launches without known pointers lie in the gap
  std::uint64_t other = 0;    // by pattern: see words.cc
  std::uint64_t idle_streams = 0, idle_bytes = 0;  // of segments at the peak, without any block
  std::optional<std::int64_t> tried;  // bytes that a replay of the change saves at the peak
  std::vector<std::pair<std::uint64_t, AdviceExample>> examples;  // with their weight
};

// Of a reserve: whether most of it belongs to streams that have no block.
inline bool OfIdleStreams(const Draft& draft) {
  return draft.idle_bytes * 2 >= draft.finding.bytes;
}

// How often something happens in the training loop, which begins with the second step.
class LoopCount {
 public:
  // Whether `event` is in the loop; everything before the second step is set-up.
  static bool InLoop(const StepClock& clock, EventId event);
  void Add(const StepClock& clock, EventId event);
  // Whether it happens in at least half of the completed steps but the first, and in two; without
  // steps: ten times.
  bool Loops(const StepClock& clock) const;

 private:
  std::uint64_t times_ = 0;
  std::int64_t steps_ = 0, last_step_ = -1;
};

// A draft has the confidence of its weakest case.
inline void Weaken(Draft& draft, Confidence confidence) {
  draft.finding.confidence = std::max(draft.finding.confidence, confidence);
}

// The input of the finders, and the findings so far.
class Drafts {
 public:
  Drafts(const Session& session, const AdviceOptions& options);

  const Session& session() const { return session_; }
  const AdviceOptions& options() const { return options_; }
  const EventTable& events() const { return session_.events(); }
  const PeakLevels& levels() const { return levels_; }
  const Accesses& accesses() const { return accesses_; }
  const StepClock& clock() const { return clock_; }
  // By allocation: whether its lifetime is judged (SelectJudged).
  const std::vector<bool>& judged() const { return judged_; }

  // The draft of a pattern at the site of `a`.
  Draft& At(Pattern pattern, const AllocationRecord& a) {
    return At(pattern, a.device, a.layer, a.stack);
  }
  Draft& At(Pattern pattern, int device, Layer layer, StackId stack);
  bool Has(Pattern pattern, const AllocationRecord& a) const {
    return drafts_.contains({pattern, a.device, a.layer, SiteOf(a.stack)});
  }
  // Whether a case of so many bytes would be an example, which needs words.
  bool IsExample(const Draft& draft, std::uint64_t bytes) const;
  // Adds a case of `bytes`; the cases with most bytes become examples.
  void Count(Draft& draft, std::uint64_t bytes, AdviceExample example);
  // The number of the call site of a stack.
  std::uint32_t SiteOf(StackId stack) const {
    return options_.site_of ? options_.site_of(stack) : stack.value;
  }

  // Whether the log can show the uses of this device memory, which is judged on its own.
  bool UsesCanBeSeen(AllocationId id) const;

  std::map<std::tuple<Pattern, int, Layer, std::uint32_t>, Draft>& all() { return drafts_; }
  std::vector<AdviceCombination>& combinations() { return combinations_; }

  TimeNs TimeOf(EventId event) const {  // the log's end for none
    return event.valid() && event.value < events().size() ? events().time(event.value)
                                                          : events().last_time();
  }
  // Nanoseconds from one event to another.
  TimeNs Between(EventId begin, EventId end) const {
    const TimeNs a = TimeOf(begin), b = TimeOf(end);
    return b > a ? b - a : 0;
  }
  // Births and deaths on the level of `a`, strictly between two events.
  std::uint64_t BirthsBetween(const AllocationRecord& a, EventId after, EventId before) const;
  std::uint64_t DeathsBetween(const AllocationRecord& a, EventId after, EventId before) const;

 private:
  using EventsByLayer = std::map<std::pair<int, PeakLayer>, std::vector<std::uint32_t>>;
  static std::uint64_t Between(const EventsByLayer& lists, const AllocationRecord& a, EventId after,
                               EventId before);

  const Session& session_;
  const AdviceOptions& options_;
  const PeakLevels levels_;
  const Accesses accesses_;
  const StepClock clock_;
  const std::vector<bool> judged_;
  EventsByLayer births_, deaths_;  // events
  std::map<std::tuple<Pattern, int, Layer, std::uint32_t>, Draft> drafts_;
  std::vector<AdviceCombination> combinations_;
  // The draft that was asked for last: sites follow each other.
  std::tuple<Pattern, int, Layer, StackId> last_key_;
  Draft* last_ = nullptr;
};

// The finders. Each skips patterns for which the log has no evidence.
void FindUnused(Drafts& drafts);
void FindGaps(Drafts& drafts);  // early allocation, late release, idleness
void FindReusable(Drafts& drafts);
void FindLeakSavings(Drafts& drafts);
void FindRounding(Drafts& drafts);
void FindOverReservation(Drafts& drafts);
void FindDeadWrites(Drafts& drafts);
void FindNeedlessCopies(Drafts& drafts);  // duplicates, round trips, repeated uploads
void FindPageableCopies(Drafts& drafts);
void FindPinnedMisuse(Drafts& drafts);  // unused, huge
void FindManagedFaults(Drafts& drafts);
void FindChurn(Drafts& drafts);  // of the driver, of a framework's segments
void FindRetries(Drafts& drafts);
void FindIdleSettings(Drafts& drafts);  // of PyTorch's allocator
void FindPinnedRounding(Drafts& drafts);
void FindWaiting(Drafts& drafts);
void FindHeldOver(Drafts& drafts);
void FindRemedies(Drafts& drafts);  // of the peak

// Fills in the sentences.
void Explain(const Session& session, const Draft& draft, Finding* finding);
// The evidence that `pattern` needs and the log lacks; empty if none.
std::string MissingFor(const Session& session, Pattern pattern, const AccessEvidence& evidence);

}  // namespace memprof::analysis::advice
