// The text of verdicts.
#include "analysis/leaks/internal/verdict.h"

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"
#include "analysis/leaks/forecast.h"
#include "analysis/leaks/internal/words.h"

namespace memprof::analysis {

std::string DefiniteWords(const LeakReport& report) {
  std::uint64_t sites = 0;
  for (const Leak& leak : report.leaks) sites += leak.tier == LeakTier::kDefinite;
  if (sites == 0) return "";
  return absl::StrCat(FormatNumberOf(sites, "site"), sites == 1 ? " has" : " have",
                      " lost all pointers to memory: definite leaks.");
}

std::string GrowthWords(const LeakReport& report, const std::string& total) {
  double slope = 0;
  std::size_t growing = 0;
  bool lost = false;  // what grows has lost its pointers
  for (const Leak& leak : report.leaks) {
    slope += leak.bytes_per_step;
    growing += leak.basis == report.basis;
    lost |=
        leak.basis == LeakBasis::kScan && (leak.bytes_per_step > 0 || leak.bytes_per_second > 0);
  }
  const bool steps = report.basis == LeakBasis::kSteps;
  const std::string judged =
      steps ? absl::StrCat("over ", FormatNumberOf(report.steps, "completed step"))
            : "by time, as no steps are known";
  if (growing > 0)
    return absl::StrCat(
        FormatNumberOf(growing, "site"), growing == 1 ? " keeps" : " keep", " growing, ",
        steps ? absl::StrCat("by ", FormatBytes(slope), " per step in total, ") : "", "judged ",
        judged, ".");
  if (!total.empty()) return total;
  const auto decided = static_cast<std::size_t>(
      std::count_if(report.rising.begin(), report.rising.end(),
                    [](const Leak& leak) { return leak.steps_needed == 0; }));
  if (!report.rising.empty())
    return absl::StrCat(
        "No site is sure to leak, judged ", judged,
        decided == 0 ? std::string()
                     : absl::StrCat("; ", FormatNumberOf(decided, "site"),
                                    decided == 1 ? " rises" : " rise", ", with a score of ",
                                    std::lround(report.rising.front().score), " of 100 at most"),
        ".");
  return absl::StrCat(lost ? "No other growth" : "No growth", steps ? " " : ", judged ", judged,
                      ".");
}

static std::string NothingToJudgeBy(const RunInfo& run) {
  if (run.imported())
    return "The recorded history is too short to tell what grows: record more of it (of PyTorch, a "
           "larger max_entries of "
           "torch.cuda.memory._record_memory_history, and earlier).";
  return "No training steps were marked, and too little is freed to judge growth by time: call "
         "memprof_step(n), or "
         "memprof.step() in Python, at the start of each step.";
}

std::string Verdict(const LeakReport& report, const RunInfo& run, const StepClock& clock,
                    const JudgedSites& judged, const std::string& total) {
  const bool only_allocates = clock.births_only() && report.leaks.empty();
  if (clock.completed() == 0 || only_allocates) return NothingToJudgeBy(run);
  if (report.horizon_too_short && judged.undecided == 0) {
    return absl::StrCat("Too short to tell: ", FormatNumberOf(report.steps, "completed step"),
                        " in the log, and at least ", judged.steps_needed,
                        " are needed to distinguish a leak from a warm-up.");
  }
  std::string verdict = GrowthWords(report, total);
  if (judged.inputs_get_longer)
    absl::StrAppend(&verdict, " Inputs get longer: what the ",
                    clock.of_steps() ? "steps" : "windows", " allocate and free becomes larger.");
  if (const std::size_t suppressed = report.suppressed.size(); suppressed > 0)
    absl::StrAppend(&verdict, " ", FormatNumberOf(suppressed, "leak"),
                    suppressed == 1 ? " is" : " are", " suppressed.");
  if (judged.undecided > 0) {
    absl::StrAppend(&verdict, " ", FormatNumberOf(judged.undecided, "more site"),
                    judged.undecided == 1 ? " holds" : " hold", " memory of several ",
                    clock.of_steps() ? "steps" : "windows",
                    ", and its blocks live too long to judge in this run: record ");
    absl::StrAppend(&verdict, clock.of_steps()
                                  ? absl::StrCat("at least ", judged.steps_needed, " steps.")
                                  : "a longer one.");
  }
  return verdict;
}

std::string_view LeakTierName(LeakTier tier) {
  switch (tier) {
    case LeakTier::kDefinite:
      return "definite";
    case LeakTier::kSuspected:
      return "suspected";
    case LeakTier::kGrowing:
      return "growing";
    case LeakTier::kLiveAtExit:
      return "live_at_exit";
  }
  return "unknown";
}

std::string_view LeakBasisName(LeakBasis basis) {
  switch (basis) {
    case LeakBasis::kSteps:
      return "steps";
    case LeakBasis::kTime:
      return "time";
    case LeakBasis::kScan:
      return "scan";
  }
  return "unknown";
}

void CallDefinite(const Unreachable& lost, std::uint64_t scanned_bytes, Leak* leak) {
  leak->tier = LeakTier::kDefinite;
  leak->basis = LeakBasis::kScan;
  leak->score = 100;
  leak->why = absl::StrCat(UnreachableWhy(*leak, lost, scanned_bytes), " ", leak->why);
  leak->disproof = UnreachableDisproof();
}

}  // namespace memprof::analysis
