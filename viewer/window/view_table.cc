// The views of the window.
#include "viewer/window/view_table.h"

#include <QStringList>

#include "viewer/views/allocations_view.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/map_view.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
namespace {

template <typename Kind>
View* Make(Document* document, Selection* selection, QWidget* parent) {
  return new Kind(document, selection, parent);
}

constexpr const char* kOverTime = "Over time";
constexpr const char* kWhy = "Why";

constexpr ViewEntry kViews[] = {
    {ViewKind::kTimeline, "timeline", kOverTime, "Timeline",
     "Memory over time, stacked, with steps, ranges and the capacity", Make<TimelineView>},
    {ViewKind::kAllocations, "allocations", kOverTime, "Allocations",
     "Every allocation a rectangle: its lifetime along, its bytes upwards", Make<AllocationsView>},
    {ViewKind::kMap, "map", kOverTime, "Address map",
     "Segments, blocks and holes at the chosen instant", Make<MapView>},
    {ViewKind::kLeaks, "leaks", kWhy, "Leaks", "What survives that should not, with the evidence",
     Make<LeakView>},
    {ViewKind::kFlame, "flame", kWhy, "Call sites", "Who allocates, as a flame graph",
     Make<FlameView>},
};

}  // namespace

std::span<const ViewEntry> ViewTable() { return kViews; }

int ViewIndex(ViewKind kind) {
  for (std::size_t i = 0; i < std::size(kViews); ++i)
    if (kViews[i].kind == kind) return static_cast<int>(i);
  return -1;
}

QString ViewNames() {
  QStringList names;
  for (const ViewEntry& view : kViews) names << QString::fromUtf8(view.name);
  const QString last = names.takeLast();
  return names.join(QStringLiteral(", ")) + QStringLiteral(" or ") + last;
}

}  // namespace memprof::viewer
