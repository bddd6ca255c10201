// The timeline of every device and process at once: a row for each, with one axis of time and one
// scale of bytes. Lies over the plot of the timeline while it is shown.
#pragma once

#include <QScrollBar>
#include <QWidget>
#include <map>
#include <memory>
#include <vector>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/timeline_columns.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/device_rows.h"
#include "viewer/views/time_gestures.h"
#include "viewer/views/timeline_stacks.h"

namespace memprof::viewer {

// Stacks are made for rows that are shown, one after the other in the background, and kept for some
// rows more: hundreds of ranks cost no more than a dozen. The filter has no effect here.
class TimelineRows : public QWidget {
  Q_OBJECT

 public:
  TimelineRows(Document* document, Selection* selection, QWidget* parent);

  const std::vector<DeviceRow>& rows() const { return rows_; }
  RowLayout layout() const;
  // Of a row's stack in this widget's coordinates.
  QRectF PlotOf(std::size_t row) const;
  // Where plots begin, so that they lie below the timeline's.
  void SetLeft(double left);
  bool made(std::size_t row) const { return made_.contains(row); }
  bool busy() const { return list_job_.running() || stack_job_.running(); }

 signals:
  void RowsChanged();
  void RowOpened();  // by a double click or Enter, once it is chosen

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override {
    gestures_.Leave();
    QWidget::leaveEvent(event);
  }

 private:
  struct Made {
    std::shared_ptr<const TimelineBands> bands;
    TimelineColumns columns, drawn;
    std::uint64_t used = 0;  // when it was painted last
  };

  TimeScale Scale() const;
  QRectF Area() const;  // of all plots
  void List();
  void Forget();
  void MakeNext();
  void PaintRow(QPainter& painter, std::size_t row, const TimeScale& scale, const Theme& theme);
  int ChosenRow() const;
  void Choose(int row);
  void PlaceScrollBar();

  Document* const document_;
  Selection* const selection_;
  TimelineStacks* const stacks_;
  QScrollBar* const scroll_;
  std::shared_ptr<const analysis::Session> listed_;
  std::vector<DeviceRow> rows_;
  std::uint64_t highest_ = 1;
  std::vector<analysis::StackBand> hidden_;  // in the stacks that were made
  std::map<std::size_t, Made> made_;
  std::uint64_t painted_ = 0;
  double left_ = 80;
  JobTracker list_job_, stack_job_;
  TimeGestures gestures_{this, selection_};
};

}  // namespace memprof::viewer
