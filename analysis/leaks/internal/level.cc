// Compares the ends of a run, and the candidates with the rest.
#include "analysis/leaks/internal/level.h"

#include <algorithm>
#include <map>
#include <set>

namespace memprof::analysis {
namespace {

// The share of its allocations that the first and the last third of a run must have in common.
constexpr double kSameWork = 0.25;
// If the rest of the device frees at least this share of the candidates' growth, they are not
// growth of the run.
constexpr double kFreedShare = 0.5;
// The rest frees memory gradually, as at the end of a pass, if it falls in at least this share of
// the steps.
constexpr double kGradually = 0.3;

// The share of allocations at sites that both ends of the run have in common.
double WorkInCommon(const Session& session, const StepClock& clock,
                    const std::vector<LeakSite>& sites) {
  const std::int64_t begin = WarmupSteps(clock.completed());
  const std::int64_t third = (clock.completed() - begin) / 3;
  const EventId early_begin = clock.BeginOf(begin), early_end = clock.BeginOf(begin + third);
  const EventId late_begin = clock.BeginOf(clock.completed() - third), end = clock.judged_at();
  std::vector<std::pair<double, double>> counts;
  double early = 0, late = 0;
  for (const LeakSite& site : sites) {
    std::pair<double, double> count;
    for (const AllocationId id : site.members) {
      const EventId birth = session.record(id).birth;
      count.first += birth >= early_begin && birth < early_end;
      count.second += birth >= late_begin && birth < end;
    }
    early += count.first;
    late += count.second;
    counts.push_back(count);
  }
  double common = 0;
  if (early == 0 || late == 0) return 0;
  for (const auto& [a, b] : counts) common += std::min(a / early, b / late);
  return common;
}

// The least bytes that all sites except the candidates hold in each step, on `device`.
std::vector<std::uint64_t> LowsOfTheRest(const Session& session, const StepClock& clock,
                                         const std::vector<LeakSite>& sites,
                                         const std::set<std::uint32_t>& candidates, int device) {
  LeakSite rest;
  for (const LeakSite& site : sites) {
    if (site.device != device || candidates.contains(site.stack.value)) continue;
    rest.members.insert(rest.members.end(), site.members.begin(), site.members.end());
  }
  return LowsOf(session, clock, rest);
}

// Whether the values fall by at least `bytes` from step `begin` on, in many small steps.
bool Falls(const std::vector<std::uint64_t>& lows, std::int64_t begin, double bytes) {
  const auto from = static_cast<std::size_t>(std::max<std::int64_t>(0, begin));
  if (from + 1 >= lows.size()) return false;
  double falls = 0;
  for (std::size_t i = from + 1; i < lows.size(); ++i) falls += lows[i] < lows[i - 1];
  const double fall = static_cast<double>(lows[from]) - static_cast<double>(lows.back());
  return fall >= bytes && falls >= kGradually * static_cast<double>(lows.size() - 1 - from);
}

}  // namespace

void DemoteLevelGrowth(const Session& session, const StepClock& clock,
                       const std::vector<LeakSite>& sites, JudgedSites* judged) {
  if (judged->leaks.empty()) return;
  const StepSource source = session.StepOriginOf(judged->leaks.front().site.process).source;
  const bool marked = source == StepSource::kMarks || source == StepSource::kRanges;
  if (clock.of_steps() && marked) return;
  const bool other_work = WorkInCommon(session, clock, sites) < kSameWork;
  std::map<int, std::set<std::uint32_t>> stacks;
  std::map<int, double> taken;
  std::map<int, std::int64_t> since;
  for (const LeakCandidate& candidate : judged->leaks) {
    const int device = candidate.leak.device;
    stacks[device].insert(candidate.leak.stack.value);
    const SiteJudgement& judgement = candidate.evidence.judgement;
    taken[device] +=
        judgement.slope * static_cast<double>(clock.completed() - judgement.first_step);
    const auto [it, fresh] = since.try_emplace(device, judgement.first_step);
    it->second = std::min(it->second, judgement.first_step);
  }
  std::set<int> level;
  for (const auto& [device, bytes] : taken) {
    const auto lows = LowsOfTheRest(session, clock, sites, stacks[device], device);
    if (Falls(lows, since[device], kFreedShare * bytes)) level.insert(device);
  }
  std::vector<LeakCandidate> leaks;
  for (LeakCandidate& candidate : judged->leaks) {
    if (!other_work && !level.contains(candidate.leak.device)) {
      leaks.push_back(std::move(candidate));
      continue;
    }
    candidate.evidence.level = true;
    candidate.leak.tier = LeakTier::kLiveAtExit;
    candidate.leak.score = std::min(candidate.leak.score, kSuspicion / 2);
    judged->rising.push_back(std::move(candidate));
  }
  judged->leaks = std::move(leaks);
}

}  // namespace memprof::analysis
