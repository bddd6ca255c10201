// Leaks: sites whose allocations of many steps survive, with the evidence; and memory that is
// merely alive at the end. The rule is "generation evidence with a guard": see docs/leaks.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/leaks/exports.h"
#include "analysis/leaks/holder_tree.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

enum class LeakTier { kDefinite, kSuspected, kGrowing, kLiveAtExit };
std::string_view LeakTierName(LeakTier tier);  // "definite", "suspected", "growing", "live_at_exit"

// What a leak was judged by: steps, windows of the run's activity if it has none, or a scan of host
// memory.
enum class LeakBasis { kSteps, kTime, kScan };
std::string_view LeakBasisName(LeakBasis basis);  // "steps", "time", "scan"

// Survivors born in one step.
struct BirthStep {
  std::int64_t step = 0;
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
};

struct Leak {
  LeakTier tier = LeakTier::kLiveAtExit;
  LeakBasis basis = LeakBasis::kSteps;
  double score = 0;           // 0 … 100
  std::uint32_t process = 0;  // a row of Session::processes()
  int device = kNoDevice;
  Layer layer = Layer::kUnspecified;
  StackId stack;
  std::uint64_t bytes = 0;  // surviving at the end, old and young
  std::uint64_t blocks = 0;
  double bytes_per_step = 0;         // of old survivors; 0 if unknown, and by time
  double bytes_per_second = 0;       // likewise, by time only
  std::int64_t first_step = -1;      // birth step of the oldest survivor that is evidence
  double steps_to_oom = -1;          // at the sum of slopes of its device; -1 = unknown
  std::vector<BirthStep> survivors;  // by birth step, ascending
  std::int64_t guard_steps = 0;      // younger blocks are not evidence
  // > 0: its blocks live too long to judge it in this run; a run of so many steps suffices.
  std::int64_t steps_needed = 0;
  bool in_use = false;                          // survivors were used in the last steps
  std::string why;                              // evidence, in words with figures
  std::string disproof;                         // what would disprove it
  AllocationId example;                         // oldest survivor
  std::vector<AllocationId> memory;             // all survivors, of all its sites
  std::vector<Holder> holders;                  // of the survivors; empty if nobody looked
  HolderTree held_by;                           // the same
  std::optional<WithoutHolder> without_holder;  // of the survivors; nothing if nobody looked
  Exported exported;                            // of the survivors

  // A handle of memory that another process or library owns: its bytes are in no total.
  bool imported() const { return layer == Layer::kImported; }
};

struct LeakReport {
  std::vector<Leak> leaks;  // definite, suspected, growing; worst first
  // Everything else still alive, largest first; also imported memory that was never closed.
  std::vector<Leak> live_at_exit;
  // Borderline sites, best score first: no leak by the rule, but not level either; then sites for
  // which the run is too short. Their tier is kLiveAtExit; they are also in live_at_exit if they
  // are alive then.
  std::vector<Leak> rising;
  LeakBasis basis = LeakBasis::kSteps;  // of growth
  bool horizon_too_short = false;       // too few steps to judge; `verdict` names the number needed
  std::int64_t steps = 0;
  std::int64_t warmup_steps = 0;
  std::string verdict;  // one sentence for people
  // Leaks that the caller excluded; in none of the above.
  std::vector<Leak> suppressed;
};

struct LeakOptions {
  // The layer judged: blocks where a framework's allocator was seen, else driver allocations; a
  // raw driver allocation that is no segment is always judged on its own.
  bool judge_tensors_as_names = true;  // attach tensor names to block evidence
  // Called for each leak; may be empty.
  std::function<bool(const Leak&)> suppress;
};

// Adds a survivor born in `step`; call in order of birth.
void AddSurvivor(std::int64_t step, std::uint64_t bytes, Leak* leak);

LeakReport FindLeaks(const Session& session, const LeakOptions& options = {});
// With the usual options; computed once a session.
std::shared_ptr<const LeakReport> LeaksOf(const Session& session);

}  // namespace memprof::analysis
