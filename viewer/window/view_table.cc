// The views of the window.
#include "viewer/window/view_table.h"

#include <QStringList>

#include "viewer/views/advice_view.h"
#include "viewer/views/allocations_view.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/fragmentation_view.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/map_view.h"
#include "viewer/views/processes_view.h"
#include "viewer/views/quality_view.h"
#include "viewer/views/source_view.h"
#include "viewer/views/tensors_view.h"
#include "viewer/views/timeline_view.h"
#include "viewer/views/what_if_view.h"

namespace memprof::viewer {
namespace {

template <typename Kind>
View* Make(Document* document, Selection* selection, QWidget* parent) {
  return new Kind(document, selection, parent);
}

constexpr const char* kOverTime = "Over time";
constexpr const char* kWhy = "Why";
constexpr const char* kCompare = "Compare";
constexpr const char* kTrust = "Trust";

constexpr ViewEntry kViews[] = {
    {ViewKind::kTimeline, "timeline", kOverTime, "Timeline",
     "Memory over time, stacked, with steps, ranges and the capacity", Make<TimelineView>},
    {ViewKind::kAllocations, "allocations", kOverTime, "Allocations",
     "Every allocation a rectangle: its lifetime along, its bytes upwards", Make<AllocationsView>},
    {ViewKind::kMap, "map", kOverTime, "Address map",
     "Segments, blocks and holes at the chosen instant", Make<MapView>},
    {ViewKind::kLeaks, "leaks", kWhy, "Leaks",
     "Memory that should have been freed, with the evidence", Make<LeakView>},
    {ViewKind::kFlame, "flame", kWhy, "Call sites", "Which code allocates, as a flame graph",
     Make<FlameView>},
    {ViewKind::kSource, "source", kWhy, "Source",
     "The program's source files, with the memory of each line", Make<SourceView>},
    {ViewKind::kTensors, "tensors", kWhy, "Tensors",
     "Every tensor, block or driver allocation with all its fields, and its lifetime as a bar",
     Make<TensorsView>},
    {ViewKind::kFragmentation, "fragmentation", kWhy, "Holes and OOM",
     "Free memory that cannot be used, which blocks pin it, and why requests failed",
     Make<FragmentationView>},
    {ViewKind::kAdvice, "advice", kWhy, "Advice",
     "What wastes memory or transfers, what to change, and what that would save exactly",
     Make<AdviceView>},
    {ViewKind::kWhatIf, "whatif", kCompare, "What if",
     "Other allocators, and the peak without a part of the memory", Make<WhatIfView>},
    {ViewKind::kDiff, "diff", kCompare, "Diff", "Two logs, or two moments of one, compared",
     Make<DiffView>},
    {ViewKind::kProcesses, "processes", kCompare, "Processes",
     "The processes of a job side by side: how similar they are, and which are outliers",
     Make<ProcessesView>},
    {ViewKind::kQuality, "quality", kTrust, "Data quality",
     "How far the log can be trusted: what was lost, which sources were on, what recording cost",
     Make<QualityView>},
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
  const QString last = QString::fromUtf8(kFleetViewName);
  return names.join(QStringLiteral(", ")) + QStringLiteral(" or ") + last;
}

}  // namespace memprof::viewer
