// The memory timeline: painting. Mouse and keys are in timeline_input.cc.
#include "viewer/views/timeline_view.h"

#include <QComboBox>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {

using analysis::TimeNs;

TimelineView::TimelineView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent), lane_(document, selection) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(QStringLiteral("Memory timeline"));
  axis_choice_ = new QComboBox(this);
  // In the order of AxisKind.
  axis_choice_->addItems({tr("Axis: time"), tr("Axis: steps")});
  axis_choice_->setAccessibleName(tr("What runs evenly along the axis"));
  axis_choice_->setToolTip(
      tr("Time: as it passed. Steps: every training step is equally wide, however long it took."));
  axis_choice_->setFont(SmallFont(font()));
  axis_choice_->setVisible(false);
  const auto repaint = [this] { update(); };
  const auto forget = [this] {
    columns_of_ = nullptr;
    lane_.Reset();
    PlaceAxisChoice();
    update();
  };
  connect(document, &Document::TimelinesReady, this, forget);
  connect(document, &Document::StateChanged, this, forget);
  connect(document, &Document::ReportReady, this, repaint);
  connect(selection, &Selection::DeviceChanged, this, repaint);
  connect(selection, &Selection::InstantChanged, this, repaint);
  connect(selection, &Selection::ZoomChanged, this, repaint);
  connect(selection, &Selection::AxisChanged, this, [this] {
    axis_choice_->setCurrentIndex(static_cast<int>(selection_->axis()));
    update();
  });
  connect(axis_choice_, &QComboBox::currentIndexChanged, this,
          [this](int index) { selection_->SetAxis(static_cast<AxisKind>(index)); });
}

const TimelineBands* TimelineView::bands() const { return document_->bands(selection_->device()); }

QRectF TimelineView::PlotRect() const {
  const QFontMetricsF small(SmallFont(font()));
  const double left = small.horizontalAdvance(QStringLiteral("00000 MiB")) + 2 * kSpace;
  const double legend = LegendHeight() + lane_.Height(SmallFont(font()));
  const bool steps = document_->session() != nullptr && !document_->session()->steps().empty();
  const double axis = small.height() * (steps ? 2 : 1) + 2 * kSpace;
  return QRectF(left, legend + kSpace, std::max(10.0, width() - left - 2 * kSpace),
                std::max(10.0, height() - legend - kSpace - axis));
}

TimeScale TimelineView::Scale() const {
  const QRectF plot = PlotRect();
  return {selection_->window(), plot.left(), plot.width(), ShownClock(*document_, *selection_)};
}

double TimelineView::LegendHeight() const {
  return QFontMetricsF(SmallFont(font())).height() + 2 * kSpace;
}

void TimelineView::PlaceAxisChoice() {
  axis_choice_->setVisible(document_->step_clock().known());
  axis_choice_->adjustSize();
  axis_choice_->move(width() - axis_choice_->width() - kSpace, kSpace / 2);
}

void TimelineView::resizeEvent(QResizeEvent*) { PlaceAxisChoice(); }

std::uint64_t TimelineView::AxisMax() const {
  const TimelineBands* shown = bands();
  if (shown == nullptr) return 1;
  const analysis::DeviceInfo* device = document_->device(selection_->device());
  return ChooseAxis(shown->top.max(), device != nullptr ? device->capacity_bytes : 0).max_bytes;
}

void TimelineView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  painter.fillRect(rect(), theme.surface);
  painter.setFont(SmallFont(font()));
  const TimelineBands* shown = bands();
  if (shown == nullptr || document_->session() == nullptr) {
    painter.setPen(theme.muted);
    painter.drawText(rect(), Qt::AlignCenter,
                     document_->state() == Document::State::kReady && document_->timelines()
                         ? tr("This device holds no memory in this log.")
                         : tr("Adding up memory over time …"));
    return;
  }
  const QRectF plot = PlotRect();
  const TimeScale scale = Scale();
  const int columns =
      std::max(1, static_cast<int>(std::lround(plot.width() * devicePixelRatioF())));
  if (columns_of_ != shown || !columns_.Fit(scale, columns)) {
    columns_ = MakeColumns(*shown, scale, columns);
    columns_of_ = shown;
  }
  const std::uint64_t max_bytes = AxisMax();
  PaintByteAxis(painter, plot, max_bytes, theme);
  PaintStack(painter, plot, *shown, columns_, max_bytes, theme);
  PaintTimeAxis(painter, plot, scale, document_->bounds().begin, document_->session()->steps(),
                theme);
  PaintMarkers(painter, plot, scale);
  lane_.LayOut(scale, LegendHeight(), painter.font());
  lane_.Paint(painter, theme);
  const double taken = axis_choice_->isVisibleTo(this) ? axis_choice_->width() + kSpace : 0;
  PaintLegend(painter, QRectF(plot.left(), 0, plot.width() - taken, LegendHeight()));
  PaintCursor(painter, plot, scale);
}

void TimelineView::PaintMarkers(QPainter& painter, const QRectF& plot, const TimeScale& scale) {
  const Theme theme = Theme::From(palette());
  const TimelineBands& shown = *bands();
  const ByteScale bytes{AxisMax(), plot.bottom(), plot.height()};
  const analysis::DeviceInfo* device = document_->device(selection_->device());
  if (device != nullptr && ChooseAxis(shown.top.max(), device->capacity_bytes).shows_capacity) {
    PaintLevel(painter, plot, bytes.Y(static_cast<double>(device->capacity_bytes)),
               tr("capacity %1").arg(FormatBytes(device->capacity_bytes)), theme.danger, theme);
  }
  for (const analysis::SnapshotInfo& snapshot : document_->session()->snapshots()) {
    const double x = scale.X(snapshot.time);
    if (x < plot.left() || x > plot.right()) continue;
    PaintFlag(painter, plot, x, plot.bottom() - 4, ToQString(snapshot.label), theme.good, theme);
  }
  const auto peak_flag = [&](const analysis::Series& series, const QString& text) {
    if (series.empty() || series.max() == 0) return;
    const TimeNs peak = series.time_of_max();
    const double x = scale.X(peak);
    if (x < plot.left() || x > plot.right()) return;
    const std::int64_t step = document_->session()->StepAt(peak);
    QString label = text.arg(FormatBytes(series.max()));
    if (step >= 0) label += tr(" at step %1").arg(step);
    PaintFlag(painter, plot, x, bytes.Y(static_cast<double>(series.max())), label, theme.danger,
              theme);
  };
  if (shown.framework) peak_flag(shown.in_use, tr("in use: peak %1"));
  peak_flag(shown.allocated, shown.framework ? tr("device: peak %1") : tr("peak %1"));
}

void TimelineView::PaintLegend(QPainter& painter, const QRectF& box) {
  const Theme theme = Theme::From(palette());
  const TimelineBands& shown = *bands();
  double x = box.left();
  const double swatch = 11;
  // From top to bottom of the stack, as the eye meets them.
  for (auto band = shown.bands.rbegin(); band != shown.bands.rend(); ++band) {
    const double width = TextWidth(painter.font(), band->name) + swatch + 6 + 2 * kSpace;
    if (x + width > box.right()) break;
    const QRectF square(x, box.center().y() - swatch / 2, swatch, swatch);
    FillBand(painter, QPolygonF(square), band->role, theme);
    painter.setPen(theme.text);
    painter.drawText(QRectF(square.right() + 6, box.top(), width, box.height()),
                     Qt::AlignLeft | Qt::AlignVCenter, band->name);
    x += width;
  }
  const analysis::DeviceInfo* device = document_->device(selection_->device());
  if (device == nullptr || device->capacity_bytes == 0 ||
      ChooseAxis(shown.top.max(), device->capacity_bytes).shows_capacity) {
    return;
  }
  painter.setPen(theme.muted);
  DrawElided(painter, QRectF(x, box.top(), box.right() - x, box.height()),
             Qt::AlignRight | Qt::AlignVCenter,
             tr("capacity %1, above this scale").arg(FormatBytes(device->capacity_bytes)));
}

QString TimelineView::InstantText(TimeNs time) const {
  const TimeNs origin = document_->bounds().begin;
  const auto resolution = static_cast<TimeNs>(std::max(1.0, Scale().NsPerPixel()));
  QString text = FormatInstant(time - std::min(origin, time), resolution);
  const std::int64_t step = document_->session()->StepAt(time);
  if (step >= 0) text += tr("  ·  step %1").arg(step);
  return text;
}

void TimelineView::PaintCursor(QPainter& painter, const QRectF& plot, const TimeScale& scale) {
  const Theme theme = Theme::From(palette());
  const double chosen = scale.X(selection_->instant());
  if (chosen >= plot.left() && chosen <= plot.right()) {
    painter.setPen(QPen(theme.text, 1.5));
    painter.drawLine(QPointF(chosen, plot.top() - 4), QPointF(chosen, plot.bottom()));
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.text);
    painter.drawPolygon(
        QPolygonF({QPointF(chosen - 5, plot.top() - 8), QPointF(chosen + 5, plot.top() - 8),
                   QPointF(chosen, plot.top())}));
  }
  if (!cursor_.has_value()) return;
  if (drag_ == Drag::kBrush) {
    QColor fill = theme.accent;
    fill.setAlpha(60);
    const double a = std::clamp(drag_from_.x(), plot.left(), plot.right());
    const double b = std::clamp(cursor_->x(), plot.left(), plot.right());
    painter.fillRect(
        QRectF(QPointF(std::min(a, b), plot.top()), QPointF(std::max(a, b), plot.bottom())), fill);
  }
  if (!plot.contains(*cursor_)) return;
  painter.setPen(QPen(theme.muted, 1, Qt::DashLine));
  painter.drawLine(QPointF(cursor_->x(), plot.top()), QPointF(cursor_->x(), plot.bottom()));
  PaintReadout(painter, plot, scale.At(cursor_->x()), cursor_->x());
}

void TimelineView::PaintReadout(QPainter& painter, const QRectF& plot, TimeNs time, double x) {
  const Theme theme = Theme::From(palette());
  const TimelineBands& shown = *bands();
  const std::vector<std::uint64_t> values = ValuesAt(shown, time);
  const QFontMetricsF metrics(painter.font());
  const double row = metrics.height() + 2;
  double names = metrics.horizontalAdvance(tr("Total"));
  for (const Band& band : shown.bands)
    names = std::max(names, metrics.horizontalAdvance(band.name));
  const double numbers = metrics.horizontalAdvance(QStringLiteral("00.0 MiB"));
  const QString title = InstantText(time);
  const double width =
      std::max(names + numbers + 4 * kSpace + 16.0, metrics.horizontalAdvance(title) + 2 * kSpace);
  const double height = row * static_cast<double>(shown.bands.size() + 2) + 2 * kSpace;
  double left = x + 14;
  if (left + width > plot.right()) left = x - 14 - width;
  const QRectF box(std::max(left, plot.left()), plot.top() + kSpace, width, height);
  painter.setPen(theme.border);
  painter.setBrush(theme.surface);
  painter.drawRoundedRect(box, 5, 5);
  double y = box.top() + kSpace;
  const auto line = [&](const QString& name, const QString& value, const QColor& color) {
    painter.setPen(color);
    painter.drawText(QRectF(box.left() + kSpace + 16, y, names + kSpace, row),
                     Qt::AlignLeft | Qt::AlignVCenter, name);
    painter.drawText(QRectF(box.right() - kSpace - numbers - kSpace, y, numbers + kSpace, row),
                     Qt::AlignRight | Qt::AlignVCenter, value);
    y += row;
  };
  painter.setPen(theme.muted);
  painter.drawText(QRectF(box.left() + kSpace, y, width, row), Qt::AlignLeft | Qt::AlignVCenter,
                   title);
  y += row;
  for (std::size_t i = shown.bands.size(); i-- > 0;) {
    FillBand(painter, QPolygonF(QRectF(box.left() + kSpace, y + row / 2 - 5, 10, 10)),
             shown.bands[i].role, theme);
    line(shown.bands[i].name, FormatBytes(values[i]), theme.text);
  }
  line(tr("Total"), FormatBytes(shown.top.At(time)), theme.text);
}

}  // namespace memprof::viewer
