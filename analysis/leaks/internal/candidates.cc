// Applies the rule to blocks first, then to the bytes held, then to groups of sites.
#include "analysis/leaks/internal/candidates.h"

#include <algorithm>
#include <map>

#include "analysis/leaks/internal/access.h"
#include "analysis/leaks/internal/groups.h"
#include "analysis/leaks/internal/level.h"
#include "analysis/leaks/internal/longer.h"
#include "analysis/leaks/internal/pass.h"
#include "analysis/store/sampling.h"

namespace memprof::analysis {
namespace {

constexpr double kBorderline = 20;

// Counts bytes, blocks and birth steps of survivors: at the end of the log, or, if the evidence was
// freed at the exit of the program, at the end of the last completed step.
void Count(const Session& session, const StepClock& clock, LeakCandidate& candidate) {
  const LeakSite& site = candidate.site;
  const SiteJudgement& judgement = candidate.evidence.judgement;
  const bool held = candidate.evidence.by == LeakEvidence::By::kHeld;
  for (const AllocationId id : site.judged_alive) {
    const AllocationRecord& a = session.record(id);
    const std::int64_t birth = clock.IndexAt(a.birth);
    const bool evidence = held || (birth >= judgement.window_begin && birth < judgement.window_end);
    if (evidence && !AliveAtExit(session, a)) candidate.evidence.freed_on_exit = true;
  }
  if (site.alive_at_end.empty()) candidate.evidence.freed_on_exit = true;
  Leak& leak = candidate.leak;
  const auto& survivors = candidate.evidence.freed_on_exit ? site.judged_alive : site.alive_at_end;
  leak.memory = survivors;
  for (const AllocationId id : survivors) {
    const Allocation& a = session.allocation(id);
    leak.bytes += a.bytes;
    ++leak.blocks;
    const std::int64_t index = clock.IndexAt(a.birth);
    AddSurvivor(clock.NumberOf(index), a.bytes, &leak);
    if (!leak.example.valid() && index >= judgement.window_begin) leak.example = id;
  }
  for (const AllocationId id : site.members) {
    const AllocationRecord& a = session.record(id);
    ++candidate.evidence.allocations;
    candidate.evidence.frees += candidate.evidence.freed_on_exit
                                    ? a.birth < clock.judged_at() && !AliveWhenJudged(clock, a)
                                    : !AliveAtExit(session, a);
  }
  candidate.evidence.thinned = session.events().Has(Op::kThinned);
  for (const EventId id : SamplingOf(session)->drawn) {
    const DrawnBlock block = DrawnAt(session, id);
    if (block.stack == site.stack && block.device == site.device && block.layer == site.layer)
      candidate.evidence.short_lived += block.weight;
  }
}

// Its growth per second, if there are no steps.
double PerSecond(const Session& session, const StepClock& clock, double bytes_per_window) {
  const TimeNs begin = session.events().time(clock.BeginOf(0).value);
  const TimeNs end = session.events().time(clock.judged_at().value - 1);
  if (end <= begin) return 0;
  return bytes_per_window * static_cast<double>(clock.completed()) * 1e9 /
         static_cast<double>(end - begin);
}

LeakCandidate MakeCandidate(const Session& session, const StepClock& clock, LeakSite site,
                            std::vector<std::size_t> sites, SiteHistory history,
                            const SiteJudgement& judgement, LeakEvidence::By by) {
  LeakCandidate candidate;
  candidate.site = std::move(site);
  candidate.sites = std::move(sites);
  candidate.evidence.sites = candidate.sites.size();
  candidate.history = std::move(history);
  candidate.evidence.judgement = judgement;
  candidate.evidence.longest_lifetime = candidate.site.longest_lifetime;
  candidate.evidence.by = by;
  Leak& leak = candidate.leak;
  // These cases are doubtful: a replaced buffer is read when the next one is made; a cache may have
  // entries of all sizes.
  const bool doubtful = by == LeakEvidence::By::kHeld || !candidate.history.sizes_return;
  leak.tier = doubtful ? LeakTier::kGrowing : LeakTier::kSuspected;
  leak.basis = clock.of_steps() ? LeakBasis::kSteps : LeakBasis::kTime;
  leak.score = judgement.score;
  leak.process = candidate.site.process;
  leak.device = candidate.site.device;
  leak.layer = candidate.site.layer;
  leak.stack = candidate.site.stack;
  (clock.of_steps() ? leak.bytes_per_step : leak.bytes_per_second) =
      clock.of_steps() ? judgement.slope : PerSecond(session, clock, judgement.slope);
  leak.first_step = clock.NumberOf(judgement.first_step);
  leak.guard_steps = clock.of_steps() ? judgement.guard : 0;
  if (judgement.verdict == SiteVerdict::kTooShort) leak.steps_needed = judgement.steps_needed;
  Count(session, clock, candidate);
  return candidate;
}

// Sites whose old survivors are mostly still used may grow on purpose or by mistake: the log cannot
// distinguish these.
void JudgeUse(const Session& session, const StepClock& clock,
              std::vector<LeakCandidate>& candidates) {
  if (candidates.empty()) return;
  std::vector<AllocationId> survivors;
  for (const LeakCandidate& candidate : candidates) {
    survivors.insert(survivors.end(), candidate.site.judged_alive.begin(),
                     candidate.site.judged_alive.end());
  }
  const AccessFacts facts = FindAccesses(session, std::move(survivors), clock.judged_at(),
                                         candidates.front().site.process);
  for (LeakCandidate& candidate : candidates) {
    if (candidate.evidence.by == LeakEvidence::By::kHeld) continue;
    const std::int64_t recent = candidate.evidence.judgement.window_end;
    std::size_t old = 0, used = 0;
    for (const AllocationId id : candidate.site.judged_alive) {
      if (clock.IndexAt(session.allocation(id).birth) >= recent) continue;
      ++old;
      const auto use = facts.last_use.find(id.value);
      used += use != facts.last_use.end() && use->second >= clock.BeginOf(recent);
    }
    candidate.evidence.access_known = facts.known;
    candidate.evidence.in_use = used > 0 && 2 * used >= old;
    candidate.leak.in_use = candidate.evidence.in_use;
    if (candidate.leak.in_use) candidate.leak.tier = LeakTier::kGrowing;
  }
}

void CountSiblings(std::vector<LeakCandidate>& candidates) {
  std::map<std::vector<std::int64_t>, std::size_t> alike;
  for (const LeakCandidate& candidate : candidates) ++alike[candidate.history.birth_steps];
  for (LeakCandidate& candidate : candidates) {
    candidate.evidence.siblings = alike[candidate.history.birth_steps] - 1;
  }
}

// By blocks, or else by the bytes held.
void WeighHeld(const StepClock& clock, SiteHistory* history, SiteJudgement* judgement,
               LeakEvidence::By* by) {
  if (!clock.of_steps() && judgement->old_births < kMinRises) judgement->score = 0;
  if (judgement->score >= kSuspicion) return;
  SiteHistory held = HeldHistoryOf(*history);
  const SiteJudgement other = JudgeSite(held);
  if (other.score <= judgement->score || other.old_births < kMinRises) return;
  *by = LeakEvidence::By::kHeld;
  *history = std::move(held);
  *judgement = other;
}

// One site on its own.
void JudgeOne(const Session& session, const StepClock& clock, const LeakSite& site,
              std::size_t index, JudgedSites* judged) {
  SiteHistory history = HistoryOf(session, clock, site);
  const SiteJudgement by_blocks = JudgeSite(history);
  SiteJudgement judgement = by_blocks;
  LeakEvidence::By by = LeakEvidence::By::kBlocks;
  WeighHeld(clock, &history, &judgement, &by);
  if (judgement.score < kBorderline) {
    if (by_blocks.verdict != SiteVerdict::kTooShort) return;
    ++judged->undecided;
    judged->steps_needed = std::max(judged->steps_needed, by_blocks.steps_needed);
    judged->settled[index] = true;  // no part of a group either
    judged->rising.push_back(MakeCandidate(session, clock, site, {index}, std::move(history),
                                           by_blocks, LeakEvidence::By::kBlocks));
    return;
  }
  // A buffer that is replaced by one larger by less than a block's granularity in each step
  // (sequences that become longer, say) is rising, and no leak.
  constexpr double kMinHeldSlope = 512;
  // A step takes several windows, as many as pass between two rises.
  const double windows_of_step =
      clock.of_steps() ? 1
                       : static_cast<double>(judgement.window_end - judgement.window_begin) /
                             static_cast<double>(std::max<std::int64_t>(1, judgement.old_births));
  const bool is_slow =
      by == LeakEvidence::By::kHeld && judgement.slope * windows_of_step < kMinHeldSlope;
  const bool leaks = judgement.score >= kSuspicion && !is_slow;
  judged->settled[index] = leaks;
  (leaks ? judged->leaks : judged->rising)
      .push_back(MakeCandidate(session, clock, site, {index}, std::move(history), judgement, by));
}

void JudgeGroups(const Session& session, const StepClock& clock, const std::vector<LeakSite>& sites,
                 JudgedSites* judged) {
  for (const SiteGroup& group : GroupsThatGrow(session, clock, sites, judged->settled, kMinRises)) {
    LeakSite all = MergeSites(session, sites, group.sites);
    SiteHistory history = HistoryOf(session, clock, all);
    const SiteJudgement judgement = JudgeSite(history);
    if (judgement.score < kSuspicion || judgement.old_births < kMinRises) continue;
    bool settled = false;
    for (const std::size_t index : group.sites) settled |= judged->settled[index];
    if (settled) continue;
    for (const std::size_t index : group.sites) {
      judged->settled[index] = true;
      std::erase_if(judged->rising,
                    [&](const LeakCandidate& one) { return one.sites.front() == index; });
    }
    judged->leaks.push_back(MakeCandidate(session, clock, std::move(all), group.sites,
                                          std::move(history), judgement,
                                          LeakEvidence::By::kTogether));
  }
}

}  // namespace

LeakCandidate WeighSite(const Session& session, const StepClock& clock, const LeakSite& site,
                        std::size_t index) {
  SiteHistory history = HistoryOf(session, clock, site);
  SiteJudgement judgement = JudgeSite(history);
  LeakEvidence::By by = LeakEvidence::By::kBlocks;
  WeighHeld(clock, &history, &judgement, &by);
  return MakeCandidate(session, clock, site, {index}, std::move(history), judgement, by);
}

namespace {

// By time only, survivors may be the layers of a single pass, and where nothing is freed those of a
// model that is built, the tensors of a file or a table: no leak, whatever their score.
void DoubtIterations(const Session& session, const StepClock& clock, JudgedSites* judged) {
  for (LeakCandidate& leak : judged->leaks) {
    leak.evidence.only_allocates = clock.births_only();
    leak.evidence.one_pass = !clock.births_only() && GrowsWithinOnePass(session, leak.site);
  }
  const auto kept = std::stable_partition(
      judged->leaks.begin(), judged->leaks.end(), [](const LeakCandidate& leak) {
        return !leak.evidence.only_allocates && !leak.evidence.one_pass;
      });
  for (auto at = kept; at != judged->leaks.end(); ++at) {
    at->leak.score = std::min(at->leak.score, kSuspicion - 1);
    judged->rising.push_back(std::move(*at));
  }
  judged->leaks.erase(kept, judged->leaks.end());
}

}  // namespace

JudgedSites JudgeSites(const Session& session, const StepClock& clock,
                       const std::vector<LeakSite>& sites) {
  JudgedSites judged;
  judged.steps_needed = StepsNeeded(GuardSteps(0));
  judged.settled.resize(sites.size());
  if (clock.completed() < judged.steps_needed) return judged;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const LeakSite& site = sites[i];
    const bool own = site.layer != Layer::kImported;  // foreign memory does not leak here
    judged.settled[i] = !own;
    if (own && !site.judged_alive.empty() && site.members.size() >= kMinOldBirths)
      JudgeOne(session, clock, site, i, &judged);
  }
  JudgeGroups(session, clock, sites, &judged);
  DemoteLevelGrowth(session, clock, sites, &judged);
  if (!clock.of_steps()) DoubtIterations(session, clock, &judged);
  LeaveOutLongerInputs(session, clock, sites, &judged);
  JudgeUse(session, clock, judged.leaks);
  CountSiblings(judged.leaks);
  std::stable_sort(
      judged.rising.begin(), judged.rising.end(),
      [](const LeakCandidate& a, const LeakCandidate& b) { return a.leak.score > b.leak.score; });
  return judged;
}

}  // namespace memprof::analysis
