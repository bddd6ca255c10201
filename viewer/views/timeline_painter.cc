// Paints a stacked timeline into a rectangle.
#include "viewer/views/timeline_painter.h"

#include <QPaintEngine>
#include <QPolygonF>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"

namespace memprof::viewer {

namespace {

// How much of a band's own colour is left where another one is selected.
constexpr double kPale = 0.38;

QColor Pale(const QColor& color, const Theme& theme) {
  const auto mix = [](int a, int b) {
    return static_cast<int>(std::lround(a * kPale + b * (1 - kPale)));
  };
  return QColor(mix(color.red(), theme.surface.red()), mix(color.green(), theme.surface.green()),
                mix(color.blue(), theme.surface.blue()));
}

// The area from one edge up to another; from the axis if there is no lower one. Columns of the same
// height are joined: the number of corners depends on the picture, not on the log.
QPolygonF Area(const QRectF& plot, const ByteScale& scale, const std::vector<std::uint64_t>* lower,
               const std::vector<std::uint64_t>& upper) {
  const std::size_t n = upper.size();
  const double step = plot.width() / static_cast<double>(n);
  QPolygonF shape;
  shape.reserve(static_cast<qsizetype>(4 * n));
  const auto y_of = [&](const std::vector<std::uint64_t>& edge, std::size_t i) {
    return scale.Y(static_cast<double>(edge[i]));
  };
  for (std::size_t begin = 0; begin < n;) {
    std::size_t i = begin + 1;
    while (i < n && upper[i] == upper[begin]) ++i;
    const double y = y_of(upper, begin);
    shape << QPointF(plot.left() + static_cast<double>(begin) * step, y)
          << QPointF(plot.left() + static_cast<double>(i) * step, y);
    begin = i;
  }
  if (lower == nullptr) {
    shape << QPointF(plot.right(), plot.bottom()) << QPointF(plot.left(), plot.bottom());
    return shape;
  }
  for (std::size_t end = n; end > 0;) {
    std::size_t i = end - 1;
    while (i > 0 && (*lower)[i - 1] == (*lower)[end - 1]) --i;
    const double y = y_of(*lower, end - 1);
    shape << QPointF(plot.left() + static_cast<double>(end) * step, y)
          << QPointF(plot.left() + static_cast<double>(i) * step, y);
    end = i;
  }
  return shape;
}

}  // namespace

QColor BandColor(const Band& band, const Theme& theme) {
  return band.role == BandRole::kGroup ? theme.Group(band.color) : theme.Band(band.role);
}

BandFill FillOf(const QColor& color, BandRole role, const Theme& theme) {
  // Held, but not used: hatched, so that it is visible without colour too.
  BandFill fill{color, theme.dark ? color.lighter(130) : color.darker(118), Qt::NoBrush,
                theme.AtTimes(color)};
  if (role == BandRole::kCached || role == BandRole::kPool) fill.hatch = Qt::BDiagPattern;
  if (role == BandRole::kOtherDriver || role == BandRole::kOtherProcesses)
    fill.hatch = Qt::FDiagPattern;
  if (role == BandRole::kUnsampled) {
    fill.hatch = Qt::BDiagPattern;
    fill.stripes = theme.border;
  }
  if (role == BandRole::kFree) fill.color = fill.at_times = Qt::transparent;  // the grid is seen
  return fill;
}

BandFill FillOf(const Band& band, const Theme& theme) {
  return FillOf(BandColor(band, theme), band.role, theme);
}

void FillBand(QPainter& painter, const QPolygonF& shape, const QColor& color, BandRole role,
              const Theme& theme) {
  FillBand(painter, shape, FillOf(color, role, theme));
}

void FillBand(QPainter& painter, const QPolygonF& shape, const BandFill& fill, bool at_times) {
  painter.setPen(Qt::NoPen);
  painter.setBrush(at_times ? fill.at_times : fill.color);
  painter.drawPolygon(shape);
  if (fill.hatch == Qt::NoBrush) return;
  painter.setBrush(QBrush(fill.stripes, fill.hatch));
  painter.drawPolygon(shape);
}

void PaintStackShapes(QPainter& painter, const QRectF& plot, const TimelineColumns& columns,
                      std::span<const BandFill> fills, std::uint64_t max_bytes) {
  painter.save();
  painter.setClipRect(plot, Qt::IntersectClip);
  painter.setRenderHint(QPainter::Antialiasing, false);
  const ByteScale scale{max_bytes, plot.bottom(), plot.height()};
  const double step = plot.width() / columns.columns;
  const auto n = static_cast<std::size_t>(columns.columns);
  // From the top band down, each over those above it. Parts that are present only at times are
  // paler, so that each layer's own peak is visible.
  for (std::size_t b = columns.high.size(); b-- > 0;) {
    FillBand(painter, Area(plot, scale, nullptr, columns.low[b]), fills[b]);
    if (columns.low[b] == columns.high[b]) continue;
    // Begins above the highest edge of the bands beneath, which cover this part.
    std::vector<std::uint64_t> from = columns.low[b];
    for (std::size_t i = 0; b > 0 && i < n; ++i)
      from[i] = std::max(from[i], columns.high[b - 1][i]);
    std::vector<std::uint64_t> to = columns.high[b];
    for (std::size_t i = 0; i < n; ++i) to[i] = std::max(to[i], from[i]);
    FillBand(painter, Area(plot, scale, &from, to), fills[b], true);
    for (std::size_t i = 0; i < n; ++i) {
      if (columns.high[b][i] <= from[i]) continue;
      const double top = scale.Y(static_cast<double>(columns.high[b][i]));
      painter.fillRect(QRectF(plot.left() + static_cast<double>(i) * step, top, step, 1),
                       fills[b].color);
    }
  }
  painter.restore();
}

void PaintStack(QPainter& painter, const QRectF& plot, const TimelineBands& bands,
                const TimelineColumns& columns, std::uint64_t max_bytes, const Theme& theme,
                int selected) {
  if (columns.columns == 0) return;
  std::vector<BandFill> fills;
  for (const Band& band : bands.bands) {
    BandFill fill = FillOf(band, theme);
    if (selected >= 0 && static_cast<int>(fills.size()) != selected && fill.color.alpha() > 0) {
      fill.color = Pale(fill.color, theme);
      fill.stripes = Pale(fill.stripes, theme);
      fill.at_times = Pale(fill.at_times, theme);
    }
    fills.push_back(fill);
  }
  PaintStack(painter, plot, columns, fills, max_bytes);
}

namespace {

// What drawing needs of the columns from `begin` to `end`.
TimelineColumns Slice(const TimelineColumns& columns, int begin, int end) {
  TimelineColumns slice;
  slice.columns = end - begin;
  const auto cut = [&](const std::vector<std::uint64_t>& band) {
    return std::vector<std::uint64_t>(band.begin() + begin, band.begin() + end);
  };
  for (const auto& band : columns.low) slice.low.push_back(cut(band));
  for (const auto& band : columns.high) slice.high.push_back(cut(band));
  return slice;
}

}  // namespace

void PaintStack(QPainter& painter, const QRectF& plot, const TimelineColumns& columns,
                std::span<const BandFill> fills, std::uint64_t max_bytes) {
  if (columns.columns == 0) return;
  if (painter.paintEngine()->type() != QPaintEngine::Raster)
    return PaintStackShapes(painter, plot, columns, fills, max_bytes);
  const double ratio = painter.device()->devicePixelRatioF();
  const int height = static_cast<int>(std::lround(plot.height() * ratio));
  // Strips stay in the processor's cache. A picture that is scaled to its place must have no seams.
  const auto whole = [](double pixels) { return pixels == std::floor(pixels); };
  const bool exact = painter.transform().type() <= QTransform::TxTranslate && whole(ratio) &&
                     whole(plot.left() * ratio) && whole(plot.top() * ratio) &&
                     plot.width() * ratio == columns.columns && plot.height() * ratio == height;
  const int rows = exact ? 32 : height, pixel = static_cast<int>(std::lround(ratio));
  int begin = 0, end = columns.columns;
  if (exact && painter.hasClipping()) {
    // Only what is seen, from a column at which the stripes are as at the first.
    const QRectF seen = painter.clipBoundingRect().translated(-plot.left(), 0);
    end = std::clamp(static_cast<int>(std::ceil(seen.right() * ratio)), 0, end);
    begin = std::clamp(static_cast<int>(std::floor(seen.left() * ratio)), 0, end);
    begin -= begin % (kStripePeriod * pixel);
    if (begin == end) return;
  }
  const bool all = end - begin == columns.columns;
  const double left = plot.left() + begin / ratio,
               width = all ? plot.width() : (end - begin) / ratio;
  RasterStack(all ? columns : Slice(columns, begin, end), fills, max_bytes, height, pixel, rows,
              [&](int y, const QImage& strip) {
                painter.drawImage(
                    QRectF(left, plot.top() + y / ratio, width, strip.height() / ratio), strip);
              });
}

void PaintInUse(QPainter& painter, const QRectF& plot, const TimelineColumns& columns,
                std::uint64_t max_bytes, const Theme& theme) {
  const std::vector<std::uint64_t>& most = columns.in_use;
  if (most.empty()) return;
  const ByteScale scale{max_bytes, plot.bottom(), plot.height()};
  const double step = plot.width() / static_cast<double>(most.size());
  QPolygonF line;
  for (std::size_t begin = 0, i = 0; begin < most.size(); begin = i) {
    while (i < most.size() && most[i] == most[begin]) ++i;
    // What is above the plot has no line along its upper edge.
    const double y =
        most[begin] >= max_bytes ? plot.top() - 2 : scale.Y(static_cast<double>(most[begin]));
    line << QPointF(plot.left() + static_cast<double>(begin) * step, y)
         << QPointF(plot.left() + static_cast<double>(i) * step, y);
  }
  painter.save();
  painter.setClipRect(plot, Qt::IntersectClip);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setPen(QPen(theme.text, 1));
  painter.setBrush(Qt::NoBrush);
  painter.drawPolyline(line);
  painter.restore();
}

void PaintByteAxis(QPainter& painter, const QRectF& plot, std::uint64_t max_bytes,
                   const Theme& theme) {
  PaintByteAxis(painter, plot, ByteScale{max_bytes, plot.bottom(), plot.height()}, theme);
}

void PaintByteAxis(QPainter& painter, const QRectF& plot, const ByteScale& scale,
                   const Theme& theme) {
  painter.save();
  const double height = QFontMetricsF(painter.font()).height();
  for (const Tick& tick : ByteTicks(scale, std::max(height * 2.2, plot.height() / 14))) {
    const double y = std::round(tick.position) + 0.5;
    painter.setPen(theme.grid);
    if (tick.value > 0) painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(theme.muted);
    painter.drawText(QRectF(0, y - height / 2, plot.left() - kSpace, height),
                     Qt::AlignRight | Qt::AlignVCenter, tick.label);
  }
  painter.restore();
}

void PaintTimeAxis(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                   analysis::TimeNs origin, std::span<const analysis::StepInfo> steps,
                   const Theme& theme) {
  painter.save();
  const QFontMetricsF metrics(painter.font());
  const double row = metrics.height();
  double y = plot.bottom() + 1;
  painter.setPen(theme.border);
  painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
  const auto label = [&](double x, double top, const QString& text) {
    const double width = metrics.horizontalAdvance(text) + 2;
    const double left = std::clamp(x - width / 2, plot.left() - 4, plot.right() - width);
    painter.drawText(QRectF(left, top, width, row), Qt::AlignCenter, text);
  };
  const auto caption = [&](double top, const QString& text) {
    painter.setPen(theme.muted);
    painter.drawText(QRectF(0, top, plot.left() - kSpace, row), Qt::AlignRight | Qt::AlignVCenter,
                     text);
  };
  if (!steps.empty()) {
    caption(y + 5, QStringLiteral("step"));
    for (const StepMark& mark :
         StepMarks(scale, steps, 5, metrics.horizontalAdvance(QStringLiteral("000000")))) {
      painter.setPen(mark.labelled ? theme.muted : theme.border);
      painter.drawLine(QPointF(mark.position, y),
                       QPointF(mark.position, y + (mark.labelled ? 6 : 3)));
      painter.setPen(theme.text);
      if (mark.labelled) label(mark.position, y + 5, QString::number(mark.number));
    }
    y += row + 3;
  }
  caption(y + 5, QStringLiteral("time"));
  const double spacing = metrics.horizontalAdvance(QStringLiteral("000.000 ms")) + 3 * kSpace;
  for (const Tick& tick : TimeTicks(scale, origin, spacing)) {
    if (steps.empty()) {
      painter.setPen(theme.muted);
      painter.drawLine(QPointF(tick.position, y), QPointF(tick.position, y + 5));
    }
    painter.setPen(theme.muted);
    label(tick.position, y + 5, tick.label);
  }
  painter.restore();
}

void PaintLevel(QPainter& painter, const QRectF& plot, double y, const QColor& color) {
  painter.save();
  painter.setPen(QPen(color, 1.5, Qt::DashLine));
  painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
  painter.restore();
}

void PaintLevelLabel(QPainter& painter, const QRectF& plot, double y, const QString& label,
                     const QColor& color, const Theme& theme) {
  painter.save();
  const QFontMetricsF metrics(painter.font());
  const double width = metrics.horizontalAdvance(label) + 2 * kSpace;
  double top = y - metrics.height() - 2;
  if (top < plot.top()) top = y + 2;
  QRectF box(plot.right() - width - kSpace, top, width, metrics.height());
  painter.fillRect(box, theme.surface);
  painter.setPen(color);
  painter.drawText(box, Qt::AlignCenter, label);
  painter.restore();
}

QRectF FlagPainter::Place(double x, double y, QSizeF size) const {
  double left = x + 8;
  if (left + size.width() > plot_.right()) left = x - 8 - size.width();
  const double top = std::clamp(y - size.height() - 6, plot_.top() + 2,
                                std::max(plot_.top() + 2, plot_.bottom() - size.height()));
  const QRectF box(QPointF(std::max(left, plot_.left() + 2), top), size);
  const auto free = [this](const QRectF& wanted) {
    return std::none_of(taken_.begin(), taken_.end(),
                        [&](const QRectF& other) { return other.intersects(wanted); });
  };
  // Searches downwards first, where the stack is, then upwards, where there may be no space.
  for (int i = 0; i < 6; ++i) {
    for (const double direction : {1.0, -1.0}) {
      const QRectF moved = box.translated(0, direction * i * (size.height() + 3));
      if (moved.top() >= plot_.top() && moved.bottom() <= plot_.bottom() && free(moved))
        return moved;
    }
  }
  return box;
}

void PaintCounted(QPainter& painter, const QRectF& plot, const TimeScale& scale,
                  const ByteScale& bytes, const analysis::Sampling& sampling, int device,
                  analysis::Layer layer, const Theme& theme) {
  painter.setPen(QPen(theme.muted, 1, Qt::DashLine));
  for (const analysis::Stretch& stretch : sampling.stretches) {
    const double begin = std::max(plot.left(), scale.X(stretch.begin));
    const double end = std::min(plot.right(), scale.X(stretch.end));
    if (begin > end) continue;
    for (const analysis::CountedLevel& level : stretch.levels) {
      if (level.device != device || level.layer != layer) continue;
      const double y = bytes.Y(static_cast<double>(level.highest));
      if (y < plot.top() || y > plot.bottom()) continue;
      painter.drawLine(QPointF(begin, y), QPointF(std::max(end, begin + 1), y));
    }
  }
}

void FlagPainter::Paint(double x, double y, const QString& label, const QColor& color) {
  painter_.save();
  painter_.setRenderHint(QPainter::Antialiasing);
  painter_.setPen(QPen(color, 1, Qt::DotLine));
  painter_.drawLine(QPointF(x, y), QPointF(x, plot_.bottom()));
  painter_.setPen(QPen(theme_.surface, 1.5));
  painter_.setBrush(color);
  painter_.drawEllipse(QPointF(x, y), 4.5, 4.5);
  const QFontMetricsF metrics(painter_.font());
  const QRectF box =
      Place(x, y, {metrics.horizontalAdvance(label) + 2 * kSpace, metrics.height() + 4});
  taken_.push_back(box);
  painter_.setPen(QPen(theme_.border, 1));
  painter_.setBrush(theme_.surface);
  painter_.drawRoundedRect(box, 4, 4);
  painter_.setPen(theme_.text);
  painter_.drawText(box, Qt::AlignCenter, label);
  painter_.restore();
}

}  // namespace memprof::viewer
