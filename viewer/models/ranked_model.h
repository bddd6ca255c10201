// A ranking: names with bytes, largest first (call sites, tensors or blocks at an instant).
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::viewer {

struct RankedRow {
  QString name;
  QString detail;  // for the tooltip
  std::uint64_t bytes = 0;
  analysis::StackId site;
  analysis::AllocationId allocation;
  QString key;  // of a call site: identifies it (NamedSite)
};

class RankedModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kBytes, kColumnCount };
  // Share of the largest row in [0, 1], for bars.
  static constexpr int kShareRole = Qt::UserRole + 1;

  explicit RankedModel(QString title, QObject* parent = nullptr);

  void SetRows(std::vector<RankedRow> rows);
  const RankedRow& row(int index) const { return rows_[static_cast<std::size_t>(index)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const QString title_;
  std::vector<RankedRow> rows_;
  std::uint64_t largest_ = 0;
};

}  // namespace memprof::viewer
