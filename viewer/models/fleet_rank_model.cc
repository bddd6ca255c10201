// The ranks of a grid as a table.
#include "viewer/models/fleet_rank_model.h"

#include <QFont>
#include <cmath>

namespace memprof::viewer {

QString DistanceText(const std::optional<double>& distance) {
  if (!distance) return QStringLiteral("–");
  const QString digits =
      QString::number(std::abs(*distance), 'f', std::abs(*distance) < 99.95 ? 1 : 0);
  if (digits == QLatin1String("0.0")) return QStringLiteral("0");
  return (*distance < 0 ? QStringLiteral("−") : QStringLiteral("+")) + digits;
}

void FleetRankModel::SetGrid(std::shared_ptr<const FleetGrid> grid,
                             std::vector<std::uint32_t> order) {
  beginResetModel();
  grid_ = std::move(grid);
  order_ = std::move(order);
  places_.assign(order_.size(), 0);
  for (std::size_t place = 0; place < order_.size(); ++place)
    places_[order_[place]] = static_cast<int>(place);
  endResetModel();
}

std::optional<int> FleetRankModel::PlaceOf(std::size_t row) const {
  if (row >= places_.size()) return std::nullopt;
  return places_[row];
}

int FleetRankModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(order_.size());
}

int FleetRankModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QString FleetRankModel::Text(const FleetRow& row, int column) const {
  switch (column) {
    case kRank:
      return row.rank ? QString::number(*row.rank) : QStringLiteral("–");
    case kStage:
      return row.StageName();
    case kDistance:
      return DistanceText(row.distance);
    case kHighest:
      return grid_->Text(row.highest);
    case kHost:
      return row.host;
    default:
      return {};
  }
}

QString FleetRankModel::PlainText(const FleetRow& row, int column) const {
  if (column == kDistance) return row.distance ? QString::number(*row.distance, 'f', 3) : QString();
  if (column == kHighest)
    return std::isnan(row.highest) ? QString() : QString::number(row.highest, 'f', 0);
  if (column == kRank && !row.rank) return {};
  if (column == kStage && !row.stage) return {};
  return Text(row, column);
}

QVariant FleetRankModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const FleetRow& row = grid_->rows[order_[static_cast<std::size_t>(index.row())]];
  switch (role) {
    case Qt::DisplayRole:
      return Text(row, index.column());
    case kPlainRole:
      return PlainText(row, index.column());
    case Qt::TextAlignmentRole:
      return QVariant(index.column() == kHost ? Qt::AlignLeft | Qt::AlignVCenter
                                              : Qt::AlignRight | Qt::AlignVCenter);
    case Qt::FontRole: {
      QFont font;
      font.setWeight(QFont::DemiBold);
      const bool apart = row.distance && std::abs(*row.distance) > kApart;
      return index.column() == kDistance && apart ? QVariant(font) : QVariant();
    }
    case Qt::ToolTipRole:
      return row.log;
    default:
      return {};
  }
}

QVariant FleetRankModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::ToolTipRole && section == kDistance)
    return tr(
        "From the peers of its stage, in robust standard deviations: the median of an eighth "
        "of the steps, the farthest eighth");
  if (role == Qt::TextAlignmentRole)
    return QVariant(section == kHost ? Qt::AlignLeft | Qt::AlignVCenter
                                     : Qt::AlignRight | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != kPlainRole) return {};
  switch (section) {
    case kRank:
      return tr("Rank");
    case kStage:
      return tr("Stage");
    case kDistance:
      return tr("Distance");
    case kHighest:
      return grid_ != nullptr && !grid_->bytes ? tr("Longest") : tr("Highest");
    case kHost:
      return tr("Host");
    default:
      return {};
  }
}

}  // namespace memprof::viewer
