// What `memprof fleet grid` wrote: one figure of a job, rank by step. Immutable once read.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "viewer/geometry/heat_map.h"

namespace memprof::viewer {

struct FleetJob {
  QString job, day;
  std::int64_t attempt = 0, ranks = 0, steps = 0;
};

struct FleetRow {
  std::optional<std::int64_t> rank, stage;
  QString host, log;
  std::optional<double> distance;      // from the peers of its stage, in robust standard deviations
  std::optional<std::size_t> typical;  // the row of a typical rank of its stage
  double highest = 0;                  // of its values; NaN without any

  QString Name() const;       // "rank 3"
  QString StageName() const;  // "2", or "–"
};

struct FleetGrid {
  std::vector<FleetJob> jobs;  // of the fleet, newest first
  QStringList figures;
  QString job, figure;
  std::int64_t attempt = 0;
  bool bytes = true;  // else nanoseconds
  std::int64_t first_step = 0, step_stride = 1;
  std::size_t columns = 0;
  std::vector<FleetRow> rows;         // outliers first
  std::vector<double> values;         // rows × columns; NaN: no such step
  std::vector<std::uint32_t> stages;  // of each row: which of the medians
  std::vector<double> medians;        // of stage × columns
  double least = 0, most = 0;         // of all values
  // The distance from the median that has the strongest colour: the largest one, but within 2 % and
  // 50 % of a stage's usual median, so that noise is pale and one extreme rank does not hide
  // others.
  double limit = 1;

  HeatCells Cells(const std::vector<std::uint32_t>& order) const {
    return {values, medians, stages, order, columns};
  }
  double MedianOf(std::size_t cell) const {
    return medians[stages[cell / columns] * columns + cell % columns];
  }
  // "step 12", "steps 8 to 15" of a column.
  QString StepName(std::size_t column) const;
  QString Text(double value) const;    // with its unit
  QString Signed(double value) const;  // "+1.25 MiB"
  // The rows as they are shown: outliers first, or by rank.
  std::vector<std::uint32_t> Order(bool by_rank) const;
};

// "allocated_peak" as people name it.
QString FigureTitle(const QString& figure);

// "" if the log of a row is a file of this machine; else where it was, and how to get it.
QString WhyNotHere(const FleetRow& row);

// Or one line that says why the file cannot be read.
absl::StatusOr<std::shared_ptr<const FleetGrid>> ReadFleetGrid(const QString& path);

}  // namespace memprof::viewer
