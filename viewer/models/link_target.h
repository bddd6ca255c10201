// From links to what they mean in a session, and back.
#pragma once

#include <QStringList>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "viewer/geometry/timeline_bands.h"
#include "viewer/models/link.h"

namespace memprof::viewer {

// What the views share. What is absent stays as it is.
struct LinkTarget {
  std::optional<int> device;
  std::optional<analysis::TimeNs> instant;
  std::optional<analysis::TimeWindow> window;
  std::optional<analysis::AllocationFilter> filter;
  analysis::AllocationId allocation;
  analysis::StackId site;
  ViewState state;       // its file as the log names it
  QStringList problems;  // what the session does not have, a line each
};

// The session of a link. Timelines may be null: then no device has a peak.
struct LinkSession {
  std::shared_ptr<const analysis::Session> session;
  std::shared_ptr<analysis::Symbols> symbols;
  std::shared_ptr<const std::vector<TimelineBands>> timelines;
  analysis::TimeWindow bounds;
};

// `device`: of the peak, unless the link names one. Thread-safe; for jobs: may look up the names of
// all call stacks.
LinkTarget FindTarget(const LinkSession& in, const Link& link, int device,
                      const std::stop_token& stop);

// The state of the selection as a link, with no view. For jobs too, but fast where the names of the
// selected site were shown.
struct SelectionState {
  int device = 0;
  AxisKind axis = AxisKind::kTime;
  analysis::TimeNs instant = 0;
  std::optional<analysis::TimeWindow> window;  // if zoomed
  analysis::AllocationFilter filter;
  analysis::AllocationId allocation;
  analysis::StackId site;
};
SelectionState StateOf(const Selection& selection);
Link LinkOf(const LinkSession& in, const SelectionState& state);

// The hash of LinkedSite: of functions, names of files and lines, not of addresses and folders.
QString StackHash(analysis::Symbols& symbols, analysis::StackId stack);

}  // namespace memprof::viewer
