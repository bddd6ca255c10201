// The list of views.
#include "viewer/window/navigation.h"

#include <QEvent>
#include <QKeySequence>
#include <QPainter>
#include <cstring>

#include "viewer/views/theme.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {

Navigation::Navigation(QWidget* parent) : QListWidget(parent) {
  setFrameShape(QFrame::NoFrame);
  setAccessibleName(tr("Views"));
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setTextElideMode(Qt::ElideRight);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
  setObjectName(QStringLiteral("navigation"));
  const char* group = "";
  for (const ViewEntry& view : ViewTable()) {
    if (std::strcmp(view.group, group) != 0) {
      auto* heading = new QListWidgetItem(QString::fromUtf8(view.group), this);
      heading->setFlags(Qt::NoItemFlags);
      heading->setFont(SmallFont(font()));
      headings_.push_back(heading);
      group = view.group;
    }
    auto* item = new QListWidgetItem(QString::fromUtf8(view.title), this);
    item->setToolTip(QString::fromUtf8(view.help));
    item->setData(Qt::UserRole, static_cast<int>(entries_.size()));
    entries_.push_back(item);
  }
  setItemDelegate(new NavigationDelegate(this));
  ColorHeadings();
  connect(this, &QListWidget::currentItemChanged, this, [this](QListWidgetItem* item) {
    if (item != nullptr) emit Chosen(item->data(Qt::UserRole).toInt());
  });
}

// Paints the focus frame, which is not drawn if there is a style sheet.
void NavigationDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                               const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);
  if (!option.state.testFlag(QStyle::State_HasFocus)) return;
  painter->setPen(QPen(Theme::From(option.palette).accent, 2));
  painter->setBrush(Qt::NoBrush);
  painter->drawRect(option.rect.adjusted(1, 1, -1, -1));
}

// Headings are readable, but cannot be chosen.
void Navigation::ColorHeadings() {
  const QColor muted = Theme::From(palette()).muted;
  for (QListWidgetItem* heading : headings_)
    if (heading->foreground().color() != muted) heading->setForeground(muted);
}

void Navigation::changeEvent(QEvent* event) {
  QListWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) ColorHeadings();
}

void Navigation::SetCurrent(int view) {
  if (view >= 0 && static_cast<std::size_t>(view) < entries_.size())
    setCurrentItem(entries_[static_cast<std::size_t>(view)]);
}

int Navigation::current() const {
  const QListWidgetItem* item = currentItem();
  return item == nullptr ? 0 : item->data(Qt::UserRole).toInt();
}

void Navigation::SetBadge(int view, const QString& badge) {
  const QString title = QString::fromUtf8(ViewTable()[static_cast<std::size_t>(view)].title);
  entries_[static_cast<std::size_t>(view)]->setText(
      badge.isEmpty() ? title : QStringLiteral("%1 (%2)").arg(title, badge));
}

void Navigation::showEvent(QShowEvent* event) {
  QListWidget::showEvent(event);
  // Rows were laid out before the style sheet gave them their height.
  doItemsLayout();
}

QSize Navigation::sizeHint() const {
  return {fontMetrics().horizontalAdvance(QStringLiteral("Fragmentation (99)")) + 5 * kSpace, 200};
}

}  // namespace memprof::viewer
