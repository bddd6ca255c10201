// What each process of a session held of each device: the rows of the timeline's picture of all
// devices. Pure; thread-safe.
#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "analysis/filter/timeline_groups.h"
#include "viewer/geometry/timeline_bands.h"

namespace memprof::viewer {

struct DeviceRow {
  std::uint32_t process = 0;  // a row of Session::processes()
  int device = 0;
  QString name;            // "rank 3 · GPU 0"
  std::uint64_t peak = 0;  // the most that its stack reaches
};

// In order of processes, then devices; only those that ever hold memory. One pass over the events.
std::vector<DeviceRow> ListDeviceRows(const analysis::Session& session);

// The stack of one row. `kinds` is of its device. O(events).
std::shared_ptr<const TimelineBands> MakeRowBands(const analysis::TimelineStack& kinds,
                                                  const DeviceRow& row,
                                                  const analysis::TimelineQuery& query,
                                                  const SiteColorsOf& colors);

// Rows of one height, one below the other, of which a part is shown.
struct RowLayout {
  double height = 1;  // of a row
  double offset = 0;  // how far they are scrolled, at most range()
  double shown = 1;   // the height of the part that is shown
  std::size_t rows = 0;

  double range() const;  // the largest offset
  double Top(std::size_t row) const { return height * static_cast<double>(row) - offset; }
  // The rows that are at least partly shown: [first, last).
  std::size_t first() const;
  std::size_t last() const;
  // The row at a height; -1 for none.
  int At(double y) const;
};
// As high as the space allows, but no less than `least` and no more than `most`.
RowLayout LayOutRows(std::size_t rows, double shown, double offset, double least, double most);

}  // namespace memprof::viewer
