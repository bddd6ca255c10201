// Paints what processes held over time.
#include "viewer/views/processes_lanes.h"

#include <QPainter>
#include <algorithm>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/units.h"
#include "viewer/views/tensors_bars.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

using analysis::TimeNs;

void ProcessLanes::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  if (!index.data(ProcessModel::kOutlierRole).isValid()) return;
  option->palette.setColor(QPalette::Text, Theme::From(option->palette).danger);
  option->font = StrongFont(option->font);
}

void ProcessLanes::paint(QPainter* painter, const QStyleOptionViewItem& option,
                         const QModelIndex& index) const {
  const QVariant share = index.data(ProcessModel::kShareRole);
  if (share.isValid() && !option.state.testFlag(QStyle::State_Selected)) {
    // The bar is only as high as the number; the row is higher because of the lane.
    QColor color = Theme::From(option.palette).accent;
    color.setAlpha(56);
    const QRectF cell = QRectF(option.rect).adjusted(2, 0, -2, 0);
    const double height = std::min(cell.height(), option.fontMetrics.height() + kSpace / 2.0);
    const double width = cell.width() * share.toDouble();
    painter->fillRect(QRectF(cell.right() - width, cell.center().y() - height / 2, width, height),
                      color);
  }
  QStyledItemDelegate::paint(painter, option, index);
  if (index.column() != ProcessModel::kOverTime || picture_ == nullptr) return;
  PaintDrawnCell(painter, option);
  const auto process = static_cast<std::uint32_t>(index.data(ProcessModel::kProcessRole).toUInt());
  if (process < picture_->figures.size()) PaintLane(painter, option, process);
}

void ProcessLanes::PaintLane(QPainter* painter, const QStyleOptionViewItem& option,
                             std::uint32_t process) const {
  const Theme theme = Theme::From(option.palette);
  const QRectF cell = QRectF(option.rect).adjusted(0, 3, 0, -3);
  const TimeScale scale = BarScale(*document_, *selection_, option.rect);
  const std::vector<analysis::ProcessColumn>& columns = picture_->figures[process].columns;
  painter->save();
  painter->setClipRect(option.rect);
  painter->setRenderHint(QPainter::Antialiasing, false);
  painter->setPen(theme.grid);
  painter->drawLine(cell.bottomLeft(), cell.bottomRight());
  const double length = static_cast<double>(picture_->window.end - picture_->window.begin);
  const auto edge = [&](std::size_t column) {
    const double share = static_cast<double>(column) / static_cast<double>(columns.size());
    return scale.X(picture_->window.begin + static_cast<TimeNs>(share * length));
  };
  const double unit =
      cell.height() / static_cast<double>(std::max<std::uint64_t>(picture_->highest, 1));
  const auto area = [&](std::uint64_t analysis::ProcessColumn::*member, const QColor& color) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const double height = static_cast<double>(columns[i].*member) * unit;
      if (height <= 0) continue;
      // Edges are rounded to whole pixels, so that neighbours touch and the background is not
      // visible between them.
      const int left = static_cast<int>(edge(i)), right = static_cast<int>(edge(i + 1));
      if (right < cell.left() || left > cell.right() ||
          (right == left && i + 1 < columns.size() && columns[i + 1].*member >= columns[i].*member))
        continue;
      painter->fillRect(QRectF(left, cell.bottom() - height, std::max(1, right - left), height),
                        color);
    }
  };
  const bool framework = picture_->in_use_peak.most > 0;
  area(&analysis::ProcessColumn::driver_most,
       theme.Band(framework ? BandRole::kCached : BandRole::kLinear));
  if (framework) {
    area(&analysis::ProcessColumn::in_use_most, theme.AtTimes(theme.Band(BandRole::kTensors)));
    area(&analysis::ProcessColumn::in_use_least, theme.Band(BandRole::kTensors));
  }
  const TimeNs instant = selection_->instant();
  if (instant >= scale.window.begin && instant <= scale.window.end)
    painter->fillRect(QRectF(scale.X(instant) - 0.5, option.rect.top(), 1, option.rect.height()),
                      theme.text);
  painter->restore();
}

}  // namespace memprof::viewer
