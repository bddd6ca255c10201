// The views of the window: one row each, in their order in the list.
#pragma once

#include <QString>
#include <span>

#include "viewer/views/view.h"
#include "viewer/window/options.h"

namespace memprof::viewer {

struct ViewEntry {
  ViewKind kind;
  const char* name;   // of --view
  const char* group;  // heading above it in the list of views
  const char* title;
  const char* help;  // a sentence: what it shows
  View* (*make)(Document*, Selection*, QWidget*);
};

std::span<const ViewEntry> ViewTable();

// Index into ViewTable(); -1 if there is no view of that kind.
int ViewIndex(ViewKind kind);

// The page of a fleet has a name too, and is no view of a log.
inline constexpr const char* kFleetViewName = "fleet";

// The names of all views, for messages: "timeline, map, leaks or flame".
QString ViewNames();

}  // namespace memprof::viewer
