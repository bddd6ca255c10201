// The memory timeline: a device's bytes over time, stacked, with steps, peak, capacity and
// markers. Wheel zooms at the cursor, drag brushes a window, Shift or middle button pans, a click
// chooses the instant that the other views show.
#pragma once

#include <optional>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/timeline_columns.h"
#include "viewer/views/range_lane.h"
#include "viewer/views/view.h"

class QComboBox;

namespace memprof::viewer {

class TimelineView : public View {
  Q_OBJECT

 public:
  TimelineView(Document* document, Selection* selection, QWidget* parent = nullptr);

  QSize minimumSizeHint() const override { return {360, 240}; }

  // Where the stack is drawn, in this widget's coordinates; for tests and overlays.
  QRectF PlotRect() const;
  TimeScale Scale() const;
  std::uint64_t AxisMax() const;
  // The named ranges above the plot, as painted last.
  const RangeLane& lane() const { return lane_; }
  QComboBox* axis_choice() const { return axis_choice_; }

 protected:
  void Refresh() override { update(); }
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;  // tooltips
  void resizeEvent(QResizeEvent* event) override;

 private:
  enum class Drag { kNone, kBrush, kPan };

  double LegendHeight() const;
  void PlaceAxisChoice();
  void PaintMarkers(QPainter& painter, const QRectF& plot, const TimeScale& scale);
  void PaintLegend(QPainter& painter, const QRectF& box);
  void PaintCursor(QPainter& painter, const QRectF& plot, const TimeScale& scale);
  void PaintReadout(QPainter& painter, const QRectF& plot, analysis::TimeNs time, double x);
  QString InstantText(analysis::TimeNs time) const;
  const TimelineBands* bands() const;

  QComboBox* axis_choice_;
  RangeLane lane_;
  TimelineColumns columns_;  // of what was painted last
  const TimelineBands* columns_of_ = nullptr;
  std::optional<QPointF> cursor_;  // under the mouse
  Drag drag_ = Drag::kNone;
  QPointF drag_from_;
  analysis::TimeWindow drag_window_;
  int gesture_ = 1;  // distinguishes one turn of the wheel from the next
  qint64 last_wheel_ms_ = 0;
};

}  // namespace memprof::viewer
