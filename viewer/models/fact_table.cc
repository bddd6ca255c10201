// A table of facts: rows that can be sorted, copied and exported.
#include "viewer/models/fact_table.h"

#include <QLocale>
#include <algorithm>
#include <numeric>
#include <utility>

#include "viewer/geometry/units.h"

namespace memprof::viewer {

FactCell FactCell::Bytes(std::uint64_t bytes) {
  FactCell cell(FormatBytes(bytes));
  cell.sort = static_cast<double>(bytes);
  cell.raw = QString::number(bytes);
  cell.bytes = true;
  return cell;
}

FactCell FactCell::Count(std::uint64_t count) {
  FactCell cell(FormatCount(count));
  cell.sort = static_cast<double>(count);
  cell.raw = QString::number(count);
  return cell;
}

FactCell FactCell::Number(QString text, double value) {
  FactCell cell(std::move(text));
  cell.sort = value;
  cell.raw = QString::number(value, 'f', QLocale::FloatingPointShortest);
  return cell;
}

FactTable::FactTable(std::vector<FactColumn> columns, QObject* parent)
    : QAbstractTableModel(parent), columns_(std::move(columns)) {}

void FactTable::SetRows(std::vector<FactRow> rows, int bar_column) {
  beginResetModel();
  rows_ = std::move(rows);
  if (bar_column >= 0) {
    const auto column = static_cast<std::size_t>(bar_column);
    double largest = 0;
    for (const FactRow& row : rows_) largest = std::max(largest, row.cells[column].sort);
    for (FactRow& row : rows_)
      row.cells[column].share = largest > 0 ? row.cells[column].sort / largest : 0;
  }
  order_.resize(rows_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  Order();
  endResetModel();
}

int FactTable::Find(analysis::AllocationId allocation, analysis::StackId site) const {
  int found = -1;
  for (int i = 0; i < rowCount(); ++i) {
    if (allocation.valid() && row(i).allocation == allocation) return i;
    if (found < 0 && site.valid() && row(i).site == site) found = i;
  }
  return found;
}

int FactTable::FindKey(std::size_t key) const {
  for (int i = 0; i < rowCount(); ++i)
    if (row(i).key == key) return i;
  return -1;
}

// "would_it_fit", "size_bytes": as the other views' files have them.
QStringList FactTable::Headings() const {
  QStringList headings;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    QString heading;
    for (const QChar c : columns_[i].title.toLower()) {
      if (c.isLetterOrNumber())
        heading += c;
      else if (!heading.isEmpty() && !heading.endsWith(QLatin1Char('_')))
        heading += QLatin1Char('_');
    }
    while (heading.endsWith(QLatin1Char('_'))) heading.chop(1);
    const bool bytes = std::any_of(rows_.begin(), rows_.end(), [i](const FactRow& row) {
      return i < row.cells.size() && row.cells[i].bytes;
    });
    if (bytes && !heading.endsWith(QLatin1String("bytes"))) heading += QLatin1String("_bytes");
    headings << heading;
  }
  return headings;
}

QStringList FactTable::RawRow(int index) const {
  QStringList fields;
  for (const FactCell& cell : row(index).cells)
    fields << (cell.raw.isEmpty() ? cell.text : cell.raw);
  return fields;
}

int FactTable::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int FactTable::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(columns_.size());
}

QVariant FactTable::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const auto column = static_cast<std::size_t>(index.column());
  const FactRow& facts = row(index.row());
  if (column >= facts.cells.size()) return {};
  const FactCell& cell = facts.cells[column];
  switch (role) {
    case Qt::DisplayRole:
      return cell.text;
    case Qt::ToolTipRole:
      return cell.tip.isEmpty() ? cell.text : cell.tip;
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::AlignVCenter |
                                 (columns_[column].number ? Qt::AlignRight : Qt::AlignLeft));
    case Qt::DecorationRole:
      return column == 0 && facts.swatch.isValid() ? QVariant(facts.swatch) : QVariant();
    case kShareRole:
      return cell.share < 0 ? QVariant() : QVariant(cell.share);
    case kSortRole:
      return columns_[column].number ? QVariant(cell.sort) : QVariant(cell.text);
    default:
      return {};
  }
}

QVariant FactTable::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const FactColumn& column = columns_[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return column.title;
  if (role == Qt::ToolTipRole && !column.tip.isEmpty()) return column.tip;
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue(Qt::AlignVCenter | (column.number ? Qt::AlignRight : Qt::AlignLeft));
  return {};
}

void FactTable::Order() {
  std::sort(order_.begin(), order_.end());
  if (sorted_by_ < 0) return;
  const auto column = static_cast<std::size_t>(sorted_by_);
  const bool number = columns_[column].number;
  const auto less = [&](std::size_t a, std::size_t b) {
    const FactCell& x = rows_[a].cells[column];
    const FactCell& y = rows_[b].cells[column];
    return number ? x.sort < y.sort : QString::localeAwareCompare(x.text, y.text) < 0;
  };
  if (direction_ == Qt::AscendingOrder)
    std::stable_sort(order_.begin(), order_.end(), less);
  else
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return less(b, a); });
}

void FactTable::sort(int column, Qt::SortOrder order) {
  if (column >= columnCount() || (column == sorted_by_ && order == direction_)) return;
  emit layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
  const QModelIndexList before = persistentIndexList();
  const std::vector<std::size_t> old = order_;
  sorted_by_ = column;
  direction_ = order;
  Order();
  std::vector<int> place(order_.size());
  for (std::size_t i = 0; i < order_.size(); ++i) place[order_[i]] = static_cast<int>(i);
  QModelIndexList after;
  for (const QModelIndex& index : before)
    after << this->index(place[old[static_cast<std::size_t>(index.row())]], index.column());
  changePersistentIndexList(before, after);
  emit layoutChanged({}, QAbstractItemModel::VerticalSortHint);
}

}  // namespace memprof::viewer
