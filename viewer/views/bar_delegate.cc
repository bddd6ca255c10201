// Table cells that show, behind their number, its share of the largest as a bar.
#include "viewer/views/bar_delegate.h"

#include <QPainter>

#include "viewer/views/theme.h"

namespace memprof::viewer {

void BarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const {
  const QVariant share = index.data(share_role_);
  if (share.isValid() && !option.state.testFlag(QStyle::State_Selected)) {
    QColor color = Theme::From(option.palette).accent;
    color.setAlpha(56);
    const QRectF cell = QRectF(option.rect).adjusted(2, 2, -2, -2);
    const double width = cell.width() * share.toDouble();
    painter->fillRect(QRectF(cell.right() - width, cell.top(), width, cell.height()), color);
  }
  QStyledItemDelegate::paint(painter, option, index);
}

QSize BarDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QSize size = QStyledItemDelegate::sizeHint(option, index);
  size.setHeight(std::max(size.height(), option.fontMetrics.height() + kSpace));
  return size;
}

}  // namespace memprof::viewer
