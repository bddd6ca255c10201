// A leak's evidence as bars: bytes that survived, by the step in which they were allocated.
#pragma once

#include <QWidget>

#include "viewer/geometry/bars.h"
#include "viewer/models/document.h"

namespace memprof::viewer {

class SurvivorChart : public QWidget {
  Q_OBJECT

 public:
  explicit SurvivorChart(QWidget* parent = nullptr);

  // Shows nothing for null. The row must stay alive until the next call.
  void SetLeak(const LeakRow* row, std::int64_t steps);
  QRectF PlotRect() const;
  // What is drawn; nothing without steps.
  std::vector<SurvivorBar> Bars() const;
  QSize sizeHint() const override { return {360, 150}; }
  QSize minimumSizeHint() const override { return {200, 110}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;  // tooltips

 private:
  const LeakRow* row_ = nullptr;
  std::int64_t steps_ = 0;
};

}  // namespace memprof::viewer
