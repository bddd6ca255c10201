// The highest use of each step of two aligned runs: two curves, and where they first differ.
#pragma once

#include <QWidget>
#include <memory>
#include <optional>

#include "viewer/models/diff_data.h"

namespace memprof::viewer {

class DiffSteps : public QWidget {
  Q_OBJECT

 public:
  explicit DiffSteps(QWidget* parent = nullptr);

  void SetData(std::shared_ptr<const DiffData> data);
  // The number of the highlighted step (of the run after).
  void SetStep(std::int64_t number);
  QRectF PlotRect() const;
  // Row of DiffReport::steps under a position; none outside.
  std::optional<std::size_t> RowAt(double x) const;
  QSize sizeHint() const override { return {420, 190}; }
  QSize minimumSizeHint() const override { return {220, 110}; }

 signals:
  void StepChosen(std::size_t row);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;  // tooltips

 private:
  std::uint64_t Most() const;
  double X(std::size_t row) const;
  void PaintLine(QPainter& painter, const QRectF& plot, bool after, const QColor& color) const;

  std::shared_ptr<const DiffData> data_;
  std::int64_t step_ = -1;
};

}  // namespace memprof::viewer
