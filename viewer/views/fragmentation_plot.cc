// Pools over time, a lane for each.
#include "viewer/views/fragmentation_plot.h"

#include <QPainter>
#include <QPolygonF>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {
namespace {

using analysis::PoolTimeline;

constexpr double kMinLane = 84, kMaxLane = 190;  // pixels, with its title
constexpr double kStrip = 7;                     // the share, below each lane

// A line along the values, one of each column of equal width.
QPolygonF Line(const std::vector<std::uint64_t>& values, const QRectF& plot,
               const ByteScale& bytes) {
  const double step = plot.width() / static_cast<double>(values.size());
  QPolygonF line;
  for (std::size_t begin = 0; begin < values.size();) {
    std::size_t end = begin + 1;
    while (end < values.size() && values[end] == values[begin]) ++end;
    const double y = bytes.Y(static_cast<double>(values[begin]));
    line << QPointF(plot.left() + static_cast<double>(begin) * step, y)
         << QPointF(plot.left() + static_cast<double>(end) * step, y);
    begin = end;
  }
  return line;
}

BandFill RoleFill(BandRole role, const Theme& theme) {
  return FillOf(theme.Band(role), role, theme);
}
constexpr BandRole kInUseRole = BandRole::kTensors, kFreeRole = BandRole::kCached;

}  // namespace

FragmentationPlot::FragmentationPlot(Document* document, Selection* selection, QWidget* parent)
    : TimePlot(document, selection, parent) {
  setAccessibleName(tr("Free memory of pools over time"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  connect(selection, &Selection::DeviceChanged, this, &FragmentationPlot::FindLanes);
}

void FragmentationPlot::SetPicture(std::shared_ptr<const PoolsPicture> picture) {
  picture_ = std::move(picture);
  columns_.assign(picture_ == nullptr ? 0 : picture_->pools.size(), {});
  FindLanes();
  update();
}

void FragmentationPlot::SetProgress(double share) {
  progress_ = share;
  if (picture_ == nullptr) update();
}

void FragmentationPlot::FindLanes() {
  lanes_ = picture_ == nullptr ? std::vector<std::size_t>() : picture_->Of(selection_->device());
  updateGeometry();
}

QString FragmentationPlot::Waiting() const {
  if (picture_ == nullptr)
    return tr("Following every pool through the log … %1")
        .arg(FormatPercent(std::floor(100 * progress_) / 100));
  return tr(
      "No allocator that keeps segments, and no pool of the driver, was seen on this device: "
      "there is nothing to fragment. Its driver memory is in the Address map.");
}

double FragmentationPlot::TitleHeight() const {
  return QFontMetricsF(SmallFont(font())).height() + kSpace / 2.0;
}

QSize FragmentationPlot::sizeHint() const {
  const double lane = std::max(lanes(), 1) * kMinLane;
  return {400, static_cast<int>(lane + AxisHeight() + TitleHeight() + kSpace)};
}
QSize FragmentationPlot::minimumSizeHint() const { return {200, sizeHint().height()}; }

QRectF FragmentationPlot::PlotRect() const {
  const double top = TitleHeight() + kSpace / 2.0;
  const double most = kMaxLane * std::max(1, lanes());
  return QRectF(LeftMargin(), top, std::max(10.0, width() - LeftMargin() - 2 * kSpace),
                std::clamp(height() - top - AxisHeight(), 10.0, most));
}

QRectF FragmentationPlot::LaneRect(int lane) const {
  const QRectF plot = PlotRect();
  const double height = plot.height() / std::max(1, lanes());
  return QRectF(plot.left(), plot.top() + lane * height, plot.width(), height);
}

void FragmentationPlot::PaintLegend(QPainter& painter, const Theme& theme) const {
  double x = PlotRect().left();
  const double height = TitleHeight();
  const auto entry = [&](const QString& name, auto swatch) {
    swatch(QRectF(x, height / 2 - 5, 14, 10));
    painter.setPen(theme.text);
    const double width = TextWidth(painter.font(), name);
    painter.drawText(QRectF(x + 20, 0, width + 2, height), Qt::AlignLeft | Qt::AlignVCenter, name);
    x += 20 + width + 2 * kSpace;
  };
  entry(tr("in use"),
        [&](const QRectF& box) { FillBand(painter, QPolygonF(box), RoleFill(kInUseRole, theme)); });
  entry(tr("cached in segments"),
        [&](const QRectF& box) { FillBand(painter, QPolygonF(box), RoleFill(kFreeRole, theme)); });
  entry(tr("largest hole"), [&](const QRectF& box) {
    painter.setPen(QPen(theme.danger, 1.5));
    painter.drawLine(QPointF(box.left(), box.center().y()), QPointF(box.right(), box.center().y()));
  });
  entry(tr("pinned share of the pool, 0 to 100 %"), [&](const QRectF& box) {
    QLinearGradient ramp(box.topLeft(), box.topRight());
    ramp.setColorAt(0, theme.Ramp(0));
    ramp.setColorAt(1, theme.Ramp(1));
    painter.fillRect(box, ramp);
  });
}

void FragmentationPlot::PaintContent(QPainter& painter, const TimeScale& scale,
                                     const Theme& theme) {
  PaintLegend(painter, theme);
  const QRect seen =
      painter.hasClipping() ? painter.clipBoundingRect().toRect() : visibleRegion().boundingRect();
  for (int lane = 0; lane < lanes(); ++lane)
    if (LaneRect(lane).toAlignedRect().intersects(seen)) PaintLane(painter, lane, scale, theme);
}

void FragmentationPlot::PaintLane(QPainter& painter, int lane, const TimeScale& scale,
                                  const Theme& theme) {
  const std::size_t index = lanes_[static_cast<std::size_t>(lane)];
  const PoolTimeline& pool = picture_->pools[index];
  const QRectF whole = LaneRect(lane);
  const QRectF plot(whole.left(), whole.top() + TitleHeight(), whole.width(),
                    std::max(8.0, whole.height() - TitleHeight() - kStrip - kSpace));
  const int columns =
      std::max(1, static_cast<int>(std::lround(plot.width() * devicePixelRatioF())));
  PoolColumns& made = columns_[index];
  if (!made.Fit(scale, columns)) made = MakePoolColumns(pool, scale, columns);
  const std::uint64_t most = std::max<std::uint64_t>(1, pool.reserved.max());
  PaintByteAxis(painter, plot, most, theme);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing, false);
  const ByteScale bytes{most, plot.bottom(), plot.height()};
  PaintStack(painter, plot, made.stack,
             std::array{RoleFill(kInUseRole, theme), RoleFill(kFreeRole, theme)}, most);
  if (pool.pool.kind == analysis::PoolKind::kSegments) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.danger, 1.5));
    painter.drawPolyline(Line(made.largest_hole, plot, bytes));
  }
  const double step = plot.width() / columns;
  for (int i = 0; i < columns; ++i) {
    const double share = static_cast<double>(made.share[static_cast<std::size_t>(i)]) * 1e-6;
    painter.fillRect(QRectF(plot.left() + i * step, plot.bottom() + 2, step + 0.5, kStrip),
                     theme.Ramp(std::min(1.0, share)));
  }
  painter.restore();
  painter.setPen(theme.text);
  const analysis::FragmentationPoint& worst = pool.pool.worst;
  QString title = PoolName(pool.pool);
  if (worst.state.reserved > 0)
    title += tr("   worst: %1 of %2 free and pinned (%3)")
                 .arg(FormatBytes(worst.state.pinned), FormatBytes(worst.state.reserved),
                      FormatPercent(static_cast<double>(worst.state.pinned) /
                                    static_cast<double>(worst.state.reserved)));
  if (pool.stride > 1)
    title += tr("   (each point stands for %1 changes)").arg(FormatCount(pool.stride));
  DrawElided(painter, QRectF(whole.left(), whole.top(), whole.width(), TitleHeight()),
             Qt::AlignLeft | Qt::AlignVCenter, title);
  PaintWorst(painter, pool, plot, scale, theme);
}

void FragmentationPlot::PaintWorst(QPainter& painter, const PoolTimeline& pool, const QRectF& plot,
                                   const TimeScale& scale, const Theme& theme) const {
  if (pool.pool.worst.state.pinned == 0) return;
  const double x = scale.X(pool.pool.worst.time);
  if (x < plot.left() || x > plot.right()) return;
  painter.setPen(Qt::NoPen);
  painter.setBrush(theme.danger);
  painter.drawPolygon(QPolygonF({QPointF(x - 5, plot.bottom() + kStrip + 8),
                                 QPointF(x + 5, plot.bottom() + kStrip + 8),
                                 QPointF(x, plot.bottom() + kStrip + 1)}));
}

QStringList FragmentationPlot::Readout(analysis::TimeNs time, QPointF at) const {
  for (int lane = 0; lane < lanes(); ++lane) {
    if (!LaneRect(lane).contains(at)) continue;
    const PoolTimeline& pool = picture_->pools[lanes_[static_cast<std::size_t>(lane)]];
    const std::uint64_t reserved = pool.reserved.At(time), allocated = pool.allocated.At(time);
    QStringList lines = {
        tr("reserved\t%1").arg(FormatBytes(reserved)), tr("in use\t%1").arg(FormatBytes(allocated)),
        tr("cached\t%1").arg(FormatBytes(reserved - std::min(reserved, allocated))),
        tr("of it pinned\t%1").arg(FormatBytes(pool.pinned.At(time))),
        tr("pinned share\t%1").arg(FormatPercent(static_cast<double>(pool.share.At(time)) * 1e-6))};
    if (pool.pool.kind == analysis::PoolKind::kSegments)
      lines << tr("largest hole\t%1").arg(FormatBytes(pool.largest_hole.At(time)));
    return lines;
  }
  return {};
}

}  // namespace memprof::viewer
