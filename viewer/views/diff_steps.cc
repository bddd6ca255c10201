// The highest use of each step of two runs, aligned.
#include "viewer/views/diff_steps.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/axis.h"
#include "viewer/geometry/units.h"
#include "viewer/views/delta_delegate.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {

DiffSteps::DiffSteps(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Highest use of each step, before and after"));
}

void DiffSteps::SetData(std::shared_ptr<const DiffData> compared) {
  data_ = std::move(compared);
  update();
}

void DiffSteps::SetStep(std::int64_t number) {
  if (step_ == number) return;
  step_ = number;
  update();
}

QRectF DiffSteps::PlotRect() const {
  const QFontMetricsF metrics(SmallFont(font()));
  const double left = metrics.horizontalAdvance(QStringLiteral("00000 MiB")) + 2 * kSpace;
  const double top = metrics.height() + kSpace;
  return QRectF(left, top, std::max(10.0, width() - left - 2 * kSpace),
                std::max(10.0, height() - top - metrics.height() - kSpace));
}

double DiffSteps::X(std::size_t row) const {
  const QRectF plot = PlotRect();
  const auto steps = static_cast<double>(data_->report.steps.size());
  return plot.left() + plot.width() * (static_cast<double>(row) + 0.5) / steps;
}

std::optional<std::size_t> DiffSteps::RowAt(double x) const {
  if (data_ == nullptr || data_->report.steps.empty()) return std::nullopt;
  const QRectF plot = PlotRect();
  if (x < plot.left() || x >= plot.right()) return std::nullopt;
  const auto steps = static_cast<double>(data_->report.steps.size());
  return std::min(data_->report.steps.size() - 1,
                  static_cast<std::size_t>((x - plot.left()) / plot.width() * steps));
}

std::uint64_t DiffSteps::Most() const {
  std::uint64_t most = 1;
  for (const analysis::DiffStep& step : data_->report.steps)
    most = std::max({most, step.before_peak, step.after_peak});
  return most + most / 12;
}

void DiffSteps::PaintLine(QPainter& painter, const QRectF& plot, bool after,
                          const QColor& color) const {
  const ByteScale scale{Most(), plot.bottom(), plot.height()};
  const auto& steps = data_->report.steps;
  // Draws the highest and the lowest of the steps in one pixel column, so that no peak is hidden.
  QPolygonF line;
  for (std::size_t i = 0; i < steps.size();) {
    const double column = std::floor(X(i));
    double low = 0, high = 0;
    const std::size_t first = i;
    for (; i < steps.size() && std::floor(X(i)) == column; ++i) {
      const double y =
          scale.Y(static_cast<double>(after ? steps[i].after_peak : steps[i].before_peak));
      low = i == first ? y : std::max(low, y);
      high = i == first ? y : std::min(high, y);
    }
    line << QPointF(i == first + 1 ? X(first) : column + 0.5, low);
    if (high != low) line << QPointF(column + 0.5, high);
  }
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(color, 2, after ? Qt::SolidLine : Qt::DashLine));
  painter.drawPolyline(line);
  if (steps.size() > 60) return;
  painter.setBrush(color);
  painter.setPen(Qt::NoPen);
  for (const QPointF& point : line) painter.drawEllipse(point, 3, 3);
}

void DiffSteps::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  painter.fillRect(rect(), theme.surface);
  painter.setFont(SmallFont(font()));
  if (data_ == nullptr || data_->report.steps.empty()) return;
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF plot = PlotRect();
  const auto& steps = data_->report.steps;
  PaintByteAxis(painter, plot, Most(), theme);
  const QFontMetricsF metrics(painter.font());
  painter.setPen(theme.muted);
  const QRectF below(plot.left(), plot.bottom() + 2, plot.width(), metrics.height() + 2);
  const auto last = static_cast<std::int64_t>(steps.size()) - 1;
  for (const Tick& tick : NumberTicks(0, last, plot.left(), plot.width(),
                                      metrics.horizontalAdvance(QStringLiteral("0000000")))) {
    const auto row = static_cast<std::size_t>(tick.value);
    if (row >= steps.size()) continue;
    painter.drawText(QRectF(tick.position - 40, below.top(), 80, below.height()), Qt::AlignCenter,
                     QString::number(steps[row].after));
  }
  painter.drawText(QRectF(0, below.top(), plot.left() - kSpace, below.height()),
                   Qt::AlignRight | Qt::AlignVCenter, tr("step"));
  const QColor before = DeltaDelegate::Less(theme), after = DeltaDelegate::More(theme);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].after != step_) continue;
    painter.setPen(QPen(theme.text, 1));
    painter.drawLine(QPointF(X(i), plot.top()), QPointF(X(i), plot.bottom()));
  }
  // The dashed line is painted last, so that both lines are visible where they coincide.
  PaintLine(painter, plot, true, after);
  PaintLine(painter, plot, false, before);
  if (const auto first = data_->report.first_difference) {
    const double x = std::round(X(*first)) + 0.5;
    FlagPainter(painter, plot, theme).Paint(x, plot.top(), tr("first difference"), theme.warning);
  }
  double x = plot.left();
  const auto legend = [&](const QString& text, const QColor& color, Qt::PenStyle style) {
    const double y = (plot.top() - 2) / 2;
    painter.setPen(QPen(color, 2, style));
    painter.drawLine(QPointF(x, y), QPointF(x + 2 * kSpace, y));
    painter.setPen(theme.muted);
    const QRectF box(x + 2.5 * kSpace, 0, plot.right() - x - 2.5 * kSpace, plot.top() - 2);
    x += 4.5 * kSpace + DrawElided(painter, box, Qt::AlignLeft | Qt::AlignVCenter, text);
  };
  legend(tr("before"), before, Qt::DashLine);
  legend(tr("after: highest use of each step"), after, Qt::SolidLine);
  if (hasFocus()) {
    painter.setPen(theme.accent);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(plot);
  }
}

void DiffSteps::mousePressEvent(QMouseEvent* event) {
  if (const auto row = RowAt(event->position().x())) emit StepChosen(*row);
}

void DiffSteps::keyPressEvent(QKeyEvent* event) {
  const int move = event->key() == Qt::Key_Right ? 1 : (event->key() == Qt::Key_Left ? -1 : 0);
  if (move == 0 || data_ == nullptr || data_->report.steps.empty()) {
    QWidget::keyPressEvent(event);
    return;
  }
  const auto& steps = data_->report.steps;
  std::int64_t row = move > 0 ? -1 : static_cast<std::int64_t>(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].after == step_) row = static_cast<std::int64_t>(i);
  row = std::clamp<std::int64_t>(row + move, 0, static_cast<std::int64_t>(steps.size()) - 1);
  emit StepChosen(static_cast<std::size_t>(row));
}

bool DiffSteps::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto row = RowAt(help->pos().x());
  if (!row) {
    QToolTip::hideText();
    return true;
  }
  const analysis::DiffStep& step = data_->report.steps[*row];
  const auto change =
      static_cast<std::int64_t>(step.after_peak) - static_cast<std::int64_t>(step.before_peak);
  const QString name = step.before == step.after
                           ? tr("step %1").arg(step.after)
                           : tr("step %1, then %2").arg(step.before).arg(step.after);
  QToolTip::showText(help->globalPos(),
                     tr("%1: %2, then %3 (%4)\nin %5, then %6")
                         .arg(name, FormatBytes(step.before_peak), FormatBytes(step.after_peak),
                              SignedBytes(change), FormatDuration(step.before_time),
                              FormatDuration(step.after_time)),
                     this);
  return true;
}

}  // namespace memprof::viewer
