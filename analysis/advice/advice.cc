// Gathers findings, computes what each would save, ranks them and hides the noise.
#include "analysis/advice/advice.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "analysis/advice/internal/drafts.h"
#include "analysis/base/units.h"
#include "analysis/leaks/leaks.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace advice {
namespace {

struct EventLists {
  std::map<std::pair<int, PeakLayer>, std::vector<std::uint32_t>>&births, &deaths;
  const Session& session;

  void Reserve() {
    std::map<std::pair<int, PeakLayer>, std::array<std::size_t, 2>> counts;
    for (const AllocationRecord& a : session.records()) {
      const auto of = PeakLayerOf(a.layer);
      if (!of) continue;
      auto& [born, died] = counts[{a.device, *of}];
      ++born;
      died += a.death.valid();
    }
    for (const auto& [key, count] : counts) {
      births[key].reserve(count[0]);
      deaths[key].reserve(count[1]);
    }
  }

  void Birth(EventId event, AllocationId id) { Note(births, event, id); }
  void Death(EventId event, AllocationId id) { Note(deaths, event, id); }
  void After(EventId) {}
  void Note(std::map<std::pair<int, PeakLayer>, std::vector<std::uint32_t>>& lists, EventId event,
            AllocationId id) {
    const AllocationRecord& a = session.record(id);
    if (const auto of = PeakLayerOf(a.layer)) lists[{a.device, *of}].push_back(event.value);
  }
};

}  // namespace

Drafts::Drafts(const Session& session, const AdviceOptions& options)
    : session_(session),
      options_(options),
      levels_(session),
      accesses_(session),
      clock_(session),
      judged_(SelectJudged(session)) {
  // Only the search of gaps between uses needs these lists: from them it computes the churn within
  // a gap.
  if (!accesses_.evidence().any()) return;
  EventLists lists{births_, deaths_, session};
  lists.Reserve();
  WalkLifetimes(session, lists);
}

Draft& Drafts::At(Pattern pattern, int device, Layer layer, StackId stack) {
  const std::tuple key(pattern, device, layer, stack);
  if (last_ != nullptr && key == last_key_) return *last_;
  const std::uint32_t site = options_.site_of ? options_.site_of(stack) : stack.value;
  const auto [it, fresh] = drafts_.try_emplace({pattern, device, layer, site});
  if (fresh) {
    Finding& finding = it->second.finding;
    finding.pattern = pattern;
    finding.device = device;
    finding.layer = layer;
    finding.stack = stack;
  }
  last_key_ = key;
  last_ = &it->second;
  return it->second;
}

bool Drafts::IsExample(const Draft& draft, std::uint64_t bytes) const {
  const std::size_t most = std::max<std::size_t>(options_.max_examples, 1);
  return draft.examples.size() < most || draft.examples.back().first < bytes;
}

void Drafts::Count(Draft& draft, std::uint64_t bytes, AdviceExample example) {
  Finding& finding = draft.finding;
  const std::int64_t step = session_.StepOf(example.event);
  if (finding.count == 0) finding.first_step = finding.last_step = step;
  finding.first_step = std::min(finding.first_step, step);
  finding.last_step = std::max(finding.last_step, step);
  ++finding.count;
  finding.bytes += bytes;
  auto& examples = draft.examples;
  const std::size_t most = std::max<std::size_t>(options_.max_examples, 1);
  if (!IsExample(draft, bytes)) return;
  const auto at = std::find_if(examples.begin(), examples.end(),
                               [bytes](const auto& other) { return other.first < bytes; });
  examples.insert(at, {bytes, std::move(example)});
  if (examples.size() > most) examples.pop_back();
}

bool Drafts::UsesCanBeSeen(AllocationId id) const {
  const AllocationRecord& a = session_.record(id);
  return judged_[id.value] && a.device != kNoDevice && PeakLayerOf(a.layer) &&
         HasAddress(a.layer) && a.layer != Layer::kGraph;
}

bool LoopCount::InLoop(const StepClock& clock, EventId event) {
  return !clock.judged_at().valid() || clock.IndexAt(event) >= 1;
}

void LoopCount::Add(const StepClock& clock, EventId event) {
  const std::int64_t step = clock.IndexAt(event);
  ++times_;
  if (step < 1 || step >= clock.completed() || step == last_step_) return;
  last_step_ = step;
  ++steps_;
}

bool LoopCount::Loops(const StepClock& clock) const {
  if (!clock.judged_at().valid()) return times_ >= 10;  // no steps
  return steps_ >= 2 && 2 * steps_ >= clock.completed() - 1;
}

std::uint64_t Drafts::Between(const EventsByLayer& lists, const AllocationRecord& a, EventId after,
                              EventId before) {
  const auto of = PeakLayerOf(a.layer);
  const auto at = of ? lists.find({a.device, *of}) : lists.end();
  if (at == lists.end()) return 0;
  const auto first = std::upper_bound(at->second.begin(), at->second.end(), after.value);
  return static_cast<std::uint64_t>(std::lower_bound(first, at->second.end(), before.value) -
                                    first);
}

std::uint64_t Drafts::BirthsBetween(const AllocationRecord& a, EventId after,
                                    EventId before) const {
  return Between(births_, a, after, before);
}

std::uint64_t Drafts::DeathsBetween(const AllocationRecord& a, EventId after,
                                    EventId before) const {
  return Between(deaths_, a, after, before);
}

namespace {

// Computes the saving on the level of the draft's changes.
void Value(const PeakLevels& levels, Draft& draft) {
  Finding& finding = draft.finding;
  const auto of = PeakLayerOf(finding.layer);
  const Level* level = of ? levels.Find(finding.device, *of) : nullptr;
  if (level == nullptr || draft.changes.empty()) return;
  const std::uint64_t before = level->peak().bytes;
  finding.peak_of = of;
  finding.new_peak = level->With(draft.changes);
  finding.saves_bytes = before - std::min(before, finding.new_peak.bytes);
}

// The peak that a finding's bytes are compared with: its device's, else the largest.
std::uint64_t PeakFor(const PeakLevels& levels, int device) {
  std::uint64_t own = 0, largest = 0;
  for (const auto& [key, level] : levels.all()) {
    const std::uint64_t bytes = level.peak().bytes;
    if (key.first == device) own = std::max(own, bytes);
    largest = std::max(largest, bytes);
  }
  return own > 0 ? own : largest;
}

bool AlwaysShown(Pattern pattern) {
  return pattern == Pattern::kLeak || pattern == Pattern::kRetriedFailure ||
         pattern == Pattern::kChurn || pattern == Pattern::kCacheChurn ||
         pattern == Pattern::kPinnedHuge || pattern == Pattern::kSetting;
}

// The bytes that decide whether a finding matters: the saving of the peak, the saving on average,
// or the bytes moved unnecessarily.
double Weight(const Finding& finding, double seconds) {
  auto weight = static_cast<double>(std::max(finding.saves_bytes, finding.moved_bytes));
  if (seconds > 0) weight = std::max(weight, finding.byte_seconds / seconds);
  return weight;
}

bool Better(const Finding& a, const Finding& b) {
  if (IsTradeOff(a.pattern) != IsTradeOff(b.pattern)) return IsTradeOff(b.pattern);
  if (a.saves_bytes != b.saves_bytes) return a.saves_bytes > b.saves_bytes;
  if (a.byte_seconds != b.byte_seconds) return a.byte_seconds > b.byte_seconds;
  if (a.moved_bytes != b.moved_bytes) return a.moved_bytes > b.moved_bytes;
  if (a.count != b.count) return a.count > b.count;
  return std::tuple(a.pattern, a.device, a.layer, a.stack) <
         std::tuple(b.pattern, b.device, b.layer, b.stack);
}

void AddNotes(const Session& session, AdviceReport* report) {
  const AccessEvidence& evidence = report->evidence;
  if (!evidence.any()) {
    report->notes.emplace_back(
        "No launches, copies or memsets are in this log, so what the program did with its memory "
        "is "
        "not known: record with 'memprof run --cupti'.");
  } else if (evidence.launches > evidence.known_launches) {
    report->notes.push_back(
        absl::StrCat(evidence.launches - evidence.known_launches, " of ", evidence.launches,
                     " launches name no memory (graphs, kernels whose arguments the driver does "
                     "not describe, or "
                     "kernels without pointers): they may have used anything."));
  }
  if (session.steps().empty()) {
    const std::size_t leaks = LeaksOf(session)->leaks.size();
    report->notes.push_back(absl::StrCat(
        "No training steps were marked, so the savings of leaks are not computed",
        leaks > 0 ? absl::StrCat(" ('memprof leaks' finds ", FormatNumberOf(leaks, "leak"), ")")
                  : "",
        " and loops are judged over the whole run: call memprof_step(n), or memprof.step() in "
        "Python, at the start of each step."));
  }
}

}  // namespace
}  // namespace advice

bool IsTradeOff(Pattern pattern) {
  return pattern == Pattern::kIdle || pattern == Pattern::kOverReservation ||
         pattern == Pattern::kWaiting || pattern >= Pattern::kCheckpointing;
}

namespace advice {
namespace {

// Runs the finders one by one; false after a request to stop.
bool FindAll(Drafts& drafts, const ProgressFunction& progress) {
  static constexpr std::array kFinders = {FindLeakSavings,  FindUnused,         FindGaps,
                                          FindReusable,     FindRounding,       FindOverReservation,
                                          FindDeadWrites,   FindNeedlessCopies, FindPageableCopies,
                                          FindPinnedMisuse, FindManagedFaults,  FindChurn,
                                          FindRetries,      FindIdleSettings,   FindPinnedRounding,
                                          FindWaiting,      FindHeldOver,       FindRemedies};
  // Preparing their input took about as long as all finders together.
  constexpr double kBefore = 0.5;
  for (std::size_t i = 0; i < kFinders.size(); ++i) {
    const double done = static_cast<double>(i) / static_cast<double>(kFinders.size());
    if (progress && !progress(kBefore + (1 - kBefore) * done)) return false;
    kFinders[i](drafts);
    // Every pattern has one finder, and its changes can be as many as the allocations.
    for (auto& [key, draft] : drafts.all()) {
      Value(drafts.levels(), draft);
      draft.changes = {};
    }
  }
  return true;
}

// Whether a finding weighs too little to be reported.
bool IsNoise(const Drafts& drafts, const Finding& finding, double noise, double seconds) {
  if (noise <= 0 || AlwaysShown(finding.pattern)) return false;
  const double weight = Weight(finding, seconds);
  return weight == 0 ||
         weight < noise * static_cast<double>(PeakFor(drafts.levels(), finding.device));
}

}  // namespace
}  // namespace advice

AdviceReport FindAdvice(const Session& session, const AdviceOptions& options) {
  if (options.progress && !options.progress(0)) return {};
  advice::Drafts drafts(session, options);
  AdviceReport report;
  report.evidence = drafts.accesses().evidence();
  report.patterns.resize(kPatternCount);
  for (int i = 0; i < kPatternCount; ++i) {
    PatternSummary& summary = report.patterns[static_cast<std::size_t>(i)];
    summary.missing = advice::MissingFor(session, static_cast<Pattern>(i), report.evidence);
    summary.looked_for = summary.missing.empty() &&
                         (!IsRemedyOfPeak(static_cast<Pattern>(i)) || options.symbols != nullptr);
  }
  if (!advice::FindAll(drafts, options.progress)) return {};

  const double seconds =
      static_cast<double>(session.events().last_time() - session.events().first_time()) * 1e-9;
  report.noise_bytes = static_cast<std::uint64_t>(
      options.noise * static_cast<double>(advice::PeakFor(drafts.levels(), kNoDevice)));
  for (auto& [key, draft] : drafts.all()) {
    Finding& finding = draft.finding;
    PatternSummary& summary = report.patterns[static_cast<std::size_t>(finding.pattern)];
    finding.below_noise = advice::IsNoise(drafts, finding, options.noise, seconds);
    report.hidden += finding.below_noise;
    ++(finding.below_noise ? summary.hidden : summary.findings);
    if (finding.below_noise && !options.keep_noise) continue;
    for (auto& [size, example] : draft.examples) finding.examples.push_back(std::move(example));
    advice::Explain(session, draft, &finding);
    report.findings.push_back(std::move(finding));
  }
  report.combinations = std::move(drafts.combinations());
  std::stable_sort(report.findings.begin(), report.findings.end(), advice::Better);
  advice::AddNotes(session, &report);
  return report;
}

}  // namespace memprof::analysis
