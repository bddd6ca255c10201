// Tensors, blocks or driver allocations as a table: every field a column, cells made as they are
// shown.
#pragma once

#include <QAbstractTableModel>
#include <memory>

#include "analysis/filter/tensor_table.h"

namespace memprof::viewer {

// What the table shows, each part never changing once made.
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
  // For files, also of headings: bytes and seconds since the start as plain numbers; no value and
  // no heading for what is only drawn.
  static constexpr int kPlainRole = Qt::UserRole + 2;

  explicit TensorModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  // Everything anew.
  void SetData(TensorData data);
  // Only what is known of the same rows changed: sites came.
  void SetSites(std::shared_ptr<const analysis::SiteNames> sites);
  const TensorData& contents() const { return data_; }

  analysis::AllocationId allocation(int row) const;
  const analysis::AllocationRecord& record(int row) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  // Sorts nothing: asks for it.
  void sort(int column, Qt::SortOrder order) override;

  // The field that a column shows; the bars show when it was born.
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

// The row that shows what `id` is about: itself; the tensor that lies in it; or what it lies in.
// -1 where no row does. O(rows).
int FindRow(const analysis::TensorTable& table, const analysis::TensorRows& rows,
            analysis::AllocationId id);

}  // namespace memprof::viewer
