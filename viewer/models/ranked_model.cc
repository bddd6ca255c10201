// A ranking: names with bytes, largest first.
#include "viewer/models/ranked_model.h"

#include <algorithm>
#include <utility>

#include "viewer/geometry/units.h"

namespace memprof::viewer {

RankedModel::RankedModel(QString title, QObject* parent)
    : QAbstractTableModel(parent), title_(std::move(title)) {}

void RankedModel::SetRows(std::vector<RankedRow> rows) {
  beginResetModel();
  rows_ = std::move(rows);
  largest_ = 0;
  for (const RankedRow& row : rows_) largest_ = std::max(largest_, row.bytes);
  endResetModel();
}

int RankedModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int RankedModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant RankedModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const RankedRow& shown = row(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return index.column() == kName ? shown.name : FormatBytes(shown.bytes);
    case Qt::ToolTipRole:
      return shown.detail;
    case Qt::TextAlignmentRole:
      if (index.column() == kBytes) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
      return {};
    case kShareRole:
      if (index.column() != kBytes || largest_ == 0) return {};
      return static_cast<double>(shown.bytes) / static_cast<double>(largest_);
    default:
      return {};
  }
}

QVariant RankedModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole && section == kBytes) {
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == kName ? title_ : tr("Size");
}

}  // namespace memprof::viewer
