// Sentences with figures.
#include "analysis/leaks/internal/words.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "analysis/base/units.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kNamedTensors = 3;
constexpr std::size_t kTensorSearch = 4096;  // allocations that are searched for names

std::string Shape(const TensorInfo& tensor) {
  std::string shape = absl::StrJoin(tensor.shape, " x ");
  if (tensor.dtype.empty()) return shape;
  return shape.empty() ? tensor.dtype : absl::StrCat(tensor.dtype, " ", shape);
}

std::string Steps(std::int64_t count) {
  return FormatNumberOf(static_cast<std::uint64_t>(std::max<std::int64_t>(0, count)), "step");
}

std::string BlockWord(Layer layer, std::uint64_t count) {
  return FormatNumberOf(count, layer == Layer::kBlock ? "block" : "allocation");
}

}  // namespace

std::string TensorNames(const Session& session, const std::vector<AllocationId>& ids) {
  // In the order of their first occurrence.
  std::vector<std::pair<std::string, std::uint64_t>> names;
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < std::min(ids.size(), kTensorSearch); ++i) {
    const Allocation& owner = session.allocation(ids[i]);
    for (const AllocationId child : session.Children(ids[i])) {
      const Allocation& a = session.allocation(child);
      // Without tensors that were freed before the memory that contained them.
      const bool gone = !a.alive() && a.death_time < owner.death_time;
      if (a.layer != Layer::kTensor || (gone && a.end_reason == EndReason::kFreed)) continue;
      const TensorInfo* tensor = session.tensor(a.tensor);
      if (tensor == nullptr || tensor->name.empty()) continue;
      const std::string shape = Shape(*tensor);
      const std::string name =
          shape.empty() ? tensor->name : absl::StrCat(tensor->name, " (", shape, ")");
      const auto [it, fresh] = index.try_emplace(name, names.size());
      if (fresh) names.emplace_back(name, 0);
      ++names[it->second].second;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamedTensors); ++i) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", names[i].first);
    if (names[i].second > 1) absl::StrAppend(&text, ", ", names[i].second, " times");
  }
  if (names.size() > kNamedTensors) {
    absl::StrAppend(&text, " and ", FormatCount(names.size() - kNamedTensors), " more");
  }
  return text;
}

namespace {

// The largest number of rises of the held minimum without a fall between them.
std::int64_t RisesInARow(const std::vector<std::uint64_t>& lows) {
  std::int64_t most = 0, rises = 0;
  for (std::size_t i = 1; i < lows.size(); ++i) {
    if (lows[i] < lows[i - 1]) rises = 0;
    rises += lows[i] > lows[i - 1];
    most = std::max(most, rises);
  }
  return most;
}

// When memory stayed, in steps or in windows.
std::string WhenWords(const StepClock& clock, const Leak& leak, const SiteHistory& history,
                      const LeakEvidence& evidence) {
  const SiteJudgement& judgement = evidence.judgement;
  const std::int64_t window = judgement.window_end - judgement.window_begin;
  const bool held = evidence.by == LeakEvidence::By::kHeld;
  std::string where;
  if (evidence.by == LeakEvidence::By::kTogether)
    where = absl::StrCat(" at ", FormatCount(evidence.sites), " sites with callers in common");
  if (clock.of_steps()) {
    const std::string judged =
        absl::StrCat(FormatCount(judgement.old_births), " of the ", Steps(window), " judged (",
                     clock.NumberOf(judgement.window_begin), " to ",
                     clock.NumberOf(judgement.window_end - 1), ")");
    if (held)
      return absl::StrCat("Held memory rose and did not fall again in ", judged,
                          ", although no block is old: each is replaced by a larger one. ");
    return absl::StrCat(judged, " left memory behind", where, " that was not freed ",
                        Steps(judgement.guard), " later; the oldest of it is from step ",
                        leak.first_step, ". ");
  }
  // If a site frees nothing, every allocation is a rise; otherwise the rises between falls count.
  const std::int64_t rises = evidence.frees == 0 ? static_cast<std::int64_t>(evidence.allocations)
                                                 : RisesInARow(history.lows);
  return absl::StrCat(
      "No steps are known, so time is measured by ",
      clock.by_clock()      ? "the clock"
      : clock.births_only() ? "allocations"
                            : "what the program frees, copies and launches",
      ". Live memory of ", evidence.sites > 1 ? "these sites" : "this site", " rose ",
      FormatNumberOf(static_cast<std::uint64_t>(rises), "time"), " in a row; ",
      FormatCount(judgement.old_births), " of the ", FormatNumberOf(window, "window"),
      clock.by_clock() ? " of equal length that were judged "
                       : " of equal activity that were judged ",
      held ? "raised held memory, which did not fall again. "
           : absl::StrCat("left memory behind", where, " that was not freed later. "));
}

// Why it is too early to judge.
std::string TooShortWhy(const StepClock& clock, const Leak& leak, const LeakEvidence& evidence) {
  return absl::StrCat(
      "It holds more than after the warm-up, but some of its blocks were freed only ",
      clock.of_steps()
          ? Steps(evidence.longest_lifetime)
          : FormatNumberOf(static_cast<std::uint64_t>(evidence.longest_lifetime), "window"),
      " after their birth: what is younger than ",
      clock.of_steps() ? Steps(evidence.judgement.guard) : "twice that", " may still be freed. ",
      clock.of_steps() ? absl::StrCat("Record at least ", Steps(leak.steps_needed), " to judge it.")
                       : "Record a longer run to judge it.");
}

// How many of the site's allocations were freed.
std::string FreesWords(const StepClock& clock, const LeakEvidence& evidence) {
  const char* const allocations = evidence.thinned ? " allocations in the log" : " allocations";
  std::string text;
  if (evidence.frees > 0) {
    text = absl::StrCat(" Of its ", FormatCount(evidence.allocations), allocations, ", ",
                        FormatCount(evidence.frees), " were freed");
    if (clock.of_steps())
      absl::StrAppend(&text, ", none of them later than ", Steps(evidence.longest_lifetime),
                      " after its birth");
    text += ".";
  } else {
    text = absl::StrCat(" None of its ", FormatCount(evidence.allocations), allocations,
                        clock.of_steps() ? " was freed while the steps ran."
                                         : " was freed before the last one was made.");
  }
  if (evidence.short_lived >= 1)
    absl::StrAppend(&text, " About ",
                    FormatCount(static_cast<std::uint64_t>(std::min(evidence.short_lived, 9e18))),
                    " more lived shortly.");
  return text;
}

// What a longer run would show of a site that was born at a steady rate, but seldom. If each
// survivor has its own size, more of them say no more.
std::string SeldomWords(const StepClock& clock, const Leak& leak, const SiteHistory& history,
                        const LeakEvidence& evidence) {
  constexpr double kSteady = 0.1;
  const SiteJudgement& judgement = evidence.judgement;
  const bool seldom = judgement.old_births > 0 && judgement.old_births < kTellingBirths;
  if (!clock.of_steps() || evidence.by != LeakEvidence::By::kBlocks || leak.score >= kSuspicion ||
      evidence.level || !history.sizes_return || !seldom || judgement.steadiness < kSteady)
    return "";
  return absl::StrCat(
      " That is too seldom to tell a leak from a cache that fills up: if it goes on, a run of ",
      FormatCount(static_cast<std::uint64_t>((StepsToTell(judgement) + 9) / 10 * 10)),
      " steps would most likely show it.");
}

}  // namespace

std::string LeakWhy(const StepClock& clock, const Leak& leak, const SiteHistory& history,
                    const LeakEvidence& evidence) {
  if (leak.steps_needed > 0) return TooShortWhy(clock, leak, evidence);
  std::string why = absl::StrCat(
      WhenWords(clock, leak, history, evidence), FormatBytes(leak.bytes), " in ",
      BlockWord(leak.layer, leak.blocks),
      !evidence.freed_on_exit ? " are still held at the end"
      : clock.of_steps()      ? " were held when the last step began, and freed only when the "
                                "program ended"
                         : " were held to the end of the windows, and freed only when the program "
                           "ended");
  if (leak.bytes_per_step > 0)
    absl::StrAppend(&why, "; memory that is never freed grows by ",
                    FormatBytes(leak.bytes_per_step), " per step");
  why += ".";
  why += FreesWords(clock, evidence);
  if (evidence.level)
    absl::StrAppend(
        &why,
        " But other memory is freed in the same period, or the run does other work at its end than "
        "at its beginning: it may be a single pass that is still running.");
  if (evidence.one_pass)
    absl::StrAppend(
        &why,
        " But all other memory of that period was allocated in one pass through a network: its "
        "layers look like iterations of a loop. Mark steps, or record several.");
  if (evidence.only_allocates)
    why +=
        " But hardly anything was freed meanwhile: a model that is built, a file that is loaded "
        "or a table that fills in one loop looks the same. Mark steps, or record a longer run.";
  why += SeldomWords(clock, leak, history, evidence);
  if (evidence.access_known) {
    absl::StrAppend(&why,
                    evidence.in_use
                        ? " Kernels or copies still used most of it in the last steps."
                        : " No kernel, copy or memset had a pointer to it in the last steps.");
  }
  if (evidence.siblings > 0) {
    absl::StrAppend(&why, " ", FormatNumberOf(evidence.siblings, "other site"),
                    evidence.siblings == 1 ? " leaks" : " leak",
                    " in the same steps: one object may hold them all.");
  }
  if (!evidence.modules.empty()) {
    absl::StrAppend(&why, " Made while this module ran: ", evidence.modules, ".");
  }
  if (!evidence.tensors.empty()) {
    absl::StrAppend(&why, " Tensors in it: ", evidence.tensors, ".");
  }
  return why;
}

std::string LeakDisproof(const Leak& leak, const LeakEvidence& evidence) {
  std::string text = absl::StrCat(
      "It is no leak if it has a bound above ", BlockWord(leak.layer, leak.blocks),
      " that this run did not reach (a queue or cache that is still filling): record a longer run, "
      "and see whether the growth stops.");
  if (evidence.in_use) {
    absl::StrAppend(&text, " It is in use, so it may be meant to grow.");
  } else if (!evidence.access_known) {
    absl::StrAppend(&text, " The log does not show whether the survivors are still used.");
  } else {
    absl::StrAppend(&text, " Uses by kernels whose arguments the log does not know are not seen.");
  }
  return text;
}

std::string UnreachableWhy(const Leak& leak, const Unreachable& lost, std::uint64_t scanned_bytes) {
  return absl::StrCat(
      "No pointer to ",
      lost.blocks == leak.blocks
          ? (lost.blocks == 1 ? std::string("it") : std::string("any of it"))
          : absl::StrCat(FormatCount(lost.blocks), " of its ", FormatCount(leak.blocks),
                         " allocations (", FormatBytes(lost.bytes), ")"),
      " was left in ", FormatBytes(scanned_bytes),
      " of host memory, apart from the driver's own: nothing can free it any more.");
}

std::string UnreachableDisproof() {
  return "It is no leak if the program keeps the pointer where a scan of host memory cannot see "
         "it: packed or encoded, on the device only, in another process.";
}

std::string ImportWhy(const Session& session, const LeakSite& site) {
  const ImportKind kind = session.allocation(site.alive_at_end.front()).import_kind;
  std::string why = absl::StrCat(
      "Imported (", std::string(ImportName(kind)), ") and ",
      site.alive_at_end.size() == 1
          ? "never closed."
          : absl::StrCat(FormatCount(site.alive_at_end.size()), " of them never closed."));
  absl::StrAppend(&why,
                  IsImportView(kind)
                      ? " The memory that it maps was freed, or allocated before the log began."
                      : " It belongs to the process that allocated it, so it is in no total; an "
                        "open import can keep the owner's memory allocated.");
  return why;
}

std::string AliveWhy(const Session& session, const StepClock& clock, const LeakSite& site) {
  std::int64_t before = 0;
  std::set<std::int64_t> steps;
  for (const AllocationId id : site.alive_at_end) {
    const std::int64_t step = clock.IndexAt(session.allocation(id).birth);
    if (step < 0) {
      ++before;
    } else {
      steps.insert(step);
    }
  }
  const std::int64_t completed = clock.completed();
  if (completed == 0 && steps.empty()) {
    return "Alive at the end; the log has no steps to judge growth by.";
  }
  if (!clock.of_steps()) {
    if (steps.empty()) return "There before the log began, and kept.";
    return *steps.rbegin() < WarmupSteps(completed)
               ? "Made at the beginning and kept: as parameters, buffers and workspaces are."
               : "Alive at the end, and not grown steadily while the program ran.";
  }
  if (steps.empty()) {
    return "Made before the first step and kept: as parameters, buffers and workspaces are.";
  }
  const std::int64_t warmup = WarmupSteps(completed);
  if (*steps.rbegin() < warmup) {
    return absl::StrCat(before > 0 ? "Made before the first step or" : "Made",
                        " while the run warmed up (its first ", Steps(warmup),
                        ") and kept: as optimizer state and workspaces are.");
  }
  const std::int64_t age = completed - *steps.begin();
  if (before == 0 && age <= GuardSteps(site.longest_lifetime)) {
    return absl::StrCat("Born in the last ", Steps(age + 1),
                        " only: too young to be called a leak; this site's other blocks lived up "
                        "to ",
                        Steps(site.longest_lifetime), ".");
  }
  if (steps.size() == 1) {
    return absl::StrCat("All of it was born in step ", clock.NumberOf(*steps.begin()),
                        ": a single event, not growth.");
  }
  return absl::StrCat("Survivors of ", Steps(static_cast<std::int64_t>(steps.size())),
                      ", born irregularly or less and less: as caches and best-so-far copies are.");
}

}  // namespace memprof::analysis
