// Tensors, blocks or driver allocations as a table: a column per field; cells are made when they
// are shown.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "analysis/filter/tensor_table.h"

namespace memprof::viewer {

// The content of the table; each part is immutable.
struct TensorData {
  std::shared_ptr<const analysis::TensorTable> table;
  std::shared_ptr<const analysis::Categories> categories;  // null: not known yet
  std::shared_ptr<const analysis::SiteNames> sites;        // null: not known yet
  std::shared_ptr<const analysis::TensorRows> rows;        // null: not known yet
};

class TensorModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kName,
    kShape,
    kDtype,
    kCategory,
    kBytes,
    kBars,  // drawn by TensorBars
    kLifetime,
    kBornStep,
    kFreedStep,
    kBorn,
    kFreed,
    kRequested,
    kLayer,
    kStream,
    kDevice,
    kProcess,
    kSite,
    kColumnCount
  };
  // The share of the largest row in [0, 1], for bars (kBytes).
  static constexpr int kShareRole = Qt::UserRole + 1;
  // For files, also for headings: bytes and seconds since the start as plain numbers; drawn columns
  // have no value and no heading.
  static constexpr int kPlainRole = Qt::UserRole + 2;

  explicit TensorModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  // Replaces everything.
  void SetData(TensorData data);
  // The sites of the same rows became known.
  void SetSites(std::shared_ptr<const analysis::SiteNames> sites);
  const TensorData& contents() const { return data_; }

  analysis::AllocationId allocation(int row) const;
  const analysis::AllocationRecord& record(int row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  // Does not sort, but requests it.
  void sort(int column, Qt::SortOrder order) override;

  // The field of a column; the column of bars has the time of birth.
  static analysis::TensorField FieldOf(int column);

 signals:
  void SortRequested(int column, Qt::SortOrder order);

 private:
  QString Text(analysis::AllocationId id, int column) const;
  QString Tip(analysis::AllocationId id, int column) const;
  QString Plain(analysis::AllocationId id, int column) const;  // for files

  TensorData data_;
};

// "tensor", "block", "allocation".
QString RowNoun(analysis::RowKind kind);

// The row of `id`: itself; or the tensor in it; or what it lies in. -1 if there is none. O(rows).
int FindRow(const analysis::TensorTable& table, const analysis::TensorRows& rows,
            analysis::AllocationId id);

}  // namespace memprof::viewer
