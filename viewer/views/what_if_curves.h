// Reserved bytes over time of several allocators, in the window that all views share.
#pragma once

#include <QColor>
#include <QWidget>
#include <vector>

#include "analysis/reserved_curve.h"
#include "viewer/geometry/axis.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/views/time_gestures.h"

namespace memprof::viewer {

struct WhatIfCurve {
  QString name;
  QColor color;
  bool strong = false;  // drawn thicker, and above the others
  std::vector<analysis::CurvePoint> points;
};

class WhatIfCurves : public QWidget {
  Q_OBJECT

 public:
  WhatIfCurves(Document* document, Selection* selection, QWidget* parent = nullptr);

  // `capacity`: drawn where it is near; kUnlimited = there is none.
  void SetCurves(std::vector<WhatIfCurve> curves, std::uint64_t capacity);
  const std::vector<WhatIfCurve>& curves() const { return curves_; }
  QRectF PlotRect() const;
  QSize sizeHint() const override { return {600, 200}; }
  QSize minimumSizeHint() const override { return {240, 110}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;  // tooltips

 private:
  TimeScale Scale() const;
  std::uint64_t Most() const;  // bytes at the top of the plot
  void PaintCurve(QPainter& painter, const QRectF& plot, const WhatIfCurve& curve,
                  std::uint64_t most) const;
  void PaintLegend(QPainter& painter, const QRectF& plot) const;

  Document* const document_;
  Selection* const selection_;
  std::vector<WhatIfCurve> curves_;
  std::uint64_t capacity_ = 0;
  double drag_from_ = 0;
  TimeGestures gestures_;
};

}  // namespace memprof::viewer
