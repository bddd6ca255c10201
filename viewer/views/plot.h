// A plot over the time window that all views share: its scale, the effect of mouse, wheel and keys
// on the window, and the chosen instant. Derived classes draw the content.
#pragma once

#include <QWidget>
#include <functional>

#include "viewer/geometry/axis.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/views/theme.h"
#include "viewer/views/time_gestures.h"

namespace memprof::viewer {

// "1.20 s  ·  step 12", with the resolution of the scale's pixels. Only while a log is open.
QString InstantText(const Document& document, const TimeScale& scale, analysis::TimeNs time);
// The chosen instant, if it is in the plot: a line, and a mark `height` above it.
void PaintInstant(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                  analysis::TimeNs instant, double height, const Theme& theme);

// Repaints only where the chosen instant was and is: two strips of a widget.
class InstantStrips {
 public:
  // The line was painted at x, in the widget's coordinates; it is to be there.
  void Painted(double x) { painted_ = x; }
  void Move(QWidget* widget, double x) const;

 private:
  double painted_ = 0;
};
// Calls `paint` for each rectangle of a paint event, with a painter of the widget that is clipped
// to it: two strips apart from each other are not all that lies between them.
void PaintParts(QWidget* widget, const QPaintEvent& event,
                const std::function<void(QPainter&)>& paint);

class TimePlot : public QWidget {
  Q_OBJECT

 public:
  TimePlot(Document* document, Selection* selection, QWidget* parent = nullptr);

  // The area of time; lanes and axes of derived classes are around it.
  virtual QRectF PlotRect() const;
  TimeScale Scale() const;

 protected:
  // Paints everything between the background and the axis; only this is painted if `ready` is
  // false.
  virtual bool ready() const = 0;
  virtual void PaintContent(QPainter& painter, const TimeScale& scale, const Theme& theme) = 0;
  // Lines "name\tvalue" of the box beside the mouse.
  virtual QStringList Readout(analysis::TimeNs time, QPointF at) const = 0;
  virtual QString Waiting() const = 0;

  // The space for labels of bytes on the left, and for the axis below.
  double LeftMargin() const;
  double AxisHeight() const;

  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void changeEvent(QEvent* event) override;

  Document* const document_;
  Selection* const selection_;

 private:
  void Paint(QPainter& painter);
  void PaintReadout(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                    const Theme& theme);

  InstantStrips instant_;
  TimeGestures gestures_{this, selection_};
};

}  // namespace memprof::viewer
