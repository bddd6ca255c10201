// Table cells that show a change to scale.
#include "viewer/views/delta_delegate.h"

#include <QPainter>
#include <algorithm>

#include "viewer/views/theme.h"

namespace memprof::viewer {

QColor DeltaDelegate::More(const Theme& theme) { return theme.Categorical(5); }
QColor DeltaDelegate::Less(const Theme& theme) { return theme.Categorical(0); }

void DeltaDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);  // background and selection
  PaintDrawnCell(painter, option);
  const QVariant value = index.data(delta_role_);
  const Theme theme = Theme::From(option.palette);
  const QRectF cell = QRectF(option.rect).adjusted(4, 3, -4, -3);
  const double middle = cell.center().x();
  if (value.isValid() && value.toDouble() != 0) {
    const double delta = std::clamp(value.toDouble(), -1.0, 1.0);
    // Even the smallest change is visible.
    const double length = std::max(1.0, std::abs(delta) * cell.width() / 2);
    const QRectF bar(delta > 0 ? middle : middle - length, cell.top(), length, cell.height());
    painter->fillRect(bar, delta > 0 ? More(theme) : Less(theme));
  }
  painter->setPen(theme.border);
  painter->drawLine(QPointF(middle, option.rect.top()), QPointF(middle, option.rect.bottom() + 1));
}

QSize DeltaDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  return {160, option.fontMetrics.height() + kSpace};
}

}  // namespace memprof::viewer
