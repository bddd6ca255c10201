// The memory timeline: a device's bytes over time, stacked by the chosen grouping, with steps,
// ranges, peak, capacity, failed requests and snapshots. Wheel zooms at the cursor, drag brushes a
// window, Shift or middle button pans; a click chooses the instant that the other views show and,
// if the stack is by call site, the call site.
#pragma once

#include <memory>
#include <optional>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/timeline_columns.h"
#include "viewer/views/plot.h"
#include "viewer/views/range_lane.h"
#include "viewer/views/time_gestures.h"
#include "viewer/views/timeline_lanes.h"
#include "viewer/views/timeline_rows.h"
#include "viewer/views/timeline_stacks.h"
#include "viewer/views/view.h"

class QComboBox;

namespace memprof::viewer {

class TimelineView : public View {
  Q_OBJECT

 public:
  TimelineView(Document* document, Selection* selection, QWidget* parent = nullptr);

  QSize minimumSizeHint() const override { return {360, 240}; }
  // Seconds since the start, then minimum and maximum of every band's own bytes, one line for each
  // pixel column of the plot. O(events in the window).
  bool WriteCsv(QTextStream* out) const override;
  ViewState State() const override;  // what the stack is split by, and its content
  void SetState(const ViewState& state) override;

  // The area of the stack, in this widget's coordinates; for tests and overlays.
  QRectF PlotRect() const;
  TimeScale Scale() const;
  // The highest bytes that the axis can show, and what it shows of them.
  std::uint64_t AxisMax() const;
  ByteWindow Bytes() const;
  ByteScale ByteAxis() const;
  void ShowBytes(const ByteWindow& window);
  void ShowAllBytes();
  // Shows what varies in the window, without the floor that is always in use; shows all if it does
  // already.
  void FitToUse();
  // The lanes above the plot, in their last layout.
  const RangeLane& lane() const { return lane_; }
  const TimelineLegend& legend() const { return legend_; }
  QStringList Notes() const;  // beside the legend
  const MarkerLane& markers() const { return marks_; }
  QComboBox* axis_choice() const { return axis_choice_; }
  QComboBox* grouping_choice() const { return grouping_choice_; }
  QComboBox* whole_choice() const { return whole_choice_; }
  TimelineStacks* stacks() const { return stacks_; }
  TimelineRows* rows() const { return rows_; }
  // Whether every device and process has a row, instead of one stack. Needs several rows.
  bool shows_rows() const { return rows_shown_ && rows_->rows().size() > 1; }
  void ShowRows(bool shown);
  // The instant of the device's peak, as in reports.
  analysis::TimeNs PeakOf(const StackLine& allocated) const;
  // The band drawn at a point of the plot; -1 outside of all.
  int BandAt(QPointF point) const;

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
  void contextMenuEvent(QContextMenuEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Paint(QPainter& painter);
  void MakeChoices();
  void ChooseContent(int index);
  void ArrangeContentChoice();
  void ConnectAll();
  // Arranges what is above the plot; for another log, size, font or stack.
  void Arrange();
  void LayOutLanes(const TimeScale& scale, const QFont& font);
  void MakeDrawn(const TimeScale& scale, const QRectF& plot);
  void PaintAxisBegin(QPainter& painter, const QRectF& plot, const Theme& theme) const;
  double BytesAtY(double y) const;
  bool ByteWheel(QWheelEvent* event);
  bool ByteKey(QKeyEvent* event);
  std::optional<std::uint64_t> ShownCapacity() const;
  void PaintFlags(QPainter& painter, const QRectF& plot, const TimeScale& scale);
  void PaintHover(QPainter& painter, const QRectF& plot, const TimeScale& scale);
  QString LegendText(QPointF point) const;
  const TimelineBands* bands() const { return stacks_->bands().get(); }
  int SelectedBand() const;

  void Click(QPointF point, Qt::KeyboardModifiers modifiers);
  void ClickLegend(QPointF point, Qt::KeyboardModifiers modifiers);
  bool SelectBand(int band);  // true if it is a call site's
  void StepGrouping(int by);
  void StepMarker(bool forward);
  void StepInstant(double share);
  void StepBand(int by);

  TimelineStacks* const stacks_;
  QComboBox* grouping_choice_;
  QComboBox* axis_choice_;
  QComboBox* whole_choice_;
  TimelineRows* const rows_;
  bool rows_shown_ = false;
  RangeLane lane_;
  TimelineLegend legend_;
  MarkerLane marks_;
  std::optional<ByteWindow> bytes_;   // null: all
  std::optional<ByteWindow> panned_;  // when the mouse began to move it
  std::optional<double> gutter_;      // where a drag along the axis began
  TimelineColumns columns_, drawn_;   // of the last painting, exact and as they were drawn
  ByteWindow drawn_bytes_;
  std::shared_ptr<const TimelineBands> columns_of_;
  InstantStrips instant_;
  TimeGestures gestures_{this, selection_};
};

}  // namespace memprof::viewer
