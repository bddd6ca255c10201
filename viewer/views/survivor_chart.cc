// A leak's evidence as bars: bytes that survived, by the step in which they were allocated.
#include "viewer/views/survivor_chart.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {

SurvivorChart::SurvivorChart(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  setMaximumHeight(800);
  setAccessibleName(tr("Survivors by birth step"));
}

void SurvivorChart::SetLeak(const LeakRow* row, std::int64_t steps) {
  row_ = row;
  steps_ = steps;
  update();
}

QRectF SurvivorChart::PlotRect() const {
  const QFontMetricsF metrics(SmallFont(font()));
  const double left = metrics.horizontalAdvance(QStringLiteral("0000 MiB")) + 2 * kSpace;
  const double title = metrics.height() + kSpace;
  return QRectF(left, title, std::max(10.0, width() - left - kSpace),
                std::max(10.0, height() - title - metrics.height() - kSpace));
}

std::vector<SurvivorBar> SurvivorChart::Bars() const {
  if (row_ == nullptr) return {};
  return LayOutSurvivors(row_->leak.survivors, steps_, row_->leak.guard_steps, PlotRect(), 5);
}

void SurvivorChart::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  painter.setFont(SmallFont(font()));
  if (row_ == nullptr || row_->leak.survivors.empty()) return;
  const QRectF plot = PlotRect();
  painter.setPen(theme.muted);
  DrawElided(painter, QRectF(plot.left(), 0, plot.width(), plot.top() - 2),
             Qt::AlignLeft | Qt::AlignVCenter, tr("Surviving bytes by the step of their birth"));
  const std::vector<SurvivorBar> bars = Bars();
  std::uint64_t highest = 1;
  for (const SurvivorBar& bar : bars) highest = std::max(highest, bar.bytes);
  PaintByteAxis(painter, plot, highest, theme);
  painter.setPen(Qt::NoPen);
  for (const SurvivorBar& bar : bars) {
    if (bar.bytes == 0) continue;
    const double gap = bar.rect.width() > 4 ? 1 : 0;
    QRectF rect = bar.rect.adjusted(gap / 2, 0, -gap / 2, 0);
    if (rect.height() < 1) rect.setTop(rect.bottom() - 1);
    painter.fillRect(rect, bar.evidence ? theme.Categorical(5) : theme.Categorical(-1));
  }
  painter.setPen(theme.border);
  painter.drawLine(plot.bottomLeft(), plot.bottomRight());
  painter.setPen(theme.muted);
  const QRectF below(plot.left(), plot.bottom() + 2, plot.width(), height() - plot.bottom() - 2);
  const QFontMetricsF metrics(painter.font());
  if (!bars.empty()) {
    // Bars that stand for several steps may go beyond the last one.
    const std::int64_t group = bars.front().last_step - bars.front().first_step + 1;
    const std::int64_t last =
        bars.front().first_step + group * static_cast<std::int64_t>(bars.size()) - 1;
    for (const Tick& tick : NumberTicks(0, last, plot.left(), plot.width(),
                                        metrics.horizontalAdvance(QStringLiteral("000000")))) {
      const double width = metrics.horizontalAdvance(tick.label) + 2;
      painter.drawText(QRectF(tick.position - width / 2, below.top(), width, below.height()),
                       Qt::AlignCenter, tick.label);
    }
  }
  painter.drawText(QRectF(0, below.top(), plot.left() - kSpace, below.height()),
                   Qt::AlignRight | Qt::AlignVCenter, tr("step"));
  const QString young = tr("grey: too young to be evidence");
  const double title = metrics.horizontalAdvance(tr("Surviving bytes by the step of their birth"));
  if (row_->leak.guard_steps > 0 &&
      title + metrics.horizontalAdvance(young) + 4 * kSpace < plot.width()) {
    painter.drawText(QRectF(plot.left(), 0, plot.width(), plot.top() - 2),
                     Qt::AlignRight | Qt::AlignVCenter, young);
  }
}

bool SurvivorChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  for (const SurvivorBar& bar : Bars()) {
    if (help->pos().x() < bar.rect.left() || help->pos().x() >= bar.rect.right()) continue;
    const QString steps = bar.first_step == bar.last_step
                              ? tr("step %1").arg(bar.first_step)
                              : tr("steps %1 to %2").arg(bar.first_step).arg(bar.last_step);
    QToolTip::showText(
        help->globalPos(),
        tr("%1: %2 in %3 survive")
            .arg(steps, FormatBytes(bar.bytes), FormatPlural(bar.blocks, tr("block"))),
        this);
    return true;
  }
  QToolTip::hideText();
  return true;
}

}  // namespace memprof::viewer
