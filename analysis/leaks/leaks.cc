// Judges every site and tells leaks from what is merely alive at exit.
#include "analysis/leaks/leaks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"
#include "analysis/leaks/forecast.h"
#include "analysis/leaks/internal/candidates.h"
#include "analysis/leaks/internal/total.h"
#include "analysis/leaks/internal/words.h"
#include "analysis/symbols/module_paths.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {
namespace {

// What scans of host memory found no pointer to, and is still there at the end.
class LostMemory {
 public:
  explicit LostMemory(const Session& session) : session_(session) {
    const EventTable& events = session.events();
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      if (events.op(i) == Op::kHostScan) scans_.push_back(EventId(i));
    }
  }

  Unreachable Of(const LeakSite& site) const {
    Unreachable lost;
    if (scans_.empty()) return lost;
    for (const AllocationId id : site.alive_at_end) {
      for (const EventId mark : session_.Marks(id)) {
        if (session_.events().op(mark.value) != Op::kUnreachable) continue;
        const auto scan = std::lower_bound(scans_.begin(), scans_.end(), mark);
        if (scan == scans_.end()) continue;
        ++lost.blocks;
        lost.bytes += session_.record(id).bytes;
        lost.scan = lost.scan.valid() ? std::max(lost.scan, *scan) : *scan;
        break;
      }
    }
    return lost;
  }
  std::uint64_t ScannedBytes(const Unreachable& lost) const {
    return lost.scan.valid() ? session_.events().bytes(lost.scan.value) : 0;
  }

 private:
  const Session& session_;
  std::vector<EventId> scans_;
};

void PredictOom(const Session& session, const StepClock& clock,
                std::vector<LeakCandidate>& candidates) {
  std::map<int, double> slopes;
  for (const LeakCandidate& candidate : candidates) {
    if (candidate.leak.device != kNoDevice) {
      slopes[candidate.leak.device] += candidate.leak.bytes_per_step;
    }
  }
  if (slopes.empty()) return;
  const MemorySamples samples(session);
  for (const DeviceTimeline& timeline : BuildTimelines(session)) {
    const auto slope = slopes.find(timeline.device);
    if (slope == slopes.end() || slope->second <= 0) continue;
    const double room = RoomForLeaks(session, clock, timeline, samples, slope->second);
    if (timeline.device == kNoDevice || room < 0) continue;
    for (LeakCandidate& candidate : candidates) {
      if (candidate.leak.device == timeline.device) {
        candidate.leak.steps_to_oom = room / slope->second;
      }
    }
  }
}

Leak DescribeAlive(const Session& session, const StepClock& clock, const LeakSite& site) {
  Leak leak;
  leak.basis = clock.of_steps() ? LeakBasis::kSteps : LeakBasis::kTime;
  leak.process = site.process;
  leak.device = site.device;
  leak.layer = site.layer;
  leak.stack = site.stack;
  leak.blocks = site.alive_at_end.size();
  leak.example = site.alive_at_end.front();
  leak.guard_steps = clock.of_steps() ? GuardSteps(site.longest_lifetime) : 0;
  for (const AllocationId id : site.alive_at_end) {
    const Allocation& a = session.allocation(id);
    leak.bytes += a.bytes;
    AddSurvivor(clock.NumberOf(clock.IndexAt(a.birth)), a.bytes, &leak);
  }
  leak.first_step = leak.survivors.front().step;
  leak.why = leak.imported() ? ImportWhy(session, site) : AliveWhy(session, clock, site);
  const std::string tensors = TensorNames(session, site.alive_at_end);
  if (!tensors.empty()) absl::StrAppend(&leak.why, " Tensors in it: ", tensors, ".");
  leak.disproof = leak.imported()
                      ? "It is in order if the program uses it to its very end."
                      : "It would be a leak if more of it stayed with every step of a longer run.";
  return leak;
}

void CallDefinite(const Unreachable& lost, std::uint64_t scanned_bytes, Leak* leak) {
  leak->tier = LeakTier::kDefinite;
  leak->basis = LeakBasis::kScan;
  leak->score = 100;
  leak->why = absl::StrCat(UnreachableWhy(*leak, lost, scanned_bytes), " ", leak->why);
  leak->disproof = UnreachableDisproof();
}

// Where a scan of host memory says so; else "".
std::string DefiniteWords(const LeakReport& report) {
  std::uint64_t sites = 0;
  for (const Leak& leak : report.leaks) sites += leak.tier == LeakTier::kDefinite;
  if (sites == 0) return "";
  return absl::StrCat(FormatNumberOf(sites, "site"), sites == 1 ? " has" : " have",
                      " lost all pointers to memory: definite leaks.");
}

// What the growing sites are, or that there are none.
std::string GrowthWords(const LeakReport& report, const std::string& total) {
  double slope = 0;
  std::size_t growing = 0;
  for (const Leak& leak : report.leaks) {
    slope += leak.bytes_per_step;
    growing += leak.basis == report.basis;
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
  return steps ? absl::StrCat("No growth ", judged, ".")
               : absl::StrCat("No growth, judged ", judged, ".");
}

std::string Verdict(const LeakReport& report, const StepClock& clock, const JudgedSites& judged,
                    const std::string& total) {
  if (clock.completed() == 0)
    return "No training steps were marked, and too little is freed to judge growth by time: call "
           "memprof_step(n), or memprof.step() in Python, at the start of each step.";
  if (report.horizon_too_short && judged.undecided == 0) {
    return absl::StrCat("Too short to tell: ", FormatNumberOf(report.steps, "completed step"),
                        " in the log, and at least ", judged.steps_needed,
                        " are needed to tell a leak from a warm-up.");
  }
  std::string verdict = GrowthWords(report, total);
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

bool Worse(const Leak& a, const Leak& b) {
  if (a.tier != b.tier) return a.tier < b.tier;
  if (a.bytes_per_step != b.bytes_per_step) return a.bytes_per_step > b.bytes_per_step;
  return a.bytes > b.bytes;
}

}  // namespace

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

void AddSurvivor(std::int64_t step, std::uint64_t bytes, Leak* leak) {
  if (leak->survivors.empty() || leak->survivors.back().step != step)
    leak->survivors.push_back({step, 0, 0});
  leak->survivors.back().bytes += bytes;
  ++leak->survivors.back().blocks;
}

namespace {

// What one process leaks, added to a report.
class ProcessLeaks {
 public:
  ProcessLeaks(const Session& session, const LeakOptions& options, const StepClock& clock,
               const std::vector<LeakSite>& sites)
      : session_(session), options_(options), clock_(clock), sites_(sites) {
    judged_ = JudgeSites(session, clock, sites);
    PredictOom(session, clock, judged_.leaks);
    total_ = NameWhatRises(session, clock, sites, &judged_);
  }

  void AddTo(const LostMemory& lost_memory, LeakReport* report) {
    report->steps = clock_.of_steps() ? clock_.completed() : 0;
    report->basis = clock_.of_steps() ? LeakBasis::kSteps : LeakBasis::kTime;
    report->warmup_steps = WarmupSteps(report->steps);
    report->horizon_too_short =
        judged_.undecided > 0 || clock_.completed() < StepsNeeded(GuardSteps(0));
    std::vector<bool> leaks(sites_.size());
    for (LeakCandidate& candidate : judged_.leaks) {
      for (const std::size_t index : candidate.sites) leaks[index] = true;
      Explain(&candidate);
      const Unreachable lost = lost_memory.Of(candidate.site);
      if (lost.blocks > 0) CallDefinite(lost, lost_memory.ScannedBytes(lost), &candidate.leak);
      AddLeak(std::move(candidate.leak), report);
    }
    for (LeakCandidate& candidate : judged_.rising) {
      Explain(&candidate);
      candidate.leak.tier = LeakTier::kLiveAtExit;
      report->rising.push_back(candidate.leak);
    }
    for (std::size_t i = 0; i < sites_.size(); ++i)
      if (!leaks[i] && !sites_[i].alive_at_end.empty()) AddAlive(i, lost_memory, report);
    report->verdict = Verdict(*report, clock_, judged_, total_);
  }

 private:
  void Explain(LeakCandidate* candidate) const {
    if (options_.judge_tensors_as_names)
      candidate->evidence.tensors = TensorNames(session_, candidate->site.judged_alive);
    candidate->evidence.modules = ModulesOf(session_, candidate->site.judged_alive);
    candidate->leak.why = LeakWhy(clock_, candidate->leak, candidate->history, candidate->evidence);
    candidate->leak.disproof = LeakDisproof(candidate->leak, candidate->evidence);
  }
  void AddLeak(Leak leak, LeakReport* report) const {
    const bool unwanted = options_.suppress && options_.suppress(leak);
    (unwanted ? report->suppressed : report->leaks).push_back(std::move(leak));
  }
  void AddAlive(std::size_t index, const LostMemory& lost_memory, LeakReport* report) const {
    Leak leak = DescribeAlive(session_, clock_, sites_[index]);
    if (const Unreachable lost = lost_memory.Of(sites_[index]); lost.blocks > 0) {
      CallDefinite(lost, lost_memory.ScannedBytes(lost), &leak);
      return AddLeak(std::move(leak), report);
    }
    for (const LeakCandidate& rising : judged_.rising)
      if (std::find(rising.sites.begin(), rising.sites.end(), index) != rising.sites.end()) {
        leak.score = rising.leak.score;
        leak.why = rising.leak.why;
      }
    // Without bytes of its own: a sparse array, say, whose tiles are listed where they were made.
    if (leak.bytes > 0 || leak.imported()) report->live_at_exit.push_back(std::move(leak));
  }

  const Session& session_;
  const LeakOptions& options_;
  const StepClock& clock_;
  const std::vector<LeakSite>& sites_;
  JudgedSites judged_;
  std::string total_;
};

// Puts the report of one process into that of all. The verdict is of those that have something to
// say, each with the name of its process.
void Merge(const Session& session, std::uint32_t process, LeakReport one, LeakReport* all) {
  const auto move = [](std::vector<Leak>* from, std::vector<Leak>* to) {
    std::move(from->begin(), from->end(), std::back_inserter(*to));
  };
  const bool bare = one.leaks.empty() && one.rising.empty() && one.live_at_exit.empty();
  move(&one.leaks, &all->leaks);
  move(&one.live_at_exit, &all->live_at_exit);
  move(&one.rising, &all->rising);
  move(&one.suppressed, &all->suppressed);
  if (process == 0 || one.steps > all->steps) {
    all->steps = one.steps;
    all->warmup_steps = one.warmup_steps;
    all->basis = one.basis;
  }
  all->horizon_too_short |= one.horizon_too_short;
  if (session.processes().size() == 1) {
    all->verdict = std::move(one.verdict);
    return;
  }
  if (bare && one.horizon_too_short) return;
  absl::StrAppend(&all->verdict, all->verdict.empty() ? "" : " ", "Process ",
                  session.processes()[process].run.pid, ": ", one.verdict);
}

}  // namespace

LeakReport FindLeaks(const Session& session, const LeakOptions& options) {
  const std::vector<StepClock> clocks = ClocksForLeaks(session);
  const std::vector<std::vector<LeakSite>> sites = GroupLeakSites(session, clocks);
  const LostMemory lost_memory(session);
  LeakReport report;
  for (std::uint32_t process = 0; process < clocks.size(); ++process) {
    LeakReport one;
    ProcessLeaks(session, options, clocks[process], sites[process]).AddTo(lost_memory, &one);
    Merge(session, process, std::move(one), &report);
  }
  std::stable_sort(report.leaks.begin(), report.leaks.end(), Worse);
  std::stable_sort(report.live_at_exit.begin(), report.live_at_exit.end(),
                   [](const Leak& a, const Leak& b) { return a.bytes > b.bytes; });
  std::stable_sort(report.rising.begin(), report.rising.end(),
                   [](const Leak& a, const Leak& b) { return a.score > b.score; });
  if (const std::string definite = DefiniteWords(report); !definite.empty())
    report.verdict = absl::StrCat(definite, " ", report.verdict);
  return report;
}

}  // namespace memprof::analysis
