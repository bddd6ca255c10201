// The heat map of a fleet: its view, mouse and keys. Painting is in fleet_painting.cc.
#include "viewer/views/fleet_canvas.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"

namespace memprof::viewer {
namespace {

constexpr double kMapZoomPerNotch = 0.8, kMapMovePerNotch = 0.1, kMapClickSlop = 4;
constexpr quint64 kMapWheelPauseMs = 600;  // a longer pause begins a new entry of the history
constexpr int kRanksOfAPage = 20;

}  // namespace

FleetCanvas::FleetCanvas(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Ranks by step"));
  setMinimumSize(240, 160);
}

void FleetCanvas::SetGrid(std::shared_ptr<const FleetGrid> grid, std::vector<std::uint32_t> order) {
  const bool same = grid == grid_;
  grid_ = std::move(grid);
  places_.assign(order.size(), 0);
  for (std::size_t place = 0; place < order.size(); ++place)
    places_[order[place]] = static_cast<std::uint32_t>(place);
  order_ = std::make_shared<const std::vector<std::uint32_t>>(std::move(order));
  picture_ = nullptr;
  if (!same) {
    view_ = WholeView();
    back_.clear();
    forward_.clear();
    chosen_.reset();
  }
  Redraw();
}

void FleetCanvas::SetColoring(FleetColoring coloring) {
  coloring_ = coloring;
  Redraw();
}

HeatView FleetCanvas::WholeView() const {
  return grid_ == nullptr ? HeatView() : HeatView{0, grid_->rows.size(), 0, grid_->columns};
}

void FleetCanvas::SetView(const HeatView& view, bool same_gesture) {
  if (view == view_ || view.empty()) return;
  if (!same_gesture) {
    back_.push_back(view_);
    wheel_ms_.reset();
  }
  forward_.clear();
  view_ = view;
  Redraw();
}

void FleetCanvas::Back() {
  if (back_.empty()) return;
  forward_.push_back(view_);
  view_ = back_.back();
  back_.pop_back();
  Redraw();
}

void FleetCanvas::Forward() {
  if (forward_.empty()) return;
  back_.push_back(view_);
  view_ = forward_.back();
  forward_.pop_back();
  Redraw();
}

void FleetCanvas::Choose(std::size_t row) {
  if (grid_ == nullptr || row >= grid_->rows.size()) return;
  const std::size_t place = places_[row], rows = grid_->rows.size();
  if (place < view_.row_begin || place >= view_.row_end) {
    const auto middle = static_cast<std::ptrdiff_t>((view_.row_begin + view_.row_end) / 2);
    const HeatRange moved = MoveRange(Rows(), static_cast<std::ptrdiff_t>(place) - middle, rows);
    SetView({moved.begin, moved.end, view_.column_begin, view_.column_end}, true);
  }
  if (chosen_ == row) return;
  chosen_ = row;
  update();
  emit RowChosen(row);
}

void FleetCanvas::ChooseNeighbour(int step) {
  if (!ready()) return;
  const auto last = static_cast<std::ptrdiff_t>(order_->size()) - 1;
  const std::ptrdiff_t place =
      chosen_ ? std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(places_[*chosen_]) + step, 0,
                                           last)
              : static_cast<std::ptrdiff_t>(view_.row_begin);
  Choose((*order_)[static_cast<std::size_t>(place)]);
}

std::optional<std::size_t> FleetCanvas::CellAt(QPointF at) const {
  const QRectF plot = PlotRect();
  if (!ready() || !plot.contains(at)) return std::nullopt;
  const auto pixel = [](double share, int size) {
    return std::clamp(static_cast<int>(share * size), 0, size - 1);
  };
  const double across = (at.x() - plot.left()) / plot.width(),
               down = (at.y() - plot.top()) / plot.height();
  if (picture_ != nullptr && picture_->view == view_) {
    const QSize size = picture_->image.size();
    const std::int64_t cell = picture_->cells[static_cast<std::size_t>(
        pixel(down, size.height()) * size.width() + pixel(across, size.width()))];
    if (cell != kNoCell) return static_cast<std::size_t>(cell);
  }
  const int wide = std::max(1, static_cast<int>(plot.width())),
            high = std::max(1, static_cast<int>(plot.height()));
  const std::size_t place = AtPixel(view_.row_begin, view_.row_end, pixel(down, high), high).begin;
  return (*order_)[place] * grid_->columns +
         AtPixel(view_.column_begin, view_.column_end, pixel(across, wide), wide).begin;
}

QString FleetCanvas::TipText(std::size_t cell) const {
  const FleetRow& row = grid_->rows[cell / grid_->columns];
  const double value = grid_->values[cell], median = grid_->MedianOf(cell);
  QStringList lines{row.Name(), tr("host %1").arg(row.host)};
  if (row.stage) lines << tr("stage %1").arg(*row.stage);
  lines << grid_->StepName(cell % grid_->columns);
  if (std::isnan(value)) {
    lines << tr("has no such step");
  } else {
    lines << tr("%1 (%2)").arg(grid_->Text(value), FigureTitle(grid_->figure))
          << tr("stage's median %1: %2").arg(grid_->Text(median), grid_->Signed(value - median));
  }
  if (row.distance) {
    // The sign of infinity is no text for people.
    lines << tr("distance of the rank: %1 robust standard deviations")
                 .arg(QString::number(*row.distance, 'f', 1));
  }
  for (QString& line : lines) line = line.toHtmlEscaped();
  return QStringLiteral("<p style='white-space:pre'>%1</p>")
      .arg(lines.join(QStringLiteral("<br>")));
}

void FleetCanvas::Zoom(bool ranks, double share, double factor, bool same_gesture) {
  if (!ready()) return;
  HeatView view = view_;
  if (ranks) {
    const HeatRange to = ZoomRange(Rows(), share, factor, grid_->rows.size());
    view.row_begin = to.begin;
    view.row_end = to.end;
  } else {
    const HeatRange to = ZoomRange(Columns(), share, factor, grid_->columns);
    view.column_begin = to.begin;
    view.column_end = to.end;
  }
  SetView(view, same_gesture);
}

void FleetCanvas::Move(bool ranks, double share_of_view, bool same_gesture) {
  if (!ready()) return;
  const HeatRange now = ranks ? Rows() : Columns();
  double cells = share_of_view * static_cast<double>(now.end - now.begin);
  if (std::abs(cells) < 1) cells = cells < 0 ? -1 : 1;
  const HeatRange to = MoveRange(now, static_cast<std::ptrdiff_t>(cells),
                                 ranks ? grid_->rows.size() : grid_->columns);
  HeatView view = view_;
  (ranks ? view.row_begin : view.column_begin) = to.begin;
  (ranks ? view.row_end : view.column_end) = to.end;
  SetView(view, same_gesture);
}

void FleetCanvas::wheelEvent(QWheelEvent* event) {
  const bool same = wheel_ms_ && event->timestamp() - *wheel_ms_ < kMapWheelPauseMs;
  TurnWheel(event, same);
  wheel_ms_ = event->timestamp();
  event->accept();
}

void FleetCanvas::TurnWheel(const QWheelEvent* event, bool same) {
  const QRectF plot = PlotRect();
  const QPoint angle = event->angleDelta();
  const bool ranks = event->modifiers().testFlag(Qt::ControlModifier);
  if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(angle.x()) > std::abs(angle.y())) {
    const double notches = (angle.x() != 0 ? angle.x() : angle.y()) / 120.0;
    Move(ranks, -notches * kMapMovePerNotch, same);
    return;
  }
  const double share = ranks ? (event->position().y() - plot.top()) / plot.height()
                             : (event->position().x() - plot.left()) / plot.width();
  Zoom(ranks, std::clamp(share, 0.0, 1.0), std::pow(kMapZoomPerNotch, angle.y() / 120.0), same);
}

void FleetCanvas::mousePressEvent(QMouseEvent* event) {
  const bool left = event->button() == Qt::LeftButton;
  const bool pan = event->button() == Qt::MiddleButton ||
                   (left && event->modifiers().testFlag(Qt::ShiftModifier));
  if (event->button() == Qt::BackButton) Back();
  if (event->button() == Qt::ForwardButton) Forward();
  if (!ready() || !(left || pan)) return;
  drag_ = pan ? Drag::kPan : Drag::kBrush;
  from_ = to_ = event->position();
  from_view_ = view_;
  if (pan) back_.push_back(view_);
}

void FleetCanvas::mouseMoveEvent(QMouseEvent* event) {
  to_ = event->position();
  if (drag_ == Drag::kPan) {
    const QRectF plot = PlotRect();
    const auto moved = [](HeatRange range, double share, std::size_t size) {
      const double cells = share * static_cast<double>(range.end - range.begin);
      return MoveRange(range, static_cast<std::ptrdiff_t>(std::lround(cells)), size);
    };
    const HeatRange rows = moved({from_view_.row_begin, from_view_.row_end},
                                 (from_.y() - to_.y()) / plot.height(), grid_->rows.size());
    const HeatRange columns = moved({from_view_.column_begin, from_view_.column_end},
                                    (from_.x() - to_.x()) / plot.width(), grid_->columns);
    SetView({rows.begin, rows.end, columns.begin, columns.end}, true);
  }
  if (drag_ == Drag::kBrush) update();
}

std::optional<QRectF> FleetCanvas::Brushed() const {
  if (drag_ != Drag::kBrush) return std::nullopt;
  const QRectF plot = PlotRect();
  QRectF brushed = QRectF(from_, to_).normalized();
  const bool wide = brushed.width() > kMapClickSlop, high = brushed.height() > 2 * kMapClickSlop;
  if (!wide && !high) return std::nullopt;
  // A drag along one axis leaves the other as it is.
  if (!wide) brushed = QRectF(plot.left(), brushed.top(), plot.width(), brushed.height());
  if (!high) brushed = QRectF(brushed.left(), plot.top(), brushed.width(), plot.height());
  return brushed & plot;
}

void FleetCanvas::ZoomTo(const QRectF& brushed) {
  const QRectF plot = PlotRect();
  const auto part = [](HeatRange range, double from, double to) {
    const double size = static_cast<double>(range.end - range.begin);
    const auto begin = static_cast<std::size_t>(std::clamp(from * size, 0.0, size - 1));
    const auto end = static_cast<std::size_t>(std::clamp(std::ceil(to * size), 1.0, size));
    return HeatRange{range.begin + begin, range.begin + std::max(begin + 1, end)};
  };
  const HeatRange rows = part(Rows(), (brushed.top() - plot.top()) / plot.height(),
                              (brushed.bottom() - plot.top()) / plot.height());
  const HeatRange columns = part(Columns(), (brushed.left() - plot.left()) / plot.width(),
                                 (brushed.right() - plot.left()) / plot.width());
  SetView({rows.begin, rows.end, columns.begin, columns.end});
}

void FleetCanvas::mouseReleaseEvent(QMouseEvent* event) {
  to_ = event->position();
  const std::optional<QRectF> brushed = Brushed();
  const Drag drag = std::exchange(drag_, Drag::kNone);
  update();
  if (drag == Drag::kPan && back_.back() == view_) back_.pop_back();
  if (drag != Drag::kBrush) return;
  if (brushed) {
    ZoomTo(*brushed);
  } else if (const auto cell = CellAt(to_)) {
    Choose(*cell / grid_->columns);
  }
}

void FleetCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto cell = CellAt(event->position());
  if (event->button() != Qt::LeftButton || !cell) return;
  Choose(*cell / grid_->columns);
  emit RowActivated(*cell / grid_->columns);
}

void FleetCanvas::keyPressEvent(QKeyEvent* event) {
  const bool ranks = event->modifiers().testFlag(Qt::ControlModifier);
  switch (event->key()) {
    case Qt::Key_Up:
      return ChooseNeighbour(-1);
    case Qt::Key_Down:
      return ChooseNeighbour(1);
    case Qt::Key_PageUp:
      return ChooseNeighbour(-kRanksOfAPage);
    case Qt::Key_PageDown:
      return ChooseNeighbour(kRanksOfAPage);
    case Qt::Key_Left:
      return Move(false, -kMapMovePerNotch, false);
    case Qt::Key_Right:
      return Move(false, kMapMovePerNotch, false);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return Zoom(ranks, 0.5, 0.5, false);
    case Qt::Key_Minus:
      return Zoom(ranks, 0.5, 2, false);
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (chosen_) emit RowActivated(*chosen_);
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

bool FleetCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto cell = CellAt(help->pos());
  if (cell) {
    QToolTip::showText(help->globalPos(), TipText(*cell), this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

void FleetCanvas::resizeEvent(QResizeEvent*) { Redraw(); }

void FleetCanvas::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) Redraw();
}

}  // namespace memprof::viewer
