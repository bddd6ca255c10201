// Paints the heat map of a fleet.
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/geometry/axis.h"
#include "viewer/views/fleet_canvas.h"
#include "viewer/views/text.h"

namespace memprof::viewer {
namespace {

constexpr double kRowsWithLines = 10;  // the height from which rows are told apart by lines

// The colours as a table: a cell is an index.
constexpr int kTones = 256;
using Tones = std::array<QRgb, kTones>;

double ToneShare(const FleetGrid& grid, std::size_t cell, FleetColoring coloring) {
  if (coloring == FleetColoring::kApart)
    return (std::clamp((grid.values[cell] - grid.MedianOf(cell)) / grid.limit, -1.0, 1.0) + 1) / 2;
  return grid.most > grid.least ? (grid.values[cell] - grid.least) / (grid.most - grid.least) : 0.5;
}

QColor Tone(double share, FleetColoring coloring, const Theme& theme) {
  return coloring == FleetColoring::kApart ? theme.Diverging(2 * share - 1) : theme.Ramp(share);
}

}  // namespace

QColor FleetColor(const FleetGrid& grid, std::size_t cell, FleetColoring coloring,
                  const Theme& theme) {
  if (std::isnan(grid.values[cell])) return theme.surface;
  return Tone(ToneShare(grid, cell, coloring), coloring, theme);
}

QRectF FleetCanvas::PlotRect() const {
  const QFont small = SmallFont(font());
  const double line = QFontMetricsF(small).height();
  const double left = TextWidth(small, QStringLiteral("0000000")) + kSpace;
  const double top = 2 * line + 2.5 * kSpace, bottom = line + kSpace;
  // Whole pixels, so that the picture is not blurred.
  return QRectF(std::ceil(left), std::ceil(top), std::floor(std::max(1.0, width() - left - kSpace)),
                std::floor(std::max(1.0, height() - top - bottom)));
}

void FleetCanvas::Redraw() {
  update();
  if (!ready()) {
    job_.Cancel();
    return;
  }
  const double scale = devicePixelRatioF();
  const QRectF plot = PlotRect();
  const QSize size(std::max(1, static_cast<int>(plot.width() * scale)),
                   std::max(1, static_cast<int>(plot.height() * scale)));
  const auto work = [grid = grid_, order = order_, view = view_, coloring = coloring_, size,
                     theme = Theme::From(palette())](std::stop_token stop) {
    auto picture = std::make_shared<Picture>();
    picture->view = view;
    picture->cells = CellsOfPixels(grid->Cells(*order), view, size.width(), size.height(), stop);
    picture->image = QImage(size, QImage::Format_RGB32);
    Tones tones;
    for (int i = 0; i < kTones; ++i)
      tones[static_cast<std::size_t>(i)] = Tone(i / double{kTones - 1}, coloring, theme).rgb();
    const QRgb none = theme.surface.rgb();
    const std::int64_t* cell = picture->cells.data();
    for (int y = 0; y < size.height() && !stop.stop_requested(); ++y) {
      auto* line = reinterpret_cast<QRgb*>(picture->image.scanLine(y));
      for (int x = 0; x < size.width(); ++x, ++cell)
        line[x] =
            *cell == kNoCell
                ? none
                : tones[static_cast<std::size_t>(std::lround(
                      ToneShare(*grid, static_cast<std::size_t>(*cell), coloring) * (kTones - 1)))];
    }
    return std::shared_ptr<const Picture>(std::move(picture));
  };
  job_.Start(work, [this](std::shared_ptr<const Picture> picture) {
    picture_ = std::move(picture);
    update();
  });
}

void FleetCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  const QRectF plot = PlotRect();
  painter.fillRect(rect(), theme.surface);
  if (grid_ == nullptr) return;
  painter.setFont(SmallFont(font()));
  if (!ready()) {
    painter.setPen(theme.muted);
    painter.drawText(plot, Qt::AlignCenter | Qt::TextWordWrap,
                     tr("No rank of this job has steps with this figure: choose another one."));
    return;
  }
  PaintMap(painter, plot);
  painter.setPen(theme.border);
  painter.drawRect(plot.adjusted(-1, -1, 0, 0));
  PaintAxes(painter, plot, theme);
  PaintLegend(painter, plot, theme);
  PaintChosen(painter, plot, theme);
  if (const auto brushed = Brushed()) {
    QColor fill = theme.accent;
    fill.setAlpha(70);
    painter.fillRect(*brushed, fill);
  }
}

void FleetCanvas::PaintMap(QPainter& painter, const QRectF& plot) {
  if (picture_ == nullptr) return;
  // Of another view, until the job is done: where it lies in this one.
  const auto at = [](std::size_t cell, std::size_t begin, std::size_t end, double from,
                     double size) {
    return from + (static_cast<double>(cell) - static_cast<double>(begin)) * size /
                      static_cast<double>(end - begin);
  };
  const HeatView& of = picture_->view;
  const QRectF where(
      QPointF(at(of.column_begin, view_.column_begin, view_.column_end, plot.left(), plot.width()),
              at(of.row_begin, view_.row_begin, view_.row_end, plot.top(), plot.height())),
      QPointF(at(of.column_end, view_.column_begin, view_.column_end, plot.left(), plot.width()),
              at(of.row_end, view_.row_begin, view_.row_end, plot.top(), plot.height())));
  painter.save();
  painter.setClipRect(plot);
  painter.drawImage(where, picture_->image);
  const double row = plot.height() / static_cast<double>(view_.row_end - view_.row_begin);
  if (row >= kRowsWithLines) {
    painter.setPen(palette().color(QPalette::Base));
    for (std::size_t i = 1; i < view_.row_end - view_.row_begin; ++i) {
      const double y = std::round(plot.top() + static_cast<double>(i) * row);
      painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    }
  }
  painter.restore();
}

void FleetCanvas::PaintAxes(QPainter& painter, const QRectF& plot, const Theme& theme) {
  const double line = QFontMetricsF(painter.font()).height();
  const auto step = [this](std::size_t column) {
    return grid_->first_step + static_cast<std::int64_t>(column) * grid_->step_stride;
  };
  painter.setPen(theme.muted);
  for (const Tick& tick : NumberTicks(step(view_.column_begin), step(view_.column_end) - 1,
                                      plot.left(), plot.width(), 8 * kSpace)) {
    painter.drawLine(QPointF(tick.position, plot.bottom()),
                     QPointF(tick.position, plot.bottom() + 3));
    painter.drawText(QRectF(tick.position - 60, plot.bottom() + 4, 120, line), Qt::AlignHCenter,
                     tick.label);
  }
  // The rank of every row that has room, or of every n-th.
  const double row = plot.height() / static_cast<double>(view_.row_end - view_.row_begin);
  const auto every = static_cast<std::size_t>(std::max(1.0, std::ceil(1.4 * line / row)));
  for (std::size_t place = view_.row_begin; place < view_.row_end; place += every) {
    const double middle = plot.top() + (static_cast<double>(place - view_.row_begin) + 0.5) * row;
    const auto& rank = grid_->rows[(*order_)[place]].rank;
    painter.drawText(QRectF(0, middle - line / 2, plot.left() - kSpace, line),
                     Qt::AlignRight | Qt::AlignVCenter,
                     rank ? QString::number(*rank) : QStringLiteral("–"));
    painter.drawLine(QPointF(plot.left() - 4, middle), QPointF(plot.left() - 2, middle));
  }
  painter.drawText(QRectF(0, plot.top() - line - 6, plot.left() - kSpace, line),
                   Qt::AlignRight | Qt::AlignVCenter, tr("rank"));
}

void FleetCanvas::PaintLegend(QPainter& painter, const QRectF& plot, const Theme& theme) {
  const double line = QFontMetricsF(painter.font()).height();
  const bool apart = coloring_ == FleetColoring::kApart;
  const QRectF bar(plot.left(), kSpace / 2.0, std::min(320.0, plot.width() * 0.6), line * 0.7);
  QLinearGradient gradient(bar.topLeft(), bar.topRight());
  for (int i = 0; i <= 16; ++i) gradient.setColorAt(i / 16.0, Tone(i / 16.0, coloring_, theme));
  painter.fillRect(bar, gradient);
  painter.setPen(theme.text);
  const QRectF below(bar.left(), bar.bottom() + 2, bar.width(), line);
  painter.drawText(below, Qt::AlignLeft,
                   apart ? grid_->Signed(-grid_->limit) : grid_->Text(grid_->least));
  if (apart) painter.drawText(below, Qt::AlignHCenter, tr("stage's median"));
  painter.drawText(below, Qt::AlignRight,
                   apart ? grid_->Signed(grid_->limit) : grid_->Text(grid_->most));
  const QRectF box(bar.right() + 2 * kSpace, bar.top(), bar.height(), bar.height());
  painter.setPen(theme.muted);
  painter.drawRect(box);
  DrawElided(
      painter,
      QRectF(box.right() + kSpace / 2.0, bar.top() - 2, plot.right() - box.right() - kSpace, line),
      Qt::AlignLeft, tr("no such step"));
}

void FleetCanvas::PaintChosen(QPainter& painter, const QRectF& plot, const Theme& theme) {
  if (!chosen_) return;
  const std::size_t place = places_[*chosen_];
  if (place < view_.row_begin || place >= view_.row_end) return;
  const double row = plot.height() / static_cast<double>(view_.row_end - view_.row_begin);
  const double top = plot.top() + static_cast<double>(place - view_.row_begin) * row;
  // Around the row: its own colours stay visible.
  const double high = std::max(row, 3.0);
  painter.setPen(QPen(theme.text, 1));
  painter.drawRect(QRectF(plot.left() - 1, top - 1, plot.width() + 1, high + 1));
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.accent);
  const double middle = top + high / 2;
  painter.drawPolygon(
      QPolygonF({QPointF(plot.left() - 1, middle), QPointF(plot.left() - 7, middle - 5),
                 QPointF(plot.left() - 7, middle + 5)}));
  painter.setBrush(Qt::NoBrush);
}

}  // namespace memprof::viewer
