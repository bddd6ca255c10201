// The ranks of a fleet's grid, a row each, in the order of its picture.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <optional>
#include <vector>

#include "viewer/models/fleet_grid.h"

namespace memprof::viewer {

class FleetRankModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kRank, kStage, kDistance, kHighest, kHost, kColumnCount };
  // The text for files: numbers in full.
  static constexpr int kPlainRole = Qt::UserRole + 1;
  // A rank of this distance is apart from its peers, as `memprof fleet ask outliers` sees it.
  static constexpr double kApart = 3.5;

  explicit FleetRankModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void SetGrid(std::shared_ptr<const FleetGrid> grid, std::vector<std::uint32_t> order);
  // The place in the order of a row of the grid; none if there is no such row.
  std::optional<int> PlaceOf(std::size_t row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString Text(const FleetRow& row, int column) const;
  QString PlainText(const FleetRow& row, int column) const;

  std::shared_ptr<const FleetGrid> grid_;
  std::vector<std::uint32_t> order_;
  std::vector<int> places_;  // by row
};

// "+12.3": robust standard deviations.
QString DistanceText(const std::optional<double>& distance);

}  // namespace memprof::viewer
