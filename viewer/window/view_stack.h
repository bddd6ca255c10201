// The views as a stack, of which one is visible.
#pragma once

#include <QStackedWidget>

namespace memprof::viewer {

// The texts of a view may need another line after any click. A QStackedWidget then queries all its
// pages, visible or not, for their height at several widths, and these query each of their labels:
// that took longer than the rest of the click. Here the views get the available space.
class ViewStack : public QStackedWidget {
 public:
  using QStackedWidget::QStackedWidget;

  bool hasHeightForWidth() const override { return false; }
  int heightForWidth(int) const override { return -1; }
  QSize sizeHint() const override { return {960, 640}; }
  QSize minimumSizeHint() const override { return {480, 240}; }
};

}  // namespace memprof::viewer
