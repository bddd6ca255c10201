// Judges every site, and distinguishes leaks from memory that is merely alive at exit.
#include "analysis/leaks/leaks.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <span>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/base/units.h"
#include "analysis/leaks/forecast.h"
#include "analysis/leaks/internal/candidates.h"
#include "analysis/leaks/internal/total.h"
#include "analysis/leaks/internal/verdict.h"
#include "analysis/leaks/internal/words.h"
#include "analysis/symbols/module_paths.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis {
namespace {

// Memory without a pointer in the scans of host memory, which is still live at the end.
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
  const auto samples = SamplesOf(session);
  const auto timelines = TimelinesOf(session);
  for (const DeviceTimeline& timeline : *timelines) {
    const auto slope = slopes.find(timeline.device);
    if (slope == slopes.end() || slope->second <= 0) continue;
    const double headroom = HeadroomForLeaks(session, clock, timeline, *samples, slope->second);
    if (timeline.device == kNoDevice || headroom < 0) continue;
    for (LeakCandidate& candidate : candidates) {
      if (candidate.leak.device == timeline.device) {
        candidate.leak.steps_to_oom = StepsToOom(headroom, slope->second, clock.completed());
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

bool Worse(const Leak& a, const Leak& b) {
  if (a.tier != b.tier) return a.tier < b.tier;
  if (a.bytes_per_step != b.bytes_per_step) return a.bytes_per_step > b.bytes_per_step;
  return a.bytes > b.bytes;
}

}  // namespace

void AddSurvivor(std::int64_t step, std::uint64_t bytes, Leak* leak) {
  if (leak->survivors.empty() || leak->survivors.back().step != step)
    leak->survivors.push_back({step, 0, 0});
  leak->survivors.back().bytes += bytes;
  ++leak->survivors.back().blocks;
}

namespace {

// Adds the leaks of one process to a report.
class ProcessLeaks {
 public:
  ProcessLeaks(const Session& session, const LeakOptions& options, const StepClock& clock,
               const std::vector<LeakSite>& sites)
      : session_(session), options_(options), clock_(clock), sites_(sites) {
    judged_ = JudgeSites(session, clock, sites);
    PredictOom(session, clock, judged_.leaks);
    total_ = DescribeTotalGrowth(session, clock, sites, &judged_);
    if (total_.empty() && !sites.empty())
      total_ = DescribeReserveGrowth(session, clock, sites.front().process, judged_);
  }

  void AddTo(const LostMemory& lost_memory, const Holders& holders, LeakReport* report) {
    report->steps = clock_.of_steps() ? clock_.completed() : 0;
    report->basis = clock_.of_steps() ? LeakBasis::kSteps : LeakBasis::kTime;
    report->warmup_steps = WarmupSteps(report->steps);
    report->horizon_too_short =
        judged_.undecided > 0 || clock_.completed() < StepsNeeded(GuardSteps(0));
    std::vector<bool> leaks(sites_.size());
    const auto add = [&](LeakCandidate& candidate, bool leaks_for_sure) {
      Explain(&candidate);
      if (!leaks_for_sure) candidate.leak.tier = LeakTier::kLiveAtExit;
      const Unreachable lost = lost_memory.Of(candidate.site);
      if (lost.blocks > 0) CallDefinite(lost, lost_memory.ScannedBytes(lost), &candidate.leak);
      AddOwners(holders, &candidate);
      if (!leaks_for_sure && lost.blocks == 0) return report->rising.push_back(candidate.leak);
      for (const std::size_t index : candidate.sites) leaks[index] = true;
      AddLeak(std::move(candidate.leak), report);
    };
    for (LeakCandidate& candidate : judged_.leaks) add(candidate, true);
    for (LeakCandidate& candidate : judged_.rising) add(candidate, false);
    for (std::size_t i = 0; i < sites_.size(); ++i)
      if (!leaks[i] && !sites_[i].alive_at_end.empty()) AddAlive(i, lost_memory, holders, report);
    report->verdict = Verdict(*report, session_.run(), clock_, judged_, total_);
  }

 private:
  void Explain(LeakCandidate* candidate) const {
    if (options_.judge_tensors_as_names)
      candidate->evidence.tensors = TensorNames(session_, candidate->site.judged_alive);
    candidate->evidence.modules = ModulesOf(session_, candidate->site.judged_alive);
    candidate->leak.why = LeakWhy(clock_, candidate->leak, candidate->history, candidate->evidence);
    candidate->leak.disproof = LeakDisproof(candidate->leak, candidate->evidence);
  }
  // As they were held in the steps. Memory that was freed since, by a function that has returned,
  // counts too; where each step has other blocks, those of the last look do.
  void AddOwners(const Holders& holders, LeakCandidate* candidate) const {
    const LeakSite& site = candidate->site;
    const EventId until = holders.LastStepOf(site.process);
    AddOwners(
        holders,
        site.alive_at_end.size() < site.judged_alive.size() ? site.judged_alive : site.alive_at_end,
        until, &candidate->leak);
    if (!candidate->leak.holders.empty()) return;
    const std::vector<AllocationId> found = holders.FoundLast(site.members);
    candidate->leak.holders = holders.Of(found, until);
    candidate->leak.held_by = TreeOf(holders, found, until);
  }
  void AddOwners(const Holders& holders, std::span<const AllocationId> ids, EventId until,
                 Leak* leak) const {
    leak->holders = holders.Of(ids, until);
    leak->held_by = TreeOf(holders, ids, until);
    leak->without_holder = holders.RestOf(ids);
    leak->exported = ExportsOf(session_)->Of(ids);
    if (const std::string words = ExportedWords(session_, leak->exported, ids.size());
        !words.empty())
      absl::StrAppend(&leak->why, " ", words);
  }
  void AddLeak(Leak leak, LeakReport* report) const {
    const bool unwanted = options_.suppress && options_.suppress(leak);
    (unwanted ? report->suppressed : report->leaks).push_back(std::move(leak));
  }
  void AddAlive(std::size_t index, const LostMemory& lost_memory, const Holders& holders,
                LeakReport* report) const {
    Leak leak = DescribeAlive(session_, clock_, sites_[index]);
    AddOwners(holders, sites_[index].alive_at_end, {}, &leak);
    if (const Unreachable lost = lost_memory.Of(sites_[index]); lost.blocks > 0) {
      CallDefinite(lost, lost_memory.ScannedBytes(lost), &leak);
      leak.memory = sites_[index].alive_at_end;
      return AddLeak(std::move(leak), report);
    }
    for (const LeakCandidate& rising : judged_.rising)
      if (std::find(rising.sites.begin(), rising.sites.end(), index) != rising.sites.end()) {
        leak.score = rising.leak.score;
        leak.why = rising.leak.why;
      }
    // Without bytes of its own: a sparse array, say, whose tiles are listed at their own sites.
    if (leak.bytes > 0 || leak.imported()) report->live_at_exit.push_back(std::move(leak));
  }

  const Session& session_;
  const LeakOptions& options_;
  const StepClock& clock_;
  const std::vector<LeakSite>& sites_;
  JudgedSites judged_;
  std::string total_;
};

// Adds the report of one process to the total, without its verdict.
void Merge(std::uint32_t process, LeakReport one, LeakReport* all) {
  const auto move = [](std::vector<Leak>* from, std::vector<Leak>* to) {
    std::move(from->begin(), from->end(), std::back_inserter(*to));
  };
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
}

// The verdicts of processes, equal ones once: first those with leaks, then those of few processes,
// which are not as the others.
class Verdicts {
 public:
  explicit Verdicts(const Session& session) : session_(session) {}

  void Add(std::uint32_t process, const LeakReport& one) {
    const bool bare = one.leaks.empty() && one.rising.empty() && one.live_at_exit.empty();
    if (session_.processes().size() > 1 && bare && one.horizon_too_short) return;
    const auto same = std::find_if(groups_.begin(), groups_.end(), [&one](const Group& group) {
      return group.verdict == one.verdict;
    });
    if (same != groups_.end()) return same->processes.push_back(process);
    groups_.push_back({one.verdict, one.leaks.empty(), {process}});
  }

  std::string Text() {
    const auto ends = [](const ProcessInfo& log) { return log.next_segment == EventId::kNone; };
    const auto& logs = session_.processes();
    if (std::count_if(logs.begin(), logs.end(), ends) == 1)
      return groups_.empty() ? "" : groups_[0].verdict;
    std::stable_sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
      return std::pair(a.clean, a.processes.size()) < std::pair(b.clean, b.processes.size());
    });
    std::vector<std::string> sentences;
    for (const Group& group : groups_)
      sentences.push_back(absl::StrCat(NameOf(group), ": ", group.verdict));
    return absl::StrJoin(sentences, " ");
  }

 private:
  struct Group {
    std::string verdict;
    bool clean = true;  // no leak
    std::vector<std::uint32_t> processes;
  };

  std::string NameOf(const Group& group) const {
    if (group.processes.size() > 1) return absl::StrCat(group.processes.size(), " processes");
    const int rank = session_.processes()[group.processes[0]].rank;
    return rank >= 0 ? absl::StrCat("Rank ", rank)
                     : absl::StrCat("Process ", group.processes[0] + 1);
  }

  const Session& session_;
  std::vector<Group> groups_;
};

// Whether steps were found that are too few to judge by: each may be a stage of many iterations.
bool MayBeStages(const Session& session, std::uint32_t process, const StepClock& clock) {
  return clock.of_steps() && clock.completed() < StepsNeeded(GuardSteps(0)) &&
         session.StepOriginOf(process).source != StepSource::kMarks;
}

// By process: of the segments of one, the last that is long enough to be judged speaks for all.
std::vector<bool> WhichSpeak(const Session& session, const std::vector<LeakReport>& of_process) {
  std::vector<bool> speak(of_process.size(), true);
  const auto& processes = session.processes();
  const auto is_judged = [&](std::uint32_t process) {
    return !of_process[process].horizon_too_short || !of_process[process].leaks.empty();
  };
  for (std::uint32_t process = 0; process < of_process.size(); ++process) {
    bool later = false;  // one that can be judged
    const bool judged = is_judged(process);
    for (std::uint32_t next = processes[process].next_segment; next != EventId::kNone;
         next = processes[next].next_segment) {
      later |= is_judged(next);
      if (judged && !later) speak[next] = false;
    }
    const bool last = processes[process].next_segment == EventId::kNone;
    if (!last && (later || !judged)) speak[process] = false;
  }
  return speak;
}

}  // namespace

LeakReport FindLeaks(const Session& session, const LeakOptions& options) {
  const std::vector<StepClock> clocks = ClocksForLeaks(session);
  const std::vector<std::vector<LeakSite>> sites = GroupLeakSites(session, clocks);
  const LostMemory lost_memory(session);
  const std::shared_ptr<const Holders> holders = HoldersOf(session);
  LeakReport report;
  Verdicts verdicts(session);
  std::vector<LeakReport> of_process;
  for (std::uint32_t process = 0; process < clocks.size(); ++process) {
    const auto judge = [&](const StepClock& clock, const std::vector<LeakSite>& judged) {
      LeakReport one;
      ProcessLeaks(session, options, clock, judged).AddTo(lost_memory, *holders, &one);
      return one;
    };
    LeakReport one = judge(clocks[process], sites[process]);
    if (one.leaks.empty() && MayBeStages(session, process, clocks[process])) {
      std::vector<StepClock> windows = clocks;
      windows[process] = StepClock::OfActivity(session, process);
      LeakReport by_time = judge(windows[process], GroupLeakSites(session, windows)[process]);
      if (!by_time.leaks.empty()) one = std::move(by_time);
    }
    of_process.push_back(std::move(one));
  }
  const std::vector<bool> speak = WhichSpeak(session, of_process);
  for (std::uint32_t process = 0; process < clocks.size(); ++process) {
    LeakReport& one = of_process[process];
    // What a segment leaves is alive in the next one.
    if (session.processes()[process].next_segment != EventId::kNone) one.live_at_exit.clear();
    if (speak[process])
      verdicts.Add(process, one);
    else
      one = {.live_at_exit = std::move(one.live_at_exit), .basis = one.basis};
    Merge(process, std::move(one), &report);
  }
  report.verdict = verdicts.Text();
  std::stable_sort(report.leaks.begin(), report.leaks.end(), Worse);
  std::stable_sort(report.live_at_exit.begin(), report.live_at_exit.end(),
                   [](const Leak& a, const Leak& b) { return a.bytes > b.bytes; });
  std::stable_sort(report.rising.begin(), report.rising.end(),
                   [](const Leak& a, const Leak& b) { return a.score > b.score; });
  if (const std::string definite = DefiniteWords(report); !definite.empty())
    report.verdict = absl::StrCat(definite, " ", report.verdict);
  return report;
}

std::shared_ptr<const LeakReport> LeaksOf(const Session& session) {
  return session.facts().Get<LeakReport>([&] { return FindLeaks(session); });
}

}  // namespace memprof::analysis
