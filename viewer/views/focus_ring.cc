// A frame around the widget that has the keyboard.
#include "viewer/views/focus_ring.h"

#include <QAbstractScrollArea>
#include <QApplication>
#include <QFocusEvent>
#include <QPainter>

#include "viewer/views/theme.h"

namespace memprof::viewer {

FocusRing::FocusRing(QWidget* window) : QWidget(window) {
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setFocusPolicy(Qt::NoFocus);
  hide();
  qApp->installEventFilter(this);
}

void FocusRing::Place(QWidget* widget) {
  around_ = widget;
  setVisible(widget != nullptr);
  if (widget == nullptr) return;
  // Within the window, also for widgets at its border.
  const QRect area(widget->mapTo(window(), QPoint()), widget->size());
  setGeometry(area.adjusted(-2, -2, 2, 2).intersected(window()->rect()));
  raise();
  update();
}

bool FocusRing::eventFilter(QObject* watched, QEvent* event) {
  auto* widget = qobject_cast<QWidget*>(watched);
  if (widget == nullptr || widget->window() != window()) return false;
  switch (event->type()) {
    case QEvent::FocusIn: {
      const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
      const bool keyboard = reason == Qt::TabFocusReason || reason == Qt::BacktabFocusReason ||
                            reason == Qt::ShortcutFocusReason;
      if (keyboard) Place(widget);
      break;
    }
    case QEvent::FocusOut:
    case QEvent::MouseButtonPress:
    case QEvent::Hide:
      if (around_ != nullptr && (watched == around_ || event->type() == QEvent::MouseButtonPress))
        Place(nullptr);
      break;
    case QEvent::Resize:
    case QEvent::Move:
      // Also when one of its parents moves.
      if (around_ != nullptr && (watched == around_ || widget->isAncestorOf(around_)))
        Place(around_);
      break;
    default:
      break;
  }
  return false;
}

void FocusRing::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(QPen(Theme::From(palette()).accent, 2));
  painter.drawRect(QRectF(rect()).adjusted(1, 1, -1, -1));
}

}  // namespace memprof::viewer
