// Allocators side by side, as a table.
#include "viewer/models/what_if_model.h"

#include <QFont>
#include <algorithm>
#include <utility>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

constexpr int kColors = 7;  // of Theme::Categorical

QString Help(const WhatIfRow& row) {
  switch (row.kind) {
    case WhatIfRow::Kind::kRecorded:
      return WhatIfModel::tr("The figures of the recorded allocator, from the log.");
    case WhatIfRow::Kind::kReplayed:
      return WhatIfModel::tr(
          "A simulation of the recorded allocator: the savings below are uncertain by its "
          "difference from the recording.");
    case WhatIfRow::Kind::kOptimum:
      return WhatIfModel::tr(
          "The best arrangement found for an allocator that knows all lifetimes in advance: no "
          "allocator can be expected to need less.");
    case WhatIfRow::Kind::kBound:
      return WhatIfModel::tr("The most bytes alive at a time: no allocator can need less.");
    case WhatIfRow::Kind::kOther:
      break;
  }
  if (row.fits != WhatIfRow::Fits::kNo) return row.name;
  return WhatIfModel::tr("%1\nThe first request that finds no memory is of %2.")
      .arg(row.name, FormatBytes(row.failed_bytes));
}

}  // namespace

void WhatIfModel::SetDevice(WhatIfDevice device) {
  bool same = device.rows.size() == device_.rows.size();
  for (std::size_t i = 0; same && i < device.rows.size(); ++i)
    same = device.rows[i].name == device_.rows[i].name;
  if (!same) beginResetModel();
  device_ = std::move(device);
  scale_ = ScaleOf(device_);
  if (!same) {
    endResetModel();
  } else if (rowCount() > 0) {
    emit dataChanged(index(0, 0), index(rowCount() - 1, kColumnCount - 1));
  }
}

void WhatIfModel::SetDrawn(int index, bool drawn) {
  const QString& name = row(index).name;
  if (drawn == Drawn(index)) return;
  if (!drawn) {
    drawn_.erase(name);
  } else {
    int color = -1;
    if (row(index).kind != WhatIfRow::Kind::kRecorded) {
      for (color = 0; color < kColors; ++color)
        if (std::none_of(drawn_.begin(), drawn_.end(),
                         [color](const auto& other) { return other.second == color; }))
          break;
      if (color == kColors) color = -1;
    }
    drawn_[name] = color;
  }
  emit dataChanged(this->index(index, kName), this->index(index, kBar));
  emit DrawnChanged();
}

int WhatIfModel::ColorOf(int index) const {
  const auto at = drawn_.find(row(index).name);
  return at == drawn_.end() ? -1 : at->second;
}

int WhatIfModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(device_.rows.size());
}

int WhatIfModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QString WhatIfModel::Text(const WhatIfRow& row, int column) const {
  if (column == kName) return row.name;
  if (!row.done) return column == kReserved ? QStringLiteral("…") : QString();
  switch (column) {
    case kReserved:
      return FormatBytes(row.reserved);
    case kUnused:
      return FormatPercent(row.unused());
    case kSaving:
      return row.has_saving() ? SignedShare(row.saving, scale_.recorded) : QString();
    case kDoubt:
      return row.has_saving() ? device_.doubt : QString();
    case kSegments:
      return row.segments == 0 ? QString() : FormatCount(row.segments);
    case kCalls:
      return row.calls == 0 ? QString() : FormatCount(row.calls);
    case kFits:
      if (row.fits == WhatIfRow::Fits::kUnknown) return {};
      return row.fits == WhatIfRow::Fits::kYes ? tr("yes") : tr("no");
    default:
      return {};
  }
}

QVariant WhatIfModel::SortValue(const WhatIfRow& row, int column) const {
  switch (column) {
    case kName:
      return row.name;
    case kReserved:
    case kBar:
      return static_cast<qulonglong>(row.reserved);
    case kUnused:
      return row.unused();
    case kSaving:
      return static_cast<qlonglong>(row.saving);
    case kSegments:
      return static_cast<qulonglong>(row.segments);
    case kCalls:
      return static_cast<qulonglong>(row.calls);
    default:
      return Text(row, column);
  }
}

QVariant WhatIfModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const WhatIfRow& shown = row(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return Text(shown, index.column());
    case kSortRole:
      return SortValue(shown, index.column());
    case Qt::ToolTipRole:
      return Help(shown);
    case Qt::CheckStateRole:
      if (index.column() != kName || shown.over_time.empty()) return {};
      return Drawn(index.row()) ? Qt::Checked : Qt::Unchecked;
    case Qt::TextAlignmentRole:
      if (index.column() == kName) return {};
      return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    case Qt::FontRole: {
      if (shown.kind != WhatIfRow::Kind::kRecorded) return {};
      QFont font;
      font.setBold(true);
      return font;
    }
    default:
      return {};
  }
}

bool WhatIfModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (role != Qt::CheckStateRole || index.column() != kName || index.row() >= rowCount())
    return false;
  SetDrawn(index.row(), value.toInt() == Qt::Checked);
  return true;
}

Qt::ItemFlags WhatIfModel::flags(const QModelIndex& index) const {
  Qt::ItemFlags flags = QAbstractTableModel::flags(index);
  if (index.isValid() && index.column() == kName && !row(index.row()).over_time.empty())
    flags |= Qt::ItemIsUserCheckable;
  return flags;
}

QVariant WhatIfModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::TextAlignmentRole && section != kName && section != kBar)
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignLeft | Qt::AlignVCenter);
  const QString titles[] = {tr("Allocator"), tr("Reserved"), tr("To scale"),
                            tr("Unused"),    tr("Saving"),   tr("Uncertainty"),
                            tr("Segments"),  tr("Calls"),    tr("Fits")};
  const QString help[] = {
      tr("Tick a row to draw its course over time below"),
      tr("The most device memory that the allocator held"),
      tr("Strong: what was allocated at the peak; pale: what was free"),
      tr("While reserved memory was at its maximum, the smallest share of it that was free"),
      tr("What was reserved when recorded, less what would have been: + is a saving"),
      tr("How far the replay of the recorded allocator is from what was recorded"),
      tr("The most pieces that it held at a time"),
      tr("Calls of the driver that allocated or freed memory"),
      tr("Whether every request would have found memory within the capacity")};
  if (role == Qt::DisplayRole) return titles[section];
  if (role == Qt::ToolTipRole) return help[section];
  return {};
}

}  // namespace memprof::viewer
