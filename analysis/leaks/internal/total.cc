// Adds up what sites hold at the end of each step.
#include "analysis/leaks/internal/total.h"

#include <algorithm>
#include <map>
#include <span>

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kNamedRises = 3;

// By device: bytes held at the end of each step, by what `counts` of one process. Reads all
// allocations in their order, which is faster than site by site.
template <typename Counts>
std::map<int, std::vector<std::uint64_t>> HeldAtEnds(const Session& session, const StepClock& clock,
                                                     std::uint32_t process, const Counts& counts) {
  std::map<int, std::vector<std::uint64_t>> held;
  const auto steps = static_cast<std::size_t>(clock.completed());
  const std::span<const AllocationRecord> records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (!counts(i) || session.ProcessOf(a.birth) != process) continue;
    std::vector<std::uint64_t>& ends = held[a.device];
    if (ends.empty()) ends.resize(steps + 1);
    if (!a.birth.valid() || a.birth >= clock.judged_at()) continue;
    const auto add = [&](EventId event, std::uint64_t bytes) {
      const auto step = static_cast<std::size_t>(std::max<std::int64_t>(0, clock.IndexAt(event)));
      if (step < steps) ends[step] += bytes;
    };
    add(a.birth, a.bytes);
    if (!a.alive() && a.death.valid()) add(a.death, 0 - a.bytes);  // modular: sums are right
  }
  for (auto& [device, ends] : held) {
    ends.resize(steps);
    for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  }
  return held;
}

void AddRising(const Session& session, const StepClock& clock, const std::vector<LeakSite>& sites,
               int device, JudgedSites* judged) {
  std::vector<std::pair<std::int64_t, std::size_t>> rises;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (sites[i].device != device || sites[i].layer == Layer::kImported) continue;
    if (const auto rise = static_cast<std::int64_t>(sites[i].rise); rise > 0)
      rises.emplace_back(rise, i);
  }
  std::sort(rises.rbegin(), rises.rend());
  if (rises.size() > kNamedRises) rises.resize(kNamedRises);
  for (const auto& [rise, index] : rises) {
    const auto known = [&, i = index](const LeakCandidate& one) {
      return std::find(one.sites.begin(), one.sites.end(), i) != one.sites.end();
    };
    if (std::none_of(judged->rising.begin(), judged->rising.end(), known))
      judged->rising.push_back(WeighSite(session, clock, sites[index], index));
  }
}

// "rises and does not fall again in 9 of the 10 steps judged, by 256 MiB per step"; "" if the sums
// do not show it.
std::string RiseWords(const StepClock& clock, const std::vector<std::uint64_t>& ends) {
  const SiteJudgement judgement = JudgeSite(StackedGrowth(ends));
  if (judgement.score < kSuspicion || judgement.old_births < kMinRises) return "";
  const std::int64_t window = judgement.window_end - judgement.window_begin;
  return absl::StrCat(
      " rises and does not fall again in ", FormatCount(judgement.old_births), " of the ",
      FormatNumberOf(window, clock.of_steps() ? "step" : "window"), " judged",
      clock.of_steps() ? absl::StrCat(", by ", FormatBytes(judgement.slope), " per step") : "");
}

}  // namespace

std::string DescribeTotalGrowth(const Session& session, const StepClock& clock,
                                const std::vector<LeakSite>& sites, JudgedSites* judged) {
  std::string words;
  if (!judged->leaks.empty() || clock.completed() < StepsNeeded(GuardSteps(0))) return words;
  // A single pass rises, too, and so do inputs that get longer, and a run that frees nothing.
  if (judged->inputs_get_longer || clock.births_only()) return words;
  for (const LeakCandidate& one : judged->rising)
    if (one.evidence.level) return words;
  if (sites.empty()) return words;
  const std::span<const AllocationRecord> records = session.records();
  const std::vector<bool> selected = SelectJudged(session);
  const auto counts = [&](std::uint32_t i) {
    return selected[i] && records[i].layer != Layer::kImported;
  };
  for (const auto& [device, ends] : HeldAtEnds(session, clock, sites.front().process, counts)) {
    const std::string rises = RiseWords(clock, ends);
    if (rises.empty()) continue;
    AddRising(session, clock, sites, device, judged);
    absl::StrAppend(&words, words.empty() ? "" : " ", "Memory held ",
                    device == kNoDevice ? "on the host" : absl::StrCat("on device ", device), rises,
                    ", but no site is sure to leak: see those that rise most, with their scores.");
  }
  return words;
}

std::string DescribeReserveGrowth(const Session& session, const StepClock& clock,
                                  std::uint32_t process, const JudgedSites& judged) {
  std::string words;
  // The reserve of a single pass rises, too, and windows may be parts of one.
  if (!clock.of_steps() || !judged.leaks.empty() || clock.completed() < StepsNeeded(GuardSteps(0)))
    return words;
  const std::span<const AllocationRecord> records = session.records();
  const auto counts = [&](std::uint32_t i) { return records[i].layer == Layer::kSegment; };
  for (const auto& [device, ends] : HeldAtEnds(session, clock, process, counts)) {
    const std::string rises = RiseWords(clock, ends);
    if (!rises.empty())
      absl::StrAppend(&words, words.empty() ? "" : " ",
                      judged.rising.empty() ? "No site grows" : "No site is sure to leak",
                      ", but what allocators reserve on device ", device, rises,
                      ": 'memprof fragmentation' shows what of it is unused.");
  }
  return words;
}

}  // namespace memprof::analysis
