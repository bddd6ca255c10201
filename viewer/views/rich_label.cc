// Words with colours and links, broken into lines, that change at every click.
#include "viewer/views/rich_label.h"

#include <QAbstractTextDocumentLayout>
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "viewer/views/add_action.h"

namespace memprof::viewer {

RichLabel::RichLabel(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setMouseTracking(true);
  document_.setDocumentMargin(0);
  document_.setUndoRedoEnabled(false);
  document_.setDefaultFont(font());
  setContextMenuPolicy(Qt::ActionsContextMenu);
  QAction* copy = AddAction(this, tr("Copy"));
  connect(copy, &QAction::triggered, this,
          [this] { QApplication::clipboard()->setText(PlainText()); });
}

void RichLabel::setText(const QString& html) {
  if (html == text_) return;
  const int before = heightForWidth(width());
  text_ = html;
  document_.setHtml(html);
  setAccessibleName(PlainText());
  Forget();
  if (heightForWidth(width()) != before) updateGeometry();
  update();
}

void RichLabel::Forget() {
  heights_.fill({});
  next_height_ = 0;
}

int RichLabel::heightForWidth(int width) const {
  width = std::max(1, width);
  for (const Height& known : heights_)
    if (known.width == width) return known.height;
  document_.setTextWidth(width);
  const int height = static_cast<int>(std::ceil(document_.size().height()));
  heights_[next_height_] = {width, height};
  next_height_ = (next_height_ + 1) % heights_.size();
  return height;
}

QSize RichLabel::sizeHint() const {
  const int width = 40 * fontMetrics().averageCharWidth();
  return {width, heightForWidth(std::max(width, this->width()))};
}

QSize RichLabel::minimumSizeHint() const {
  return {12 * fontMetrics().averageCharWidth(), text_.isEmpty() ? 0 : fontMetrics().height()};
}

double RichLabel::Top() const {
  return std::max(0.0, std::floor((height() - document_.size().height()) / 2));
}

void RichLabel::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  document_.setTextWidth(std::max(1, width()));
  QAbstractTextDocumentLayout::PaintContext context;
  context.palette = palette();
  context.palette.setColor(QPalette::Text, palette().color(foregroundRole()));
  painter.translate(0, Top());
  document_.documentLayout()->draw(&painter, context);
}

void RichLabel::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) {
    document_.setDefaultFont(font());
    Forget();
    updateGeometry();
  } else if (event->type() == QEvent::PaletteChange) {
    document_.setHtml(text_);  // a document keeps the colour that links had when it was read
  }
  QWidget::changeEvent(event);
}

QString RichLabel::LinkAt(QPointF position) const {
  document_.setTextWidth(std::max(1, width()));
  return document_.documentLayout()->anchorAt(position - QPointF(0, Top()));
}

void RichLabel::mouseMoveEvent(QMouseEvent* event) {
  setCursor(LinkAt(event->position()).isEmpty() ? Qt::ArrowCursor : Qt::PointingHandCursor);
}

void RichLabel::mouseReleaseEvent(QMouseEvent* event) {
  const QString link = event->button() == Qt::LeftButton ? LinkAt(event->position()) : QString();
  if (!link.isEmpty()) emit linkActivated(link);
}

}  // namespace memprof::viewer
