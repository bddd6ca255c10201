// A table of facts from other code, in rows that can be sorted, copied and exported.
#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <QStringList>
#include <optional>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::viewer {

struct FactColumn {
  QString title;
  bool number = false;  // aligned to the right; sorted from the largest first
  QString tip;
  bool sites = false;  // call sites: a narrow column keeps their files and lines
};

struct FactCell {
  QString text;
  double sort = 0;    // of numbers
  QString raw;        // as a plain number, for files; if empty, the text
  double share = -1;  // in [0, 1] for a bar behind the text; < 0 = none
  QString tip;
  bool bytes = false;  // what `raw` counts

  FactCell() = default;
  FactCell(QString words) : text(std::move(words)) {}  // NOLINT(google-explicit-constructor)
  static FactCell Bytes(std::uint64_t bytes);
  static FactCell Count(std::uint64_t count);
  static FactCell Number(QString text, double value);
};

struct FactRow {
  std::vector<FactCell> cells;
  analysis::AllocationId allocation;
  analysis::StackId site;
  std::optional<analysis::TimeNs> time;
  QColor swatch;        // before the first cell; invalid = none
  std::size_t key = 0;  // for use by the view
};

// For tables of a readable size: at most some ten thousand rows.
class FactTable : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int kShareRole = Qt::UserRole + 1;
  static constexpr int kSortRole = Qt::UserRole + 2;

  explicit FactTable(std::vector<FactColumn> columns, QObject* parent = nullptr);

  // The bars behind numbers of `bar_column` are shares of the largest; -1 = none.
  void SetRows(std::vector<FactRow> rows, int bar_column = -1);
  const FactRow& row(int index) const { return rows_[order_[static_cast<std::size_t>(index)]]; }
  // The first row of an allocation, else of a site; -1 for none.
  int Find(analysis::AllocationId allocation, analysis::StackId site) const;
  int FindKey(std::size_t key) const;
  bool HasSites(int column) const { return columns_[static_cast<std::size_t>(column)].sites; }
  // For files: the headings, and figures as plain numbers.
  QStringList Headings() const;
  QStringList RawRow(int index) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  // Column -1: the original order of the rows.
  void sort(int column, Qt::SortOrder order) override;

 private:
  void Order();

  const std::vector<FactColumn> columns_;
  std::vector<FactRow> rows_;
  std::vector<std::size_t> order_;
  int sorted_by_ = -1;
  Qt::SortOrder direction_ = Qt::AscendingOrder;
};

}  // namespace memprof::viewer
