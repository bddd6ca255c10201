// A leak's evidence as bars: surviving bytes by the step in which they were allocated.
#pragma once

#include <QWidget>

#include "viewer/geometry/bars.h"
#include "viewer/models/document.h"

namespace memprof::viewer {

class SurvivorChart : public QWidget {
  Q_OBJECT

 public:
  explicit SurvivorChart(QWidget* parent = nullptr);

  // Null: shows nothing. The row must stay alive until the next call.
  void SetLeak(const LeakRow* row, std::int64_t steps);
  QRectF PlotRect() const;
  // The bars; empty without steps.
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
