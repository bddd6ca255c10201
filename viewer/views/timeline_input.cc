// The memory timeline: mouse, wheel and keys.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>

#include "viewer/geometry/window_math.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (bands() != nullptr) gestures_.Press(event);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) { gestures_.Move(event, Scale()); }

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (const auto clicked = gestures_.Release(event, Scale())) Click(*clicked);
}

bool TimelineView::SelectBand(int band) {
  if (bands() == nullptr || stacks_->grouping() != analysis::TimelineGrouping::kSite) return false;
  if (band < 0 || static_cast<std::size_t>(band) >= bands()->bands.size()) return false;
  const analysis::StackId site = bands()->bands[static_cast<std::size_t>(band)].site;
  if (!site.valid()) return false;
  selection_->SelectSite(site);
  return true;
}

void TimelineView::Click(QPointF point) {
  if (const TimelineMarker* marker = marks_.At(point)) {
    selection_->SetInstant(marker->time);
    return;
  }
  if (point.y() < legend_.height()) {
    SelectBand(legend_.BandAt(point));
    return;
  }
  SelectBand(BandAt(point));
  selection_->SetInstant(Scale().At(point.x()));
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->position().y() < legend_.height()) return;
  const auto range = lane_.RangeAt(event->position());
  if (range.has_value()) {
    selection_->SetWindow(*range);
  } else {
    selection_->ShowAll();
  }
}

bool TimelineView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QString text = lane_.TextAt(help->pos());
  if (text.isEmpty()) text = marks_.TextAt(help->pos());
  if (text.isEmpty()) text = LegendText(help->pos());
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), text, this);
  }
  return true;
}

void TimelineView::leaveEvent(QEvent*) { gestures_.Leave(); }

void TimelineView::wheelEvent(QWheelEvent* event) {
  if (bands() != nullptr) gestures_.Wheel(event, Scale());
}

void TimelineView::StepMarker(bool forward) {
  const std::vector<TimelineMarker>& markers = *stacks_->markers();
  const int next = forward ? NextMarker(markers, selection_->instant())
                           : MarkerBefore(markers, selection_->instant());
  if (next < 0) return;
  const analysis::TimeNs time = markers[static_cast<std::size_t>(next)].time;
  const analysis::TimeWindow window = selection_->window();
  selection_->SetInstant(time);
  if (time >= window.begin && time <= window.end) return;
  const analysis::TimeNs half = (window.end - window.begin) / 2;
  const analysis::TimeNs begin = time > half ? time - half : 0;
  selection_->SetWindow(Pan({begin, begin + 2 * half}, 0, selection_->bounds()));
}

void TimelineView::StepInstant(double share) {
  const TimeScale scale = Scale();
  selection_->SetInstant(scale.At(scale.X(selection_->instant()) + share * scale.width));
}

void TimelineView::StepBand(int by) {
  if (bands() == nullptr) return;
  const int count = static_cast<int>(bands()->bands.size());
  for (int band = SelectedBand() < 0 && by < 0 ? count - 1 : SelectedBand() + by;
       band >= 0 && band < count; band += by)
    if (SelectBand(band)) return;
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  if (event->modifiers().testFlag(Qt::ControlModifier)) {
    if (event->key() == Qt::Key_Left) return StepInstant(-0.01);
    if (event->key() == Qt::Key_Right) return StepInstant(0.01);
    if (event->key() == Qt::Key_Up) return StepBand(1);
    if (event->key() == Qt::Key_Down) return StepBand(-1);
  }
  if (event->key() == Qt::Key_N) return StepMarker(!event->modifiers().testFlag(Qt::ShiftModifier));
  if (!gestures_.Key(event, Scale())) QWidget::keyPressEvent(event);
}

void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) Arrange();
  QWidget::changeEvent(event);
}

}  // namespace memprof::viewer
