// The picture of all allocations: mouse, wheel and keys.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "viewer/views/allocations_canvas.h"

namespace memprof::viewer {
void AllocationsCanvas::mousePressEvent(QMouseEvent* event) {
  if (data_ == nullptr) return;
  pan_low_ = low_;
  pan_high_ = high_;
  gestures_.Press(event);
}

void AllocationsCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (gestures_.panning()) {
    const double moved = event->position().y() - gestures_.from().y();
    const double bytes = moved / PlotRect().height() * (pan_high_ - pan_low_);
    SetBytes(pan_low_ + bytes, pan_high_ + bytes);
  } else if (!gestures_.dragging()) {
    hover_ = RowAt(event->position());
  }
  gestures_.Move(event, Scale());
}

void AllocationsCanvas::mouseReleaseEvent(QMouseEvent* event) {
  if (const auto clicked = gestures_.Release(event, Scale())) Click(*clicked);
}

void AllocationsCanvas::Click(QPointF point) {
  const QRectF plot = PlotRect();
  if (!plot.contains(point)) return;
  const auto row = RowAt(point);
  selection_->SetInstant(Scale().At(point.x()));
  if (row.has_value()) {
    SelectRow(*row);
  } else {
    selection_->SelectAllocation({}, {});
  }
}

void AllocationsCanvas::SelectRow(std::size_t row) {
  const analysis::AllocationId id = data_->index->id(row);
  selection_->SelectAllocation(id, shown().record(id).stack);
}

void AllocationsCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  if (data_ == nullptr || event->button() != Qt::LeftButton) return;
  const auto row = RowAt(event->position());
  if (row.has_value()) {
    SelectRow(*row);
    ZoomToSelected();
  } else {
    selection_->ShowAll();
    SetBytes(0, WholeBox().high);
  }
}

void AllocationsCanvas::ZoomToSelected() {
  const auto row = SelectedRow();
  if (!row.has_value()) return;
  const analysis::TimeNs birth = data_->index->Birth(*row);
  const analysis::TimeNs death = std::min(data_->index->Death(*row), selection_->bounds().end);
  // With some time before and after it.
  const analysis::TimeNs margin = (death - std::min(birth, death)) / 20 + 1;
  selection_->SetWindow({birth - std::min(birth, margin), death + margin});
  // And its lane into the picture.
  const double low = data_->index->low(*row), high = data_->index->high(*row);
  if (high <= low_ || low >= high_) {
    const double half = (high_ - low_) / 2;
    SetBytes((low + high) / 2 - half, (low + high) / 2 + half);
  }
}

void AllocationsCanvas::SelectNeighbour(int step) {
  const auto selected = SelectedRow();
  if (data_ == nullptr) return;
  const AllocationIndex& index = *data_->index;
  const auto size = static_cast<std::ptrdiff_t>(index.size());
  const analysis::StackId site = selection_->site();
  std::ptrdiff_t row = selected.has_value() ? static_cast<std::ptrdiff_t>(*selected)
                       : step > 0           ? -1
                                            : size;
  for (row += step; row >= 0 && row < size; row += step) {
    const analysis::AllocationId id = index.id(static_cast<std::size_t>(row));
    if (site.valid() && shown().record(id).stack != site) continue;
    if (!Passes(document_->passing().get(), id)) continue;
    SelectRow(static_cast<std::size_t>(row));
    return;
  }
}

void AllocationsCanvas::ZoomBytes(double anchor, double factor) {
  SetBytes(anchor - (anchor - low_) * factor, anchor + (high_ - anchor) * factor);
}

void AllocationsCanvas::wheelEvent(QWheelEvent* event) {
  if (data_ == nullptr) return;
  event->accept();
  const QPoint angle = event->angleDelta();
  const bool shift = event->modifiers().testFlag(Qt::ShiftModifier);
  if (event->modifiers().testFlag(Qt::ControlModifier)) {
    const double notches = (angle.y() != 0 ? angle.y() : angle.x()) / 120.0;
    if (shift) {
      const double bytes = notches * (high_ - low_) / 10;
      SetBytes(low_ + bytes, high_ + bytes);
    } else {
      ZoomBytes(BytesAt(event->position().y()), std::pow(kZoomPerNotch, notches));
    }
    return;
  }
  gestures_.Wheel(event, Scale());
}

bool AllocationsCanvas::ByteKey(QKeyEvent* event) {
  const double part = (high_ - low_) / 4;
  const bool shift = event->modifiers().testFlag(Qt::ShiftModifier);
  const double middle = (low_ + high_) / 2;
  switch (event->key()) {
    case Qt::Key_PageUp:
      SetBytes(low_ + part, high_ + part);
      return true;
    case Qt::Key_PageDown:
      SetBytes(low_ - part, high_ - part);
      return true;
    case Qt::Key_Up:
      if (shift) ZoomBytes(middle, 0.5);
      return shift;
    case Qt::Key_Down:
      if (shift) ZoomBytes(middle, 2);
      return shift;
    case Qt::Key_0:
      SetBytes(0, WholeBox().high);
      return true;
    default:
      return false;
  }
}

void AllocationsCanvas::keyPressEvent(QKeyEvent* event) {
  if (data_ == nullptr || ByteKey(event)) return;
  if (gestures_.Key(event, Scale())) return;
  switch (event->key()) {
    case Qt::Key_BracketLeft:
      SelectNeighbour(-1);
      break;
    case Qt::Key_BracketRight:
      SelectNeighbour(1);
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      ZoomToSelected();
      break;
    default:
      QWidget::keyPressEvent(event);
  }
}

void AllocationsCanvas::leaveEvent(QEvent*) {
  hover_.reset();
  gestures_.Leave();
}

void AllocationsCanvas::resizeEvent(QResizeEvent*) {
  if (isVisible()) AskPicture();
}

void AllocationsCanvas::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange && isVisible()) Update();
  QWidget::changeEvent(event);
}

bool AllocationsCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || data_ == nullptr) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto row = RowAt(help->pos());
  if (row.has_value()) {
    const QPoint at = help->pos(), on_screen = help->globalPos();
    QToolTip::showText(on_screen, Describe(*row), this);
    AskName(*row, [this, at, on_screen] {
      const auto now = RowAt(at);
      if (now.has_value() && QToolTip::isVisible())
        QToolTip::showText(on_screen, Describe(*now), this);
    });
  } else {
    QToolTip::hideText();
  }
  return true;
}

}  // namespace memprof::viewer
