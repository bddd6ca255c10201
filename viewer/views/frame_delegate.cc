// Table cells with a function's name.
#include "viewer/views/frame_delegate.h"

#include <QPixmap>

#include "viewer/views/theme.h"

namespace memprof::viewer {

void FrameDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const QVariant python = index.data(python_role_);
  if (!python.isValid()) return;
  QPixmap square(kSpace, kSpace);
  square.fill(Theme::From(option->palette).Frame(python.toBool(), {}));
  option->icon = QIcon(square);
  option->decorationSize = square.size();
  option->features |= QStyleOptionViewItem::HasDecoration;
}

QSize FrameDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
  QSize size = QStyledItemDelegate::sizeHint(option, index);
  size.setHeight(std::max(size.height(), option.fontMetrics.height() + kSpace));
  return size;
}

}  // namespace memprof::viewer
