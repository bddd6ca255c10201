// Judges every site and tells leaks from what is merely alive at exit.
#include "analysis/leaks.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "analysis/leaks_access.h"
#include "analysis/leaks_forecast.h"
#include "analysis/leaks_sites.h"
#include "analysis/leaks_words.h"
#include "analysis/ledger.h"
#include "analysis/module_paths.h"
#include "analysis/timeline.h"
#include "analysis/units.h"

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

struct Candidate {
  const LeakSite* site = nullptr;
  SiteHistory history;
  LeakEvidence evidence;
  Leak leak;
};

// Bytes, blocks and birth steps of what survives: at the end of the log, or, where the evidence
// was freed on the way out, when the last completed step ended.
void Count(const Session& session, const StepClock& clock, Candidate& candidate) {
  const LeakSite& site = *candidate.site;
  const SiteJudgement& judgement = candidate.evidence.judgement;
  for (const AllocationId id : site.judged_alive) {
    const Allocation& a = session.allocation(id);
    const std::int64_t birth = clock.IndexAt(a.birth);
    const bool evidence = birth >= judgement.window_begin && birth < judgement.window_end;
    if (evidence && !a.alive()) candidate.evidence.freed_on_exit = true;
  }
  Leak& leak = candidate.leak;
  const auto& survivors = candidate.evidence.freed_on_exit ? site.judged_alive : site.alive_at_end;
  for (const AllocationId id : survivors) {
    const Allocation& a = session.allocation(id);
    leak.bytes += a.bytes;
    ++leak.blocks;
    const std::int64_t index = clock.IndexAt(a.birth);
    const std::int64_t number = clock.NumberOf(index);
    if (leak.survivors.empty() || leak.survivors.back().step != number) {
      leak.survivors.push_back({number, 0, 0});
    }
    leak.survivors.back().bytes += a.bytes;
    ++leak.survivors.back().blocks;
    if (!leak.example.valid() && index >= judgement.window_begin) leak.example = id;
  }
  for (const AllocationId id : site.members) {
    const AllocationRecord& a = session.record(id);
    if (a.birth >= clock.judged_at()) break;
    ++candidate.evidence.allocations;
    candidate.evidence.frees += !AliveWhenJudged(clock, a);
  }
}

Candidate MakeCandidate(const Session& session, const StepClock& clock, const LeakSite& site,
                        SiteHistory history, const SiteJudgement& judgement) {
  Candidate candidate;
  candidate.site = &site;
  candidate.history = std::move(history);
  candidate.evidence.judgement = judgement;
  candidate.evidence.longest_lifetime = site.longest_lifetime;
  Leak& leak = candidate.leak;
  leak.tier = LeakTier::kSuspected;
  leak.score = judgement.score;
  leak.device = site.device;
  leak.layer = site.layer;
  leak.stack = site.stack;
  leak.bytes_per_step = judgement.slope;
  leak.first_step = clock.NumberOf(judgement.first_step);
  leak.guard_steps = judgement.guard;
  Count(session, clock, candidate);
  return candidate;
}

// Sites whose old survivors are mostly still used grow on purpose or by mistake: which of the two,
// the log cannot tell.
void JudgeUse(const Session& session, const StepClock& clock, std::vector<Candidate>& candidates) {
  if (candidates.empty()) return;
  std::vector<AllocationId> survivors;
  for (const Candidate& candidate : candidates) {
    survivors.insert(survivors.end(), candidate.site->judged_alive.begin(),
                     candidate.site->judged_alive.end());
  }
  const AccessFacts facts = FindAccesses(session, std::move(survivors), clock.judged_at());
  for (Candidate& candidate : candidates) {
    const std::int64_t recent = candidate.evidence.judgement.window_end;
    std::size_t old = 0, used = 0;
    for (const AllocationId id : candidate.site->judged_alive) {
      if (clock.IndexAt(session.allocation(id).birth) >= recent) continue;
      ++old;
      const auto use = facts.last_use.find(id.value);
      used += use != facts.last_use.end() && use->second >= clock.BeginOf(recent);
    }
    candidate.evidence.access_known = facts.known;
    candidate.evidence.in_use = used > 0 && 2 * used >= old;
    if (candidate.evidence.in_use) candidate.leak.tier = LeakTier::kGrowing;
  }
}

void CountSiblings(std::vector<Candidate>& candidates) {
  std::map<std::vector<std::int64_t>, std::size_t> alike;
  for (const Candidate& candidate : candidates) ++alike[candidate.history.birth_steps];
  for (Candidate& candidate : candidates) {
    candidate.evidence.siblings = alike[candidate.history.birth_steps] - 1;
  }
}

void PredictOom(const Session& session, const StepClock& clock,
                std::vector<Candidate>& candidates) {
  std::map<int, double> slopes;
  for (const Candidate& candidate : candidates) {
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
    for (Candidate& candidate : candidates) {
      if (candidate.leak.device == timeline.device) {
        candidate.leak.steps_to_oom = room / slope->second;
      }
    }
  }
}

Leak DescribeAlive(const Session& session, const StepClock& clock, const LeakSite& site) {
  Leak leak;
  leak.device = site.device;
  leak.layer = site.layer;
  leak.stack = site.stack;
  leak.blocks = site.alive_at_end.size();
  leak.example = site.alive_at_end.front();
  leak.guard_steps = GuardSteps(site.longest_lifetime);
  for (const AllocationId id : site.alive_at_end) {
    const Allocation& a = session.allocation(id);
    leak.bytes += a.bytes;
    const std::int64_t step = clock.NumberOf(clock.IndexAt(a.birth));
    if (leak.survivors.empty() || leak.survivors.back().step != step) {
      leak.survivors.push_back({step, 0, 0});
    }
    leak.survivors.back().bytes += a.bytes;
    ++leak.survivors.back().blocks;
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

std::string Verdict(const LeakReport& report, std::int64_t undecided, std::int64_t needed) {
  if (report.steps == 0) {
    return "No training steps were marked, so growth cannot be judged: call memprof_step(n), or "
           "memprof.step() in Python, at the start of each step.";
  }
  if (report.horizon_too_short && undecided == 0) {
    return absl::StrCat("Too short to tell: ", FormatNumberOf(report.steps, "completed step"),
                        " in the log, and at least ", needed,
                        " are needed to tell a leak from a warm-up.");
  }
  std::string verdict;
  double slope = 0;
  std::size_t growing = 0;
  for (const Leak& leak : report.leaks) {
    slope += leak.bytes_per_step;
    growing += leak.bytes_per_step > 0;
  }
  if (growing == 0) {
    verdict = absl::StrCat("No growth over ", FormatNumberOf(report.steps, "completed step"), ".");
  } else {
    verdict = absl::StrCat(FormatNumberOf(growing, "site"), growing == 1 ? " keeps" : " keep",
                           " growing, by ", FormatBytes(slope), " per step in total, judged over ",
                           FormatNumberOf(report.steps, "completed step"), ".");
  }
  if (const std::size_t suppressed = report.suppressed.size(); suppressed > 0)
    absl::StrAppend(&verdict, " ", FormatNumberOf(suppressed, "leak"),
                    suppressed == 1 ? " is" : " are", " suppressed.");
  if (undecided > 0) {
    absl::StrAppend(&verdict, " ", FormatNumberOf(undecided, "more site"),
                    undecided == 1 ? " holds" : " hold",
                    " memory of several steps, and its blocks live too long to judge in this run: "
                    "record at least ",
                    needed, " steps.");
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

LeakReport FindLeaks(const Session& session, const LeakOptions& options) {
  const StepClock clock(session);
  const std::vector<LeakSite> sites = GroupLeakSites(session, clock);
  LeakReport report;
  report.steps = clock.completed();
  report.warmup_steps = WarmupSteps(report.steps);
  std::int64_t needed = StepsNeeded(GuardSteps(0)), undecided = 0;
  report.horizon_too_short = report.steps < needed;

  std::vector<Candidate> candidates;
  std::vector<const LeakSite*> alive;
  for (const LeakSite& site : sites) {
    bool leaks = false;
    const bool own = site.layer != Layer::kImported;  // what is owned elsewhere is leaked elsewhere
    if (own && !report.horizon_too_short && site.judged_alive.size() >= kMinOldBirths) {
      SiteHistory history = HistoryOf(session, clock, site);
      const SiteJudgement judgement = JudgeSite(history);
      if (judgement.verdict == SiteVerdict::kTooShort) {
        ++undecided;
        needed = std::max(needed, judgement.steps_needed);
      }
      leaks = judgement.verdict == SiteVerdict::kLeak;
      if (leaks) {
        candidates.push_back(MakeCandidate(session, clock, site, std::move(history), judgement));
      }
    }
    if (!leaks && !site.alive_at_end.empty()) alive.push_back(&site);
  }
  report.horizon_too_short |= undecided > 0;
  JudgeUse(session, clock, candidates);
  CountSiblings(candidates);
  PredictOom(session, clock, candidates);
  const LostMemory lost_memory(session);
  const auto report_leak = [&](Leak leak) {
    const bool unwanted = options.suppress && options.suppress(leak);
    (unwanted ? report.suppressed : report.leaks).push_back(std::move(leak));
  };
  for (Candidate& candidate : candidates) {
    Leak& leak = candidate.leak;
    const Unreachable lost = lost_memory.Of(*candidate.site);
    if (options.judge_tensors_as_names) {
      candidate.evidence.tensors = TensorNames(session, candidate.site->judged_alive);
    }
    candidate.evidence.modules = ModulesOf(session, candidate.site->judged_alive);
    leak.why = LeakWhy(clock, leak, candidate.evidence);
    leak.disproof = LeakDisproof(leak, candidate.evidence);
    if (lost.blocks > 0) CallDefinite(lost, lost_memory.ScannedBytes(lost), &leak);
    report_leak(std::move(leak));
  }
  for (const LeakSite* site : alive) {
    Leak leak = DescribeAlive(session, clock, *site);
    if (const Unreachable lost = lost_memory.Of(*site); lost.blocks > 0) {
      CallDefinite(lost, lost_memory.ScannedBytes(lost), &leak);
      report_leak(std::move(leak));
      continue;
    }
    // Without bytes of its own: a sparse array, say, whose tiles are listed where they were made.
    if (leak.bytes > 0 || leak.imported()) report.live_at_exit.push_back(std::move(leak));
  }
  std::stable_sort(report.leaks.begin(), report.leaks.end(), Worse);
  std::stable_sort(report.live_at_exit.begin(), report.live_at_exit.end(),
                   [](const Leak& a, const Leak& b) { return a.bytes > b.bytes; });
  report.verdict = Verdict(report, undecided, needed);
  if (const std::string definite = DefiniteWords(report); !definite.empty())
    report.verdict = absl::StrCat(definite, " ", report.verdict);
  return report;
}

}  // namespace memprof::analysis
