// The colours of allocations and their meaning. Made off the GUI thread; immutable.
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

// In the order of the choice in views.
enum class AllocationColoring { kSite, kCategory, kSize, kLifetime, kLeak };

struct AllocationColors {
  // For each row of the index a row of `palette`.
  std::vector<std::uint8_t> of;
  std::vector<QRgb> palette;
  struct Entry {
    QColor color;
    QString text;
  };
  std::vector<Entry> legend;
  std::uint64_t passing = 0;  // rows that pass the filter
  QString missing;            // data that this colouring needs and the log lacks; empty = none
};

// Everything that colours depend on. Null: not known (yet); for `passing`: everything passes.
struct AllocationColorInputs {
  std::shared_ptr<const AllocationIndex> index;
  std::shared_ptr<analysis::Symbols> symbols;
  std::shared_ptr<SiteColors> site_colors;  // null: by rank
  std::shared_ptr<const analysis::AllocationSet> passing;
  std::shared_ptr<const analysis::Categories> categories;
  std::shared_ptr<const ReportData> report;
  AllocationColoring coloring = AllocationColoring::kSite;
  analysis::StackId site;  // selected: other sites are dimmed, if it is shown
  Theme theme;
};

// Filtered allocations are light grey. Sites are ranked by bytes times lifetime, their area in the
// picture, over the whole recording, so that colours do not depend on the window.
AllocationColors ColorAllocations(const AllocationColorInputs& inputs);

}  // namespace memprof::viewer
