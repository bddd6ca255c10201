// A thin strip of the whole recorded time below every view: the position of the window, the chosen
// instant, and the timeline's stack. A click chooses an instant; dragging moves or brushes the
// window.
#pragma once

#include <QWidget>
#include <memory>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/timeline_columns.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/views/plot.h"
#include "viewer/views/time_gestures.h"
#include "viewer/views/timeline_stacks.h"

namespace memprof::viewer {

class OverviewStrip : public QWidget {
  Q_OBJECT

 public:
  OverviewStrip(Document* document, Selection* selection, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {600, 52}; }
  QSize minimumSizeHint() const override { return {200, 44}; }

  QRectF PlotRect() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;

 private:
  enum class Drag { kNone, kMove, kBrush };

  TimeScale Scale() const;
  void Paint(QPainter& painter);

  Document* const document_;
  Selection* const selection_;
  TimelineStacks* const stacks_;
  TimelineColumns columns_;
  std::shared_ptr<const TimelineBands> columns_of_;
  Drag drag_ = Drag::kNone;
  QPointF drag_from_;
  analysis::TimeWindow drag_window_;
  InstantStrips instant_;
  TimeGestures gestures_{this, selection_};
};

}  // namespace memprof::viewer
