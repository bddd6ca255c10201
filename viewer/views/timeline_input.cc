// The memory timeline: mouse, wheel and keys.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <utility>

#include "viewer/geometry/window_math.h"
#include "viewer/views/pin_menu.h"
#include "viewer/views/timeline_view.h"

namespace memprof::viewer {
void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (bands() == nullptr) return;
  const QRectF plot = PlotRect();
  const QPointF at = event->position();
  panned_ = Bytes();
  if (event->button() == Qt::LeftButton && at.x() < plot.left() && at.y() >= plot.top() &&
      at.y() <= plot.bottom()) {
    gutter_ = at.y();
    return;
  }
  gestures_.Press(event);
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (gestures_.panning() && panned_.has_value()) {
    const double moved = event->position().y() - gestures_.from().y();
    ShowBytes(PanBytes(*panned_, moved / PlotRect().height() * panned_->span(), AxisMax()));
  }
  gestures_.Move(event, Scale());
  if (gutter_.has_value()) update();
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (const auto from = std::exchange(gutter_, std::nullopt)) {
    if (!TimeGestures::IsClick({*from, 0}, {event->position().y(), 0}))
      ShowBytes(MakeByteWindow(BytesAtY(*from), BytesAtY(event->position().y()), AxisMax()));
    return update();
  }
  if (const auto clicked = gestures_.Release(event, Scale())) Click(*clicked, event->modifiers());
}

bool TimelineView::SelectBand(int band) {
  if (bands() == nullptr || stacks_->grouping() != analysis::TimelineGrouping::kSite) return false;
  if (band < 0 || static_cast<std::size_t>(band) >= bands()->bands.size()) return false;
  const analysis::StackId site = bands()->bands[static_cast<std::size_t>(band)].site;
  if (!site.valid()) return false;
  selection_->SelectSite(site);
  return true;
}

void TimelineView::ClickLegend(QPointF point, Qt::KeyboardModifiers modifiers) {
  if (legend_.IsShowAll(point)) return stacks_->ShowAllBands();
  const int band = legend_.BandAt(point);
  const bool hide = legend_.IsSwatch(point) || modifiers.testFlag(Qt::ControlModifier) ||
                    modifiers.testFlag(Qt::AltModifier);
  if (hide) {
    stacks_->ToggleBand(band);
  } else {
    SelectBand(band);
  }
}

void TimelineView::contextMenuEvent(QContextMenuEvent* event) {
  const QPointF at = event->pos();
  const int band = at.y() < legend_.height() ? legend_.BandAt(at) : BandAt(at);
  if (band < 0) return;
  const Band& of = bands()->bands[static_cast<std::size_t>(band)];
  QMenu menu(this);
  menu.addAction(stacks_->hidden(band) ? tr("&Show %1").arg(of.name) : tr("&Hide %1").arg(of.name),
                 this, [this, band] { stacks_->ToggleBand(band); });
  if (stacks_->hidden_count() > 0)
    menu.addAction(tr("Show &all"), stacks_, &TimelineStacks::ShowAllBands);
  if (!of.key.isEmpty()) AddPinMenu(&menu, document_, [key = of.key] { return key; });
  menu.exec(event->globalPos());
}

void TimelineView::Click(QPointF point, Qt::KeyboardModifiers modifiers) {
  if (const TimelineMarker* marker = marks_.At(point)) {
    selection_->SetInstant(marker->time);
    return;
  }
  if (point.y() < legend_.height()) return ClickLegend(point, modifiers);
  SelectBand(BandAt(point));
  selection_->SetInstant(Scale().At(point.x()));
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->position().y() < legend_.height()) return;
  if (event->position().x() < PlotRect().left()) return ShowAllBytes();
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
  if (bands() != nullptr && !ByteWheel(event)) gestures_.Wheel(event, Scale());
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
  if (bands() != nullptr && ByteKey(event)) return;
  if (!gestures_.Key(event, Scale())) QWidget::keyPressEvent(event);
}

void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) Arrange();
  QWidget::changeEvent(event);
}

}  // namespace memprof::viewer
