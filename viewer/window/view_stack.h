// The views one over the other, of which one is seen.
#pragma once

#include <QStackedWidget>

namespace memprof::viewer {

// What a view says in words may need another line at any click. A QStackedWidget then asks all its
// pages, seen or not, how high they would be for some widths, and these ask each of their labels:
// that took longer than the rest of the click. The views take the room there is.
class ViewStack : public QStackedWidget {
 public:
  using QStackedWidget::QStackedWidget;

  bool hasHeightForWidth() const override { return false; }
  int heightForWidth(int) const override { return -1; }
  QSize sizeHint() const override { return {960, 640}; }
  QSize minimumSizeHint() const override { return {480, 240}; }
};

}  // namespace memprof::viewer
