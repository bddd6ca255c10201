// The peak without each of several groups, as a table.
#include "viewer/models/without_model.h"

#include <QFont>
#include <algorithm>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::WithoutBy;
using analysis::WithoutRow;

QString NameOf(const WithoutRow& row, WithoutBy by) {
  switch (by) {
    case WithoutBy::kSite:
      return row.site.function.empty() ? QStringLiteral("(no call stack)") : ShortSite(row.site);
    case WithoutBy::kCategory:
      return ToQString(analysis::CategoryName(row.category));
    case WithoutBy::kLayer:
      return ToQString(analysis::LayerName(row.layer));
    case WithoutBy::kTensor:
      return ToQString(row.tensor);
  }
  return {};
}

QString WhenOf(const analysis::Session& session, analysis::EventId event) {
  if (!event.valid()) return QStringLiteral("–");
  if (!session.steps().empty()) {
    const std::int64_t step = session.StepOf(event);
    return step < 0 ? WithoutModel::tr("set-up") : WithoutModel::tr("step %1").arg(step);
  }
  return FormatDuration(session.SinceStart(session.events().time(event.value)));
}

}  // namespace

std::shared_ptr<const WithoutData> DescribeWithout(const analysis::Session& session,
                                                   analysis::WithoutRanking ranking, WithoutBy by) {
  auto data = std::make_shared<WithoutData>();
  data->by = by;
  if (ranking.rows.size() > WithoutModel::kMaxRows) ranking.rows.resize(WithoutModel::kMaxRows);
  for (const WithoutRow& row : ranking.rows) {
    data->names.push_back(NameOf(row, by));
    data->details.push_back(by == WithoutBy::kSite && !row.site.function.empty()
                                ? ToQString(analysis::Symbols::Describe(row.site))
                                : data->names.back());
    data->when.push_back(WhenOf(session, row.saving.without.event));
  }
  data->ranking = std::move(ranking);
  return data;
}

void WithoutModel::SetData(std::shared_ptr<const WithoutData> data) {
  beginResetModel();
  data_ = std::move(data);
  selected_ = -1;
  endResetModel();
  SetSelected(site_);
}

void WithoutModel::SetSelected(analysis::StackId site) {
  site_ = site;
  int selected = -1;
  if (data_ != nullptr && site.valid() && site.value < data_->ranking.row_of.size()) {
    const std::uint32_t row = data_->ranking.row_of[site.value];
    if (row < data_->ranking.rows.size()) selected = static_cast<int>(row);
  }
  if (selected == selected_) return;
  beginResetModel();
  selected_ = selected;
  endResetModel();
}

std::size_t WithoutModel::Place(int index) const {
  if (selected_ < 0) return static_cast<std::size_t>(index);
  if (index == 0) return static_cast<std::size_t>(selected_);
  return static_cast<std::size_t>(index <= selected_ ? index - 1 : index);
}

const WithoutRow& WithoutModel::row(int index) const { return data_->ranking.rows[Place(index)]; }

int WithoutModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() || data_ == nullptr ? 0 : static_cast<int>(data_->ranking.rows.size());
}

int WithoutModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QString WithoutModel::Text(std::size_t place, int column) const {
  const WithoutRow& row = data_->ranking.rows[place];
  switch (column) {
    case kName:
      return data_->names[place];
    case kAllocations:
      return FormatCount(row.allocations);
    case kAtPeak:
      return FormatBytes(row.at_peak);
    case kNewPeak:
      return FormatBytes(row.saving.without.bytes);
    case kSaves:
      return FormatBytes(row.saving.saves_bytes);
    case kShare:
      if (data_->ranking.peak.bytes == 0) return {};
      return FormatPercent(static_cast<double>(row.saving.saves_bytes) /
                           static_cast<double>(data_->ranking.peak.bytes));
    case kWhen:
      return data_->when[place];
    default:
      return {};
  }
}

QVariant WithoutModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const std::size_t place = Place(index.row());
  const WithoutRow& shown = data_->ranking.rows[place];
  switch (role) {
    case Qt::DisplayRole:
      return Text(place, index.column());
    case Qt::ToolTipRole:
      return data_->details[place];
    case Qt::TextAlignmentRole:
      if (index.column() == kName) return {};
      return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    case kShareRole:
      if (index.column() != kSaves || data_->ranking.peak.bytes == 0) return {};
      return static_cast<double>(shown.saving.saves_bytes) /
             static_cast<double>(data_->ranking.peak.bytes);
    case Qt::FontRole: {
      if (selected_ < 0 || index.row() > 0) return {};
      QFont font;
      font.setBold(true);
      return font;
    }
    case kSortRole:
      switch (index.column()) {
        case kAllocations:
          return static_cast<qulonglong>(shown.allocations);
        case kAtPeak:
          return static_cast<qulonglong>(shown.at_peak);
        case kNewPeak:
          return static_cast<qulonglong>(shown.saving.without.bytes);
        case kSaves:
        case kShare:
          return static_cast<qulonglong>(shown.saving.saves_bytes);
        case kWhen:
          return shown.saving.without.event.value;
        default:
          return data_->names[place];
      }
    default:
      return {};
  }
}

QVariant WithoutModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::TextAlignmentRole)
    return QVariant((section == kName ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  const QString titles[] = {tr("Without"), tr("Allocations"), tr("At the peak"), tr("New peak"),
                            tr("Saves"),   tr("Of the peak"), tr("Then at")};
  const QString help[] = {tr("The memory that is assumed never to be allocated"),
                          tr("Allocations of the whole run that would not have been made"),
                          tr("How much of it was held at the recorded peak"),
                          tr("The highest point of the whole run without it, exactly"),
                          tr("By how much the peak would be lower: another peak may be near"),
                          tr("The same as a share of the peak as it was"),
                          tr("Where in the run the new peak would be")};
  if (role == Qt::DisplayRole) return titles[section];
  if (role == Qt::ToolTipRole) return help[section];
  return {};
}

}  // namespace memprof::viewer
