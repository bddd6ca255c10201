// A thin strip of all of the recorded time, below every view.
#include "viewer/views/overview_strip.h"

#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/geometry/window_math.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {

OverviewStrip::OverviewStrip(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      stacks_(TimelineStacks::Of(document, selection)) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(QStringLiteral("Overview of the whole recording"));
  setToolTip(
      tr("The whole recording. Click: choose the instant that all views show. "
         "Drag: choose the window of the timeline."));
  const auto repaint = [this] { update(); };
  connect(document_, &Document::StateChanged, this, repaint);
  connect(stacks_, &TimelineStacks::Changed, this, repaint);
  connect(selection_, &Selection::DeviceChanged, this, repaint);
  connect(selection_, &Selection::InstantChanged, this,
          [this] { instant_.Move(this, Scale().X(selection_->instant())); });
  connect(selection_, &Selection::ZoomChanged, this, repaint);
  connect(selection_, &Selection::AxisChanged, this, repaint);
}

QRectF OverviewStrip::PlotRect() const {
  const double left =
      std::ceil(TextWidth(SmallFont(font()), QStringLiteral("00000 MiB")) + 2 * kSpace);
  return QRectF(left, 5, std::max(10.0, width() - left - 2 * kSpace), height() - 10);
}

TimeScale OverviewStrip::Scale() const {
  const QRectF plot = PlotRect();
  return {selection_->bounds(), plot.left(), plot.width(), ShownClock(*document_, *selection_)};
}

void OverviewStrip::paintEvent(QPaintEvent* event) {
  PaintParts(this, *event, [this](QPainter& painter) { Paint(painter); });
  instant_.Painted(Scale().X(selection_->instant()));
}

void OverviewStrip::Paint(QPainter& painter) {
  const Theme theme = Theme::From(palette());
  painter.fillRect(rect(), theme.surface);
  painter.setPen(theme.border);
  painter.drawLine(QPointF(0, 0.5), QPointF(width(), 0.5));
  const std::shared_ptr<const TimelineBands> shown = stacks_->bands();
  if (shown == nullptr) return;
  const QRectF plot = PlotRect();
  const int columns =
      std::max(1, static_cast<int>(std::lround(plot.width() * devicePixelRatioF())));
  const TimeScale scale = Scale();
  if (columns_of_ != shown || !columns_.Fit(scale, columns)) {
    columns_ =
        ForDrawing(MakeColumns(*shown, scale, columns),
                   static_cast<int>(std::ceil(2 * devicePixelRatioF())), {0, shown->top.max() + 1});
    columns_of_ = shown;
  }
  PaintStack(painter, plot, *shown, columns_, shown->top.max() + 1, theme);
  const double begin = scale.X(selection_->window().begin), end = scale.X(selection_->window().end);
  QColor veil = theme.window;
  veil.setAlpha(190);
  painter.fillRect(QRectF(QPointF(plot.left(), plot.top()), QPointF(begin, plot.bottom())), veil);
  painter.fillRect(QRectF(QPointF(end, plot.top()), QPointF(plot.right(), plot.bottom())), veil);
  painter.setPen(QPen(theme.accent, 1.5));
  painter.setBrush(Qt::NoBrush);
  painter.drawRoundedRect(QRectF(QPointF(begin, plot.top() - 2), QPointF(end, plot.bottom() + 2)),
                          2, 2);
  const double instant = scale.X(selection_->instant());
  painter.setPen(QPen(theme.text, 1.5));
  painter.drawLine(QPointF(instant, plot.top() - 3), QPointF(instant, plot.bottom() + 3));
  painter.setFont(SmallFont(font()));
  painter.setPen(theme.muted);
  painter.drawText(QRectF(0, 0, plot.left() - kSpace, height()), Qt::AlignRight | Qt::AlignVCenter,
                   tr("overview"));
}

void OverviewStrip::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  drag_from_ = event->position();
  drag_window_ = selection_->window();
  const TimeScale scale = Scale();
  const double x = event->position().x();
  const bool inside = x > scale.X(drag_window_.begin) && x < scale.X(drag_window_.end);
  const bool whole = drag_window_.begin == selection_->bounds().begin &&
                     drag_window_.end == selection_->bounds().end;
  drag_ = inside && !whole ? Drag::kMove : Drag::kBrush;
  gestures_.Begin();
}

void OverviewStrip::mouseMoveEvent(QMouseEvent* event) {
  if (drag_ == Drag::kNone || TimeGestures::IsClick(drag_from_, event->position())) return;
  const TimeScale scale = Scale();
  if (drag_ == Drag::kMove) {
    // On the strip, the dragged window is only as wide as its share of the whole time. This scale
    // maps the window to that width, so that it follows the mouse.
    const TimeScale dragged{drag_window_, 0,
                            scale.X(drag_window_.end) - scale.X(drag_window_.begin), scale.clock};
    selection_->SetWindow(
        PanBy(dragged, event->position().x() - drag_from_.x(), selection_->bounds()),
        gestures_.current());
  } else {
    selection_->SetWindow(
        Brush(scale.At(drag_from_.x()), scale.At(event->position().x()), selection_->bounds()),
        gestures_.current());
  }
}

void OverviewStrip::mouseReleaseEvent(QMouseEvent* event) {
  if (drag_ != Drag::kNone && TimeGestures::IsClick(drag_from_, event->position()))
    selection_->SetInstant(Scale().At(event->position().x()));
  drag_ = Drag::kNone;
}

void OverviewStrip::wheelEvent(QWheelEvent* event) {
  const TimeScale strip = Scale();
  const TimeScale window{selection_->window(), strip.left, strip.width, strip.clock};
  gestures_.Wheel(event, window, strip.At(event->position().x()));
}

}  // namespace memprof::viewer
