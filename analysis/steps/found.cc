// Chooses among the sources of steps.
#include "analysis/steps/found.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/base/units.h"
#include "analysis/steps/figures.h"
#include "analysis/steps/internal/frames.h"
#include "analysis/steps/internal/pattern.h"
#include "analysis/steps/internal/ranges.h"
#include "analysis/steps/internal/stream.h"
#include "analysis/steps/internal/updates.h"
#include "proto/memprof.pb.h"

namespace memprof::analysis {
namespace {

// Confidence in ranges whose names mean steps, in those of the optimizer, and in other repeated
// ones.
constexpr double kNamesStep = 0.97, kNamesOptimizer = 0.7, kRepeats = 0.5;
// For steps that are found only by the optimizer's call stacks, and by the end of gradients.
constexpr double kOptimizerWorks = 0.85, kGradientsUsed = 0.82;
// The most for steps that other evidence contradicts.
constexpr double kDoubted = 0.6;

std::string WholePercent(double share) { return absl::StrCat(std::lround(share * 100), " %"); }

// Steps from `begins`, each up to the next, the last up to the end of the log.
void SetEnds(const Session& session, std::vector<StepInfo>* steps) {
  for (std::size_t i = 0; i + 1 < steps->size(); ++i) (*steps)[i].end = (*steps)[i + 1].begin;
  if (!steps->empty()) {
    steps->back().end = std::max(session.run().end_time, session.events().last_time());
    steps->back().end = std::max(steps->back().end, steps->back().begin);
  }
}

std::int64_t FindWarmUp(const Session& session, std::span<const StepInfo> steps) {
  std::vector<double> likeness;
  for (const StepFigures& figures : DescribeSteps(session, steps))
    likeness.push_back(figures.likeness);
  return WarmUpSteps(likeness);
}

// It marks the steps of PyTorch, unless the program does.
bool HasAgent(const Session& session) {
  const auto& sources = session.sources();
  return std::any_of(sources.begin(), sources.end(),
                     [](const SourceInfo& source) { return source.name == "agent"; });
}

FoundSteps FromMarks(const Session& session) {
  FoundSteps found;
  if (session.step_origin().source != StepSource::kMarks) {
    found.origin.why = "the program marked no steps";
    return found;
  }
  found.steps.assign(session.steps().begin(), session.steps().end());
  found.origin = {.source = StepSource::kMarks, .confidence = 1};
  found.origin.why = absl::StrCat(
      HasAgent(session) ? "memprof's agent, or the program, marked " : "the program marked ",
      FormatNumberOf(found.steps.size(), "step"));
  return found;
}

// The first event at or after `time`.
EventId EventFrom(const Session& session, TimeNs time) {
  const EventId before = time == 0 ? EventId() : session.EventAt(time - 1);
  return before.valid() ? EventId(before.value + 1) : EventId(0);
}

FoundSteps FromRange(const Session& session, const RepeatedRange& range) {
  FoundSteps found;
  const auto ranges = session.ranges();
  // A range of the optimizer ends a step: the next step begins after it.
  const bool ends = !range.names_step && range.names_optimizer;
  if (ends) found.steps.push_back({.number = 0, .begin = session.events().first_time()});
  for (std::size_t i = 0; i < range.rows.size(); ++i) {
    if (ends && i + 1 == range.rows.size()) break;  // no step follows the last range
    StepInfo step;
    step.begin = ends ? ranges[range.rows[i]].end : ranges[range.rows[i]].begin;
    step.number =
        range.numbers.empty() ? static_cast<std::int64_t>(i) + (ends ? 1 : 0) : range.numbers[i];
    found.steps.push_back(step);
  }
  for (StepInfo& step : found.steps) step.event = EventFrom(session, step.begin);
  SetEnds(session, &found.steps);
  StepOrigin& origin = found.origin;
  origin.source = StepSource::kRanges;
  origin.confidence = range.names_step        ? kNamesStep
                      : range.names_optimizer ? kNamesOptimizer
                                              : kRepeats * (0.5 + 0.5 * range.covered);
  origin.why = absl::StrCat("the range \"", range.name, "\" comes ",
                            FormatNumberOf(range.rows.size(), "time"),
                            range.names_step        ? ", and its name means a step"
                            : range.names_optimizer ? ", and steps end with the optimizer"
                                                    : ", but its name does not mean a step");
  return found;
}

FoundSteps FromRanges(const Session& session, const std::vector<RepeatedRange>& repeated) {
  FoundSteps none;
  none.origin.why =
      session.ranges().empty() ? "the program named no ranges" : "no range repeats regularly";
  if (repeated.empty()) return none;
  if (repeated.front().names_step) return FromRange(session, repeated.front());
  for (const RepeatedRange& range : repeated)
    if (range.names_optimizer) return FromRange(session, range);
  return FromRange(session, repeated.front());
}

// An allocation of a framework's allocator may have caused one of the driver just before, which
// belongs to the step too. One of the driver was caused by none, and another step may begin with
// what is before it.
EventId BeginBefore(const Session& session, EventId birth) {
  const EventTable& events = session.events();
  const bool of_driver = OccupiesDevice(events.layer(birth.value));
  std::uint32_t begin = birth.value;
  while (begin > 0) {
    const Op op = events.op(begin - 1);
    const Layer layer = events.layer(begin - 1);
    const bool below =
        !of_driver && op == Op::kAlloc && (layer == Layer::kSegment || OccupiesDevice(layer));
    if (!below && op != Op::kMemoryInfo) break;
    --begin;
  }
  return EventId(begin);
}

// Which of the stream's tokens belong to backward passes; `roles` are of its allocations.
void SetTrains(const std::vector<Role>& roles, TokenStream* tokens) {
  if (roles.empty()) return;
  tokens->trains.assign(tokens->distinct, false);
  for (std::size_t p = 0; p < roles.size(); ++p)
    if (roles[p] == Role::kBackward) tokens->trains[tokens->token[p]] = true;
}

FoundSteps StepsAt(const Session& session, const StepStream& stream,
                   const std::vector<std::uint32_t>& begins) {
  FoundSteps found;
  for (const std::uint32_t begin : begins) {
    const EventId event = BeginBefore(session, stream.births[begin]);
    if (!found.steps.empty() && event <= found.steps.back().event) continue;  // nothing between
    found.steps.push_back({.number = static_cast<std::int64_t>(found.steps.size()),
                           .begin = session.events().time(event.value),
                           .event = event});
  }
  SetEnds(session, &found.steps);
  found.origin.source = StepSource::kPattern;
  return found;
}

// The confidence in steps of updates. From fewer than three nothing can be computed.
double ConfidenceOf(const Updates& updates) {
  if (updates.begins.size() < 3) return kDoubted;
  return updates.by_optimizer ? kOptimizerWorks : kGradientsUsed;
}

// The step in which the program ran out of memory had no update, and is not as long as the others.
void AddUnfinished(const Session& session, const Updates& updates,
                   std::vector<std::uint32_t>* begins) {
  if (updates.unfinished == 0 || begins->size() < 2 || !session.EndsWithFailure()) return;
  const std::uint32_t last = begins->back();
  if (updates.unfinished >= last + (last - (*begins)[begins->size() - 2]) / 2)
    begins->push_back(updates.unfinished);
}

// Steps that each end with an update, whatever repeats.
FoundSteps FromUpdates(const Session& session, const StepStream& stream, const Updates& updates) {
  std::vector<std::uint32_t> begins = updates.begins;
  AddUnfinished(session, updates, &begins);
  FoundSteps found = StepsAt(session, stream, begins);
  found.origin.confidence = ConfidenceOf(updates);
  found.origin.why = absl::StrCat(
      updates.by_optimizer ? "after each backward pass, or several, the optimizer allocates: "
                           : "after each backward pass, or several, gradients are freed: ",
      FormatNumberOf(updates.begins.size(), "step"), updates.begins.size() == 1 ? " ends" : " end",
      " with it");
  return found;
}

// Whether `a` and `b` are equal, except for a first or a last one that only one of them has.
bool SameCount(std::size_t a, std::size_t b) { return a <= b + 1 && b <= a + 1; }

// Whether steps of the pattern have several different updates each, as for two models that train
// alternately. With gradients only, their models are not known.
bool UpdatesAlternate(const StepStream& stream, const Updates& updates, const Period& period) {
  constexpr double kSame = 0.5;
  if (updates.by_optimizer || period.confidence < kStepConfidence) return false;
  if (period.begins.size() * 2 > updates.begins.size() + 1) return false;
  return CompareWindows(stream.tokens, updates.begins, stream.tokens.size()).common < kSame;
}

// Other begins for steps that were found to begin within passes: after the runs of the optimizer,
// or else at forward passes, if their number is that of the steps or one more (the first one then
// counted as set-up). Empty if the begins do not change.
std::vector<std::uint32_t> OutOfPasses(const std::vector<Role>& roles,
                                       const std::vector<std::uint32_t>& begins,
                                       const std::vector<std::uint32_t>& optimized) {
  if (!BeginAmidPasses(roles, begins)) return {};
  for (const std::vector<std::uint32_t>& other : {optimized, ForwardPasses(roles)})
    if (other.size() >= begins.size() && other.size() <= begins.size() + 1) return other;
  return {};
}

std::string PeriodWhy(const Period& period, bool by_size, bool moved) {
  return absl::StrCat(
      "each of about ", FormatCount(static_cast<std::uint64_t>(std::lround(period.typical))),
      " allocations; ", by_size ? "places and sizes" : "places, with sizes that vary,", " are ",
      WholePercent(period.common_likeness), " alike in two steps of five, ",
      WholePercent(period.weighted_likeness),
      " over all, and memory was back at its lowest before ", WholePercent(period.closed),
      " of them", period.trains ? "; each has a backward pass, by its call stacks" : "",
      moved ? "; memory is lowest amid the passes, so steps begin where those do" : "");
}

// Whether the middle quarter of a run repeats so little that a search of the whole run would be a
// waste of time. Does not detect fewer than 16 steps.
bool NothingRepeats(const Session& session, StepLayer layer, bool by_size) {
  constexpr double kHardly = 0.5;
  const auto eighth = static_cast<std::uint32_t>(session.events().size() / 8);
  const StepStream middle =
      StreamOf(session, layer, by_size, EventId(eighth * 3), EventId(eighth * 5));
  return FindPeriod(middle.tokens).confidence < kHardly;
}

// The period of `stream`, and whether its sizes repeat too. If batches vary in shape, or their
// shapes go round, only the places repeat from step to step.
std::pair<Period, bool> BestPeriod(const Session& session, StepLayer layer,
                                   const StepStream& stream, const std::vector<Role>& roles,
                                   std::uint32_t optimizer_runs) {
  Period period = FindPeriod(stream.tokens, optimizer_runs);
  StepStream places = StreamOf(session, layer, false);
  SetTrains(roles, &places.tokens);
  constexpr std::uint32_t kMinPlaces = 4;
  if (places.tokens.distinct < kMinPlaces) return {std::move(period), true};
  Period coarser = FindPeriod(places.tokens, optimizer_runs);
  coarser.confidence *= 0.95;
  // Lengths that go round make a period of several steps. With places alone they are as alike as
  // one another.
  const bool finer = coarser.confidence >= kStepConfidence &&
                     coarser.begins.size() + 1 >= 2 * period.begins.size();
  if (coarser.confidence <= period.confidence && !finer) return {std::move(period), true};
  return {std::move(coarser), false};
}

// `optimizer_runs`: how often a range of the optimizer occurred; 0 = unknown. With `hurry`, only a
// part of a long log is searched first.
FoundSteps FromPattern(const Session& session, std::uint32_t optimizer_runs, bool hurry) {
  constexpr std::size_t kLong = 400'000;
  FoundSteps found;
  const StepLayer layer = ChooseStepLayer(session);
  if (hurry && session.events().size() > kLong && NothingRepeats(session, layer, true) &&
      NothingRepeats(session, layer, false)) {
    found.origin.why = "no pattern repeats in the middle of the run";
    return found;
  }
  StepStream stream = StreamOf(session, layer, true);
  const StackRoles stacks = RolesOfStacks(session);
  const std::vector<Role> roles = RolesOf(session, stacks, stream);
  SetTrains(roles, &stream.tokens);
  const Updates updates = FindUpdates(session, stacks, stream, roles);
  if (optimizer_runs == 0) optimizer_runs = static_cast<std::uint32_t>(updates.begins.size());
  const auto [period, by_size] = BestPeriod(session, layer, stream, roles, optimizer_runs);
  const bool learns = !updates.begins.empty();
  // If little repeats, steps begin where the updates indicate.
  const bool agree = learns && period.confidence >= kDoubted &&
                     SameCount(period.begins.size(), updates.begins.size());
  if (learns && !agree && !UpdatesAlternate(stream, updates, period))
    return FromUpdates(session, stream, updates);
  if (period.begins.empty()) {
    found.origin.why =
        absl::StrCat("no pattern repeats in ", FormatNumberOf(stream.tokens.size(), "allocation"));
    return found;
  }
  const std::vector<std::uint32_t> moved = OutOfPasses(
      roles, period.begins, updates.by_optimizer ? updates.begins : std::vector<std::uint32_t>());
  std::vector<std::uint32_t> begins = moved.empty() ? period.begins : moved;
  AddUnfinished(session, updates, &begins);
  found = StepsAt(session, stream, begins);
  found.origin.confidence = period.confidence;
  found.origin.why = PeriodWhy(period, by_size, !moved.empty());
  if (agree) {
    found.origin.confidence = std::max(found.origin.confidence, ConfidenceOf(updates));
    absl::StrAppend(&found.origin.why, updates.by_optimizer ? "; the optimizer works as often"
                                                            : "; gradients are used as often");
  }
  if (!learns && LieInForwardPass(session, stream, period.begins)) {
    found.origin.confidence = std::min(found.origin.confidence, kDoubted);
    absl::StrAppend(&found.origin.why, "; but all of them lie in one line of a forward pass");
  }
  if (updates.passes > 0 && found.steps.size() > updates.passes + 1) {
    found.origin.confidence = std::min(found.origin.confidence, kDoubted);
    absl::StrAppend(&found.origin.why, "; but there are only ",
                    FormatNumberOf(updates.passes, "backward pass", "backward passes"));
  }
  return found;
}

FoundSteps Find(const Session& session, StepChoice choice, bool hurry) {
  if (choice == StepChoice::kMarks) return FromMarks(session);
  if (choice == StepChoice::kAuto) {
    FoundSteps marks = FromMarks(session);
    if (!marks.steps.empty()) return marks;
  }
  if (session.events().Has(Op::kThinned)) {
    FoundSteps none;
    none.origin.why =
        "most of what repeats is left out of a log that is always on: only marks tell";
    return none;
  }
  const std::vector<RepeatedRange> repeated = FindRepeatedRanges(session);
  FoundSteps ranges;
  if (choice != StepChoice::kPattern) ranges = FromRanges(session, repeated);
  if (choice == StepChoice::kRanges || ranges.origin.confidence >= kNamesStep) return ranges;
  std::uint32_t optimizer_runs = 0;
  for (const RepeatedRange& range : repeated)
    if (range.names_optimizer && optimizer_runs == 0)
      optimizer_runs = static_cast<std::uint32_t>(range.rows.size());
  FoundSteps pattern = FromPattern(session, optimizer_runs, hurry);
  if (choice == StepChoice::kPattern) return pattern;
  if (!pattern.steps.empty() && pattern.origin.confidence >= ranges.origin.confidence)
    return pattern;
  if (!ranges.steps.empty()) return ranges;
  pattern.origin.why.insert(
      0, absl::StrCat("the program marked no steps, ", ranges.origin.why, ", and "));
  return pattern;
}

}  // namespace

bool AgentWouldHelp(const Session& session) {
  bool torch = false;
  if (session.run().imported()) return false;  // it is no run that could be recorded again
  for (const SourceInfo& source : session.sources()) {
    if (source.state != log::SOURCE_ON && source.state != log::SOURCE_LOST) continue;
    if (source.name == "agent") return false;
    torch = torch || source.name == "torch";
  }
  return torch;
}

std::string_view StepSourceName(StepSource source) {
  switch (source) {
    case StepSource::kNone:
      return "none";
    case StepSource::kMarks:
      return "marks";
    case StepSource::kRanges:
      return "ranges";
    case StepSource::kPattern:
      return "pattern";
  }
  return "none";
}

FoundSteps FindSteps(const Session& session, StepChoice choice) {
  FoundSteps found = Find(session, choice, false);
  if (!found.steps.empty()) found.origin.warm_up_steps = FindWarmUp(session, found.steps);
  return found;
}

FoundSteps FindStepsToUse(const Session& session) {
  FoundSteps found = Find(session, StepChoice::kAuto, true);
  if (!found.steps.empty()) found.origin.warm_up_steps = FindWarmUp(session, found.steps);
  if (found.origin.confidence < kStepConfidence) found.steps.clear();
  return found;
}

}  // namespace memprof::analysis
