// One figure of a job as a heat map: ranks from above, steps along.
#pragma once

#include <QImage>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

#include "viewer/geometry/heat_map.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/fleet_grid.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// What the colours are: the distance from the stage's median at the step, or the figure itself.
enum class FleetColoring { kApart, kValue };

// The colours of cells; NaN is the surface.
QColor FleetColor(const FleetGrid& grid, std::size_t cell, FleetColoring coloring,
                  const Theme& theme);

class FleetCanvas : public QWidget {
  Q_OBJECT

 public:
  explicit FleetCanvas(QWidget* parent = nullptr);

  // Shows all of it. Keeps the view if only the order is another one.
  void SetGrid(std::shared_ptr<const FleetGrid> grid, std::vector<std::uint32_t> order);
  void SetColoring(FleetColoring coloring);
  // Marks a row of the grid and moves the view to it.
  void Choose(std::size_t row);
  std::optional<std::size_t> chosen() const { return chosen_; }

  // A zoom is one entry of the history, unless it goes on with the last gesture.
  void SetView(const HeatView& view, bool same_gesture = false);
  const HeatView& view() const { return view_; }
  HeatView WholeView() const;
  void ShowAll() { SetView(WholeView()); }
  void Back();
  void Forward();

  QRectF PlotRect() const;
  // The cell under a point: as painted, the farthest from the median of those that share the pixel;
  // where no rank has such a step, that of the first. None outside of the plot.
  std::optional<std::size_t> CellAt(QPointF at) const;
  QString TipText(std::size_t cell) const;  // rich text

 signals:
  void RowChosen(std::size_t row);
  void RowActivated(std::size_t row);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool event(QEvent* event) override;

 private:
  enum class Drag { kNone, kBrush, kPan };
  struct Picture {
    HeatView view;
    std::vector<std::int64_t> cells;  // of each pixel
    QImage image;
  };

  bool ready() const { return grid_ != nullptr && grid_->columns > 0; }
  // Draws the view in a job; the last picture is shown, scaled, until it is there.
  void Redraw();
  HeatRange Rows() const { return {view_.row_begin, view_.row_end}; }
  HeatRange Columns() const { return {view_.column_begin, view_.column_end}; }
  // Zooms or moves the steps, or with `ranks` these.
  void Zoom(bool ranks, double share, double factor, bool same_gesture);
  void Move(bool ranks, double share_of_view, bool same_gesture);
  void TurnWheel(const QWheelEvent* event, bool same_gesture);
  void ChooseNeighbour(int step);
  std::optional<QRectF> Brushed() const;
  void ZoomTo(const QRectF& brushed);
  void PaintMap(QPainter& painter, const QRectF& plot);
  void PaintChosen(QPainter& painter, const QRectF& plot, const Theme& theme);
  void PaintAxes(QPainter& painter, const QRectF& plot, const Theme& theme);
  void PaintLegend(QPainter& painter, const QRectF& plot, const Theme& theme);

  std::shared_ptr<const FleetGrid> grid_;
  std::shared_ptr<const std::vector<std::uint32_t>> order_;
  std::vector<std::uint32_t> places_;  // by row of the grid
  FleetColoring coloring_ = FleetColoring::kApart;
  HeatView view_;
  std::vector<HeatView> back_, forward_;
  std::optional<std::size_t> chosen_;
  std::shared_ptr<const Picture> picture_;
  Drag drag_ = Drag::kNone;
  QPointF from_, to_;
  HeatView from_view_;
  std::optional<quint64> wheel_ms_;  // while the last gesture is a turn of the wheel
  JobTracker job_;
};

}  // namespace memprof::viewer
