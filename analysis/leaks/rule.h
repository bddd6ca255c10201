// The arithmetic of the leak rule, independent of sessions: the verdict on one site's survivors.
// docs/leaks.md explains the method and its constants.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace memprof::analysis {

// The history of a site, in completed steps 0 … steps-1.
struct SiteHistory {
  std::int64_t steps = 0;                  // completed steps in the run
  std::int64_t longest_lifetime = 0;       // of blocks that were freed, in steps
  std::vector<std::int64_t> birth_steps;   // distinct birth steps of survivors, ascending
  std::vector<std::uint64_t> birth_bytes;  // survivors of each of these
  std::vector<std::uint64_t> lows;         // least bytes held in each step
  // Two survivors of different steps have the same size. A cache keyed by size has each size once.
  bool sizes_return = false;
  // Of bytes that stay, whichever blocks hold them: rises count by their size. An allocator that
  // rounds turns many small ones into few large ones.
  bool by_bytes = false;
};

enum class SiteVerdict {
  kLeak,      // score >= kSuspicion
  kTooShort,  // survivors of several steps, and the run is too short for this site's guard
  kNoLeak,
};

struct SiteJudgement {
  SiteVerdict verdict = SiteVerdict::kNoLeak;
  double score = 0;
  std::int64_t guard = 0;                         // blocks younger than this are not evidence
  std::int64_t window_begin = 0, window_end = 0;  // [begin, end): births that count
  std::int64_t old_births = 0;                    // distinct birth steps of evidence
  std::int64_t first_step = -1;                   // the first of them
  double steadiness = 0;                          // p-value; small = births are dying out
  double slope = 0;                               // bytes per step of old survivors
  std::int64_t steps_needed = 0;                  // for kTooShort: run at least so many
};

inline constexpr double kSuspicion = 50;
inline constexpr std::int64_t kMinOldBirths = 3;

// max(3, a tenth of the steps): births in these steps are set-up.
std::int64_t WarmupSteps(std::int64_t steps);
// max(5, 15 % of the steps): the least number of steps of evidence for a verdict.
std::int64_t MinWindow(std::int64_t steps);
// The smallest number of steps at which a site with this guard can be judged.
std::int64_t StepsNeeded(std::int64_t guard);
// The births in the window from which on a leak at a steady rate is nearly always told
// (docs/leaks.md).
inline constexpr std::int64_t kTellingBirths = 14;
// The steps of a run with so many births, at the rate of these; with at least one birth.
std::int64_t StepsToTell(const SiteJudgement& judgement);
// max(2, 2 * longest + 1).
std::int64_t GuardSteps(std::int64_t longest_lifetime);

SiteJudgement JudgeSite(const SiteHistory& history);

// Laplace's test: the probability that births at a steady rate in [begin, end) come as early as
// these, or earlier. Small = births are dying out. 1 without births. `weights`: of the births;
// empty = all the same.
double SteadyChance(std::span<const std::int64_t> births, std::span<const double> weights,
                    std::int64_t begin, std::int64_t end);
// The bytes that `lows` has at the end, by the step since which that much was held: each rise is
// pushed on a stack, each fall takes from its top. The longest time that bytes lay on the stack
// before they were taken is the longest lifetime.
SiteHistory StackedGrowth(std::span<const std::uint64_t> lows);
// E(k) = min over j >= k of values[j]: the bytes that were never freed again.
std::vector<std::uint64_t> SuffixMinimum(std::span<const std::uint64_t> values);
// Bytes per step of survivors born in [begin, end): all but the first generation, over the steps
// from the first to the last. 0 for fewer than two generations.
double ProfileSlope(const SiteHistory& history, std::int64_t begin, std::int64_t end);

}  // namespace memprof::analysis
