// A frame around the widget that has the keyboard, the same in every part of a window.
#pragma once

#include <QPointer>
#include <QWidget>

namespace memprof::viewer {

// Shown when the keyboard moved the focus, until the mouse is pressed or the focus leaves. A child
// of the window that lies above everything else, and that the mouse passes through.
class FocusRing : public QWidget {
  Q_OBJECT

 public:
  explicit FocusRing(QWidget* window);

  // The widget with the frame; null: none.
  QWidget* around() const { return around_; }

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void Place(QWidget* widget);

  QPointer<QWidget> around_;
};

}  // namespace memprof::viewer
