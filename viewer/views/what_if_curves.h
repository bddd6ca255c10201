// Reserved bytes over time of several allocators, in the window that all views share.
#pragma once

#include <QColor>
#include <vector>

#include "analysis/allocators/reserved_curve.h"
#include "viewer/views/plot.h"

namespace memprof::viewer {

struct WhatIfCurve {
  QString name;
  QColor color;
  bool strong = false;  // drawn thicker, and above the others
  std::vector<analysis::CurvePoint> points;
};

class WhatIfCurves : public TimePlot {
  Q_OBJECT

 public:
  WhatIfCurves(Document* document, Selection* selection, QWidget* parent = nullptr);

  // `capacity`: drawn where it is near; kUnlimited = there is none.
  void SetCurves(std::vector<WhatIfCurve> curves, std::uint64_t capacity);
  const std::vector<WhatIfCurve>& curves() const { return curves_; }
  QRectF PlotRect() const override;
  QStringList Readout(analysis::TimeNs time, QPointF at) const override;
  QSize sizeHint() const override { return {600, 200}; }
  QSize minimumSizeHint() const override { return {240, 110}; }

 protected:
  bool ready() const override { return !curves_.empty(); }
  void PaintContent(QPainter& painter, const TimeScale& scale, const Theme& theme) override;
  QString Waiting() const override { return QStringLiteral("…"); }

 private:
  std::uint64_t Most() const;  // bytes at the top of the plot
  void PaintCurve(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                  const WhatIfCurve& curve, std::uint64_t most) const;
  void PaintLegend(QPainter& painter, const QRectF& plot, const Theme& theme) const;

  std::vector<WhatIfCurve> curves_;
  std::uint64_t capacity_ = 0;
};

}  // namespace memprof::viewer
