// Places within a training step, counted in events.
#include "viewer/models/step_phase.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <vector>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::RangeInfo;
using analysis::Session;
using analysis::StepInfo;
using analysis::TimeNs;

// A range that is nearly the whole step names no phase of it.
constexpr double kWholeStep = 0.95;

std::optional<std::size_t> StepOf(const Session& session, TimeNs time) {
  const auto steps = session.steps();
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), time,
                       [](TimeNs at, const StepInfo& step) { return at < step.begin; });
  if (after == steps.begin() || (after - 1)->end <= time) return std::nullopt;
  return static_cast<std::size_t>(after - 1 - steps.begin());
}

// The number of events until a time.
std::int64_t EventsUntil(const Session& session, TimeNs time) {
  const analysis::EventId event = session.EventAt(time);
  return event.valid() ? std::int64_t{event.value} + 1 : 0;
}

double ShareOf(const Session& session, TimeNs begin, TimeNs end, TimeNs time) {
  const std::int64_t first = EventsUntil(session, begin), last = EventsUntil(session, end);
  if (last <= first) return 0;
  return static_cast<double>(EventsUntil(session, time) - first) /
         static_cast<double>(last - first);
}

TimeNs AtShare(const Session& session, TimeNs begin, TimeNs end, double share) {
  const std::int64_t first = EventsUntil(session, begin), last = EventsUntil(session, end);
  const std::int64_t count = first + std::llround(share * static_cast<double>(last - first));
  if (count <= 0) return begin;
  return std::clamp(session.events().time(static_cast<std::size_t>(count - 1)), begin, end);
}

// The ranges within a step, in their order in the log.
std::vector<const RangeInfo*> RangesIn(const Session& session, const StepInfo& step) {
  std::vector<const RangeInfo*> ranges;
  for (const RangeInfo& range : session.ranges())
    if (range.begin >= step.begin && range.end <= step.end && range.begin < range.end)
      ranges.push_back(&range);
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const RangeInfo* a, const RangeInfo* b) { return a->begin < b->begin; });
  return ranges;
}

// The range of `others` that corresponds to `range` of `own`: as many of its name come before.
const RangeInfo* Counterpart(const std::vector<const RangeInfo*>& own, const RangeInfo& range,
                             const std::vector<const RangeInfo*>& others) {
  const auto alike = [&range](const RangeInfo* other) {
    return other->name == range.name && other->depth == range.depth;
  };
  std::ptrdiff_t before = 0;
  for (auto at = own.begin(); *at != &range; ++at) before += alike(*at) ? 1 : 0;
  for (const RangeInfo* other : others)
    if (alike(other) && before-- == 0) return other;
  return nullptr;
}

bool Contains(const RangeInfo& range, TimeNs time) {
  return range.begin <= time && time < range.end;
}

}  // namespace

std::optional<StepPlace> PlaceInStep(const Session& session, TimeNs time) {
  const auto step = StepOf(session, time);
  if (!step) return std::nullopt;
  const StepInfo& whole = session.steps()[*step];
  StepPlace place{*step, ShareOf(session, whole.begin, whole.end, time), {}};
  const double length = static_cast<double>(whole.end - whole.begin);
  const RangeInfo* phase = nullptr;
  for (const RangeInfo* range : RangesIn(session, whole))
    if (Contains(*range, time) &&
        static_cast<double>(range->end - range->begin) < kWholeStep * length &&
        (phase == nullptr || range->depth < phase->depth))
      phase = range;
  if (phase != nullptr) place.phase = ToQString(session.string(phase->name));
  return place;
}

std::optional<TimeNs> SamePlaceIn(const Session& session, TimeNs time, std::size_t to) {
  const auto from = StepOf(session, time);
  if (!from || to >= session.steps().size()) return std::nullopt;
  const StepInfo &own = session.steps()[*from], &other = session.steps()[to];
  const auto ranges = RangesIn(session, own), others = RangesIn(session, other);
  std::vector<const RangeInfo*> around;
  for (const RangeInfo* range : ranges)
    if (Contains(*range, time)) around.push_back(range);
  std::stable_sort(around.begin(), around.end(),
                   [](const RangeInfo* a, const RangeInfo* b) { return a->depth > b->depth; });
  for (const RangeInfo* range : around)
    if (const RangeInfo* same = Counterpart(ranges, *range, others))
      return AtShare(session, same->begin, same->end,
                     ShareOf(session, range->begin, range->end, time));
  return AtShare(session, other.begin, other.end, ShareOf(session, own.begin, own.end, time));
}

QString CommonPlace(const Session& session, TimeNs first, TimeNs second) {
  const auto a = PlaceInStep(session, first), b = PlaceInStep(session, second);
  if (!a || !b || a->step == b->step) return {};
  const bool differ = std::abs(a->share - b->share) >= 0.015;
  QString text = QCoreApplication::translate(
                     "Diff", differ ? "about %1 % of their step" : "%1 % of their step")
                     .arg(std::lround(100 * b->share));
  if (!b->phase.isEmpty() && a->phase == b->phase) text += QStringLiteral(" (%1)").arg(b->phase);
  return text;
}

}  // namespace memprof::viewer
