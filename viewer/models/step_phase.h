// Places within a training step. Steps do the same work in the same order, but not at the same
// speed: a place is counted in events, not in time, so that two moments of two steps are compared
// where both have done the same work. Pure; thread-safe.
#pragma once

#include <QString>
#include <optional>

#include "analysis/store/session.h"

namespace memprof::viewer {

struct StepPlace {
  std::size_t step = 0;  // of Session::steps()
  double share = 0;      // of the step's events that have passed, in [0, 1]
  QString phase;         // the outermost named range there that is only a part of the step, or ""
};

// None outside of all steps. O(ranges).
std::optional<StepPlace> PlaceInStep(const analysis::Session& session, analysis::TimeNs time);

// The instant of the step `to` (of Session::steps()) with the same place as `time` has in its own
// step: within the innermost named range that both steps have (the second "forward" of the one, the
// second "forward" of the other), else within the whole step. None if `time` is in no step.
// O(ranges).
std::optional<analysis::TimeNs> SamePlaceIn(const analysis::Session& session, analysis::TimeNs time,
                                            std::size_t to);

// "63 % of their step (backward)" of two moments that were moved to one place of two steps; "about
// 63 % …" where their shares of the steps differ, because a range before has more events in one.
// Empty if they are not in two steps. O(ranges).
QString CommonPlace(const analysis::Session& session, analysis::TimeNs first,
                    analysis::TimeNs second);

}  // namespace memprof::viewer
