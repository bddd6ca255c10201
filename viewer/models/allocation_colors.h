// What the colours of allocations mean, and which colour each of them has. Made off the GUI thread;
// never changes afterwards.
#pragma once

#include <QColor>
#include <QString>
#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/filter/allocation_filter.h"
#include "analysis/store/allocation_set.h"
#include "analysis/symbols/symbols.h"
#include "viewer/geometry/allocation_index.h"
#include "viewer/models/document.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// In the order in which views offer them.
enum class AllocationColoring { kSite, kCategory, kSize, kLifetime, kLeak };

struct AllocationColors {
  // Of each row of the index: a row of `palette`.
  std::vector<std::uint8_t> of;
  std::vector<QRgb> palette;
  struct Entry {
    QColor color;
    QString text;
  };
  std::vector<Entry> legend;
  std::uint64_t passing = 0;  // rows that the filter lets pass
  QString missing;            // what the log lacks for this colouring; empty = nothing
};

// All that colours depend on. Null: not known (yet), or, of `passing`, everything passes.
struct AllocationColorInputs {
  std::shared_ptr<const AllocationIndex> index;
  std::shared_ptr<analysis::Symbols> symbols;
  std::shared_ptr<SiteColors> site_colors;  // null: by rank
  std::shared_ptr<const analysis::AllocationSet> passing;
  std::shared_ptr<const analysis::Categories> categories;
  std::shared_ptr<const ReportData> report;
  AllocationColoring coloring = AllocationColoring::kSite;
  analysis::StackId site;  // selected: others are dimmed, if any is shown
  Theme theme;
};

// What the filter hides is faint grey. Sites are ranked by bytes times lifetime, which is their
// area in the picture, over the whole recording, so that colours do not depend on the window.
AllocationColors ColorAllocations(const AllocationColorInputs& inputs);

}  // namespace memprof::viewer
