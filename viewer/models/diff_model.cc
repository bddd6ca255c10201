// The differences of two runs or moments, as tables.
#include "viewer/models/diff_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

QVariant Alignment(bool left) {
  return QVariant((left ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
}

}  // namespace

void DiffModel::SetData(std::shared_ptr<const DiffData> data) {
  beginResetModel();
  data_ = std::move(data);
  largest_ = 0;
  for (int i = 0; i < rowCount(); ++i)
    largest_ = std::max<std::int64_t>(largest_, std::abs(row(i).change()));
  endResetModel();
}

int DiffModel::FindPlace(std::uint32_t place) const {
  if (place == analysis::StackAlignment::kNone) return -1;
  for (int i = 0; i < rowCount(); ++i)
    if (row(i).place == place) return i;
  return -1;
}

int DiffModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || data_ == nullptr ? 0 : static_cast<int>(data_->rows.size());
}

int DiffModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QString DiffModel::Text(const DiffRow& row, int column) const {
  switch (column) {
    case kName:
      return row.name;
    case kBefore:
      return FormatBytes(row.before);
    case kAfter:
      return FormatBytes(row.after);
    case kChange:
      return SignedBytes(row.change());
    case kBlocks:
      if (row.blocks == 0) return {};
      return (row.blocks > 0 ? QStringLiteral("+") : QStringLiteral("-")) +
             FormatCount(static_cast<std::uint64_t>(std::abs(row.blocks)));
    case kStep:
      return row.step == 0 ? QString() : FormatSignedBytes(row.step);
    case kNote:
      if (row.fresh) return tr("new");
      if (row.gone) return tr("gone");
      if (row.growth > 0) return tr("grows %1 a step").arg(FormatSignedBytes(row.growth));
      return row.within_variation ? tr("within variation") : QString();
    default:
      return {};
  }
}

QVariant DiffModel::SortValue(const DiffRow& row, int column) {
  switch (column) {
    case kName:
      return row.name;
    case kBefore:
      return static_cast<qulonglong>(row.before);
    case kAfter:
      return static_cast<qulonglong>(row.after);
    case kChange:
    case kBar:
      return static_cast<qlonglong>(row.change());
    case kBlocks:
      return static_cast<qlonglong>(row.blocks);
    case kStep:
      return row.step;
    default:
      return row.fresh ? 0 : (row.gone ? 1 : (row.within_variation ? 3 : 2));
  }
}

QVariant DiffModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const DiffRow& shown = row(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return Text(shown, index.column());
    case kSortRole:
      return SortValue(shown, index.column());
    case kDeltaRole:
      if (index.column() != kBar || largest_ == 0) return {};
      return static_cast<double>(shown.change()) / static_cast<double>(largest_);
    case Qt::ToolTipRole:
      return shown.detail;
    case Qt::TextAlignmentRole:
      return Alignment(index.column() == kName || index.column() == kNote);
    default:
      return {};
  }
}

QVariant DiffModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::TextAlignmentRole) {
    if (section == kBar) return QVariant(Qt::AlignCenter);
    return Alignment(section == kName || section == kNote);
  }
  const DiffBy by = data_ == nullptr ? DiffBy::kSite : data_->question.by;
  const QString first = by == DiffBy::kSite       ? tr("Call site")
                        : by == DiffBy::kCategory ? tr("Category")
                                                  : tr("Layer");
  const QString titles[] = {first,           tr("Before"),      tr("After"),
                            tr("Change"),    tr("less | more"), tr("Blocks"),
                            tr("In a step"), QString()};
  const QString help[] = {tr("Of both runs; as the second has it"),
                          tr("Live bytes on the side that is compared with"),
                          tr("Live bytes on the other side"),
                          tr("After less before"),
                          tr("The change, to scale: to the left less, to the right more"),
                          tr("Change of the number of live allocations"),
                          tr("Change of the bytes allocated in a steady step"),
                          tr("New, gone, or within the variation of one run")};
  if (role == Qt::DisplayRole) return titles[section];
  if (role == Qt::ToolTipRole) return help[section];
  return {};
}

void DiffFigureModel::SetData(std::shared_ptr<const DiffData> data) {
  beginResetModel();
  data_ = std::move(data);
  endResetModel();
}

int DiffFigureModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || data_ == nullptr ? 0 : static_cast<int>(data_->figures.size());
}

int DiffFigureModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant DiffFigureModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const DiffFigureRow& row = data_->figures[static_cast<std::size_t>(index.row())];
  if (role == Qt::TextAlignmentRole)
    return Alignment(index.column() == kName || index.column() == kNote);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const QString* texts[] = {&row.name, &row.before, &row.after, &row.change, &row.note};
  return *texts[index.column()];
}

QVariant DiffFigureModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::TextAlignmentRole) return Alignment(section == kName || section == kNote);
  const QString titles[] = {tr("In all"), tr("Before"), tr("After"), tr("Change"), QString()};
  return role == Qt::DisplayRole ? QVariant(titles[section]) : QVariant();
}

}  // namespace memprof::viewer
