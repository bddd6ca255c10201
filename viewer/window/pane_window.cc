// A panel in a window of its own.
#include "viewer/window/pane_window.h"

#include <QCloseEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QSettings>
#include <QSplitter>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "viewer/views/focus_ring.h"

namespace memprof::viewer {
namespace {

constexpr QSize kSmallest(360, 480);  // when it is torn off for the first time

// A square with an arrow out of it, or into it. Drawn, as fonts and styles have no such sign in
// both themes.
class TearButton : public QToolButton {
 public:
  explicit TearButton(PaneWindow* window) : window_(window) {
    setAutoRaise(true);
    setFixedSize(22, 22);
    Name();
    connect(this, &QToolButton::clicked, window, [window] { window->SetApart(!window->apart()); });
    connect(window, &PaneWindow::Toggled, this, [this] { Name(); });
  }

 protected:
  void paintEvent(QPaintEvent* event) override {
    QToolButton::paintEvent(event);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::ButtonText), 1.4));
    painter.translate(width() / 2.0 - 6, height() / 2.0 - 6);
    const QPointF frame[] = {{5, 2}, {1, 2}, {1, 11}, {10, 11}, {10, 7}};
    painter.drawPolyline(frame, 5);
    painter.drawLine(QPointF(5, 7), QPointF(11, 1));
    const QPointF outwards[] = {{7, 1}, {11, 1}, {11, 5}}, inwards[] = {{5, 3.5}, {5, 7}, {8.5, 7}};
    painter.drawPolyline(window_->apart() ? inwards : outwards, 3);
  }

 private:
  void Name() {
    const QString name = window_->apart() ? PaneWindow::tr("Put the details back (F9)")
                                          : PaneWindow::tr("Details in a window (F9)");
    setToolTip(name);
    setAccessibleName(name);
    update();
  }

  PaneWindow* const window_;
};

}  // namespace

// A tool's window lies above the main one, and Qt lets the main one's shortcuts work in it.
PaneWindow::PaneWindow(QWidget* pane, QSplitter* home, QWidget* main)
    : QWidget(main, Qt::Tool), pane_(pane), home_(home) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  new FocusRing(this);
}

void PaneWindow::SetApart(bool apart) {
  if (apart == apart_) return;
  if (apart) {
    home_state_ = home_->saveState();
    // First where the panel was: it is seen at once which one it is.
    if (!placed_)
      setGeometry(QRect(pane_->mapToGlobal(QPoint()), pane_->size().expandedTo(kSmallest)));
    placed_ = true;
    layout()->addWidget(pane_);
  } else {
    hide();
    home_->addWidget(pane_);
    home_->restoreState(home_state_);
  }
  apart_ = apart;
  emit Toggled(apart);
}

QByteArray PaneWindow::HomeState() const { return apart_ ? home_state_ : home_->saveState(); }

void PaneWindow::Keep() const {
  QSettings store;
  store.setValue(QStringLiteral("window/details_apart"), apart_);
  if (placed_) store.setValue(QStringLiteral("window/details_window"), saveGeometry());
}

void PaneWindow::Restore() {
  const QSettings store;
  placed_ = restoreGeometry(store.value(QStringLiteral("window/details_window")).toByteArray());
  SetApart(store.value(QStringLiteral("window/details_apart")).toBool());
}

bool PaneWindow::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride &&
      static_cast<QKeyEvent*>(event)->matches(QKeySequence::Close))
    event->accept();
  return QWidget::event(event);
}

void PaneWindow::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Close)) {
    close();
  } else {
    QWidget::keyPressEvent(event);
  }
}

// Put back later: where all windows are closed to quit, the main one first keeps that it was apart.
void PaneWindow::closeEvent(QCloseEvent* event) {
  QWidget::closeEvent(event);
  QTimer::singleShot(0, this, [this] { SetApart(false); });
}

QWidget* MakeTearButton(PaneWindow* window) { return new TearButton(window); }

}  // namespace memprof::viewer
