// The differences of two runs or moments as tables: by call site, category or layer; and totals.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "viewer/models/diff_data.h"

namespace memprof::viewer {

class DiffModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kBefore, kAfter, kChange, kBar, kBlocks, kStep, kNote, kColumnCount };
  static constexpr int kSortRole = Qt::UserRole + 1;
  // Change as a share of the largest, in [-1, 1] (kBar).
  static constexpr int kDeltaRole = Qt::UserRole + 2;

  explicit DiffModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void SetData(std::shared_ptr<const DiffData> data);
  const std::shared_ptr<const DiffData>& shown() const { return data_; }
  const DiffRow& row(int index) const { return data_->rows[static_cast<std::size_t>(index)]; }
  // The row of a place of the alignment; -1 = none.
  int FindPlace(std::uint32_t place) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString Text(const DiffRow& row, int column) const;
  static QVariant SortValue(const DiffRow& row, int column);

  std::shared_ptr<const DiffData> data_;
  std::int64_t largest_ = 0;
};

class DiffFigureModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kBefore, kAfter, kChange, kNote, kColumnCount };

  explicit DiffFigureModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void SetData(std::shared_ptr<const DiffData> data);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::shared_ptr<const DiffData> data_;
};

}  // namespace memprof::viewer
