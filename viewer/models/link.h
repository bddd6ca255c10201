// What a window shows, as text after the name of a log: "train.mprof#view=leaks&step=39". Links are
// for people, reports and notes: they name things as people do, and hold no id that a growing log
// changes. Pure; thread-safe.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>
#include <utility>

#include "analysis/base/types.h"
#include "analysis/filter/allocation_filter.h"
#include "viewer/models/selection.h"
#include "viewer/models/view_state.h"

namespace memprof::viewer {

// An instant of a recording. kTime: ns since the log's start. kStep: a number of a step.
struct Moment {
  enum class Kind : std::uint8_t { kTime, kStep, kEvent, kPeak, kEnd };
  Kind kind = Kind::kTime;
  std::uint64_t value = 0;
  bool operator==(const Moment&) const = default;
};

// A call site as "history.cc:9", or a function where no file is known. Several call stacks may have
// it: `stack`, a hash of the names in its frames, tells which; "" = the one that requested most.
struct LinkedSite {
  QString place, stack;
  bool operator==(const LinkedSite&) const = default;
  bool empty() const { return place.isEmpty() && stack.isEmpty(); }
};

// An allocation by its layer, address and birth (ns since the log's start).
struct LinkedAllocation {
  analysis::Layer layer = analysis::Layer::kUnspecified;
  std::uint64_t address = 0, birth = 0;
  bool operator==(const LinkedAllocation&) const = default;
};

// What is absent stays as it is when the log is opened.
struct Link {
  QString view;     // a name of --view
  ViewState state;  // of that view
  std::optional<AxisKind> axis;
  std::optional<int> device;  // analysis::kNoDevice = host
  std::optional<Moment> at;
  std::optional<std::pair<Moment, Moment>> window;
  LinkedSite site;
  std::optional<LinkedAllocation> allocation;
  // The filter; its site and process, whose ids mean nothing elsewhere, are the two below.
  analysis::AllocationFilter filter;
  LinkedSite only;
  std::optional<int> rank, process;  // of the processes with ranks; else the row

  bool operator==(const Link&) const = default;
  bool empty() const { return *this == Link(); }
};

// The part after '#'. What is unknown or wrong is left out, and `problems` gets a line on each.
Link ParseLink(const QString& fragment, QStringList* problems);
// The reverse; "" of an empty link.
QString LinkText(const Link& link);
// A line on each of the words `asked` for that are not `shown`.
QStringList RefusedWords(const ViewState& asked, const ViewState& shown);

// Names of logs, the last of which may have a link. A file whose name contains '#' comes first.
struct LinkedLogs {
  QStringList logs;
  QString fragment;
};
LinkedLogs SplitLinks(const QStringList& names);

// The command line that opens these logs so, quoted for a POSIX shell.
QString LinkCommand(const QStringList& logs, const QString& fragment);

// "12.5s": exact to the nanosecond.
QString LinkTime(std::uint64_t ns);

}  // namespace memprof::viewer
