// The cell that shows a row's reserved bytes to scale.
#include "viewer/views/what_if_bar.h"

#include <QPainter>
#include <QSortFilterProxyModel>

#include "viewer/models/what_if_model.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

int RowOf(const QModelIndex& index) {
  const auto* proxy = qobject_cast<const QSortFilterProxyModel*>(index.model());
  return proxy == nullptr ? index.row() : proxy->mapToSource(index).row();
}

}  // namespace

double WhatIfX(const WhatIfScale& scale, std::uint64_t bytes, double left, double width) {
  return left + width * static_cast<double>(bytes) / static_cast<double>(scale.most);
}

void WhatIfBar::paint(QPainter* painter, const QStyleOptionViewItem& option,
                      const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);  // background and selection
  const WhatIfRow& row = model_->row(RowOf(index));
  const WhatIfScale& scale = model_->scale();
  const Theme theme = Theme::From(option.palette);
  const QRectF cell = QRectF(option.rect).adjusted(4, 3, -6, -3);
  const auto x = [&](std::uint64_t bytes) {
    return WhatIfX(scale, bytes, cell.left(), cell.width());
  };
  painter->save();
  painter->setClipRect(option.rect);
  if (row.done) {
    const int color = model_->ColorOf(RowOf(index));
    QColor fill = color < 0 ? theme.accent : theme.Categorical(color);
    if (row.kind != WhatIfRow::Kind::kOther && color < 0) fill = theme.muted;
    if (color < 0) fill.setAlpha(150);
    const QRectF used(cell.left(), cell.top(), x(row.used) - cell.left(), cell.height());
    const QRectF unused(used.right(), cell.top(), x(row.reserved) - used.right(), cell.height());
    painter->fillRect(used, fill);
    QColor pale = fill;
    pale.setAlpha(70);
    painter->fillRect(unused, pale);
    painter->fillRect(unused, QBrush(fill, Qt::BDiagPattern));
  }
  // Through the whole height, so that the lines of all rows are one.
  const auto line = [&](std::uint64_t bytes, const QPen& pen) {
    const double at = x(bytes);
    painter->setPen(pen);
    painter->drawLine(QPointF(at, option.rect.top()), QPointF(at, option.rect.bottom() + 1));
  };
  line(scale.recorded, QPen(theme.text, 1.5, Qt::DashLine));
  if (scale.capacity_shown) line(model_->device().capacity, QPen(theme.danger, 2));
  painter->restore();
}

QSize WhatIfBar::sizeHint(const QStyleOptionViewItem& option, const QModelIndex&) const {
  return {180, option.fontMetrics.height() + kSpace};
}

}  // namespace memprof::viewer
