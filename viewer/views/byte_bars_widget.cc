// Bars of bytes to one scale, with what they mean beside them.
#include "viewer/views/byte_bars_widget.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"

namespace memprof::viewer {
namespace {

constexpr double kMinPart = 2;  // pixels

}  // namespace

QColor PartColor(const Theme& theme, PartStyle style, int index) {
  switch (style) {
    case PartStyle::kCategorical:
      return theme.Categorical(index);
    case PartStyle::kHole:
      return theme.hole;
    case PartStyle::kFree:
      return theme.surface;
    case PartStyle::kUnknown:
      return theme.border;
    case PartStyle::kAccent:
      return theme.accent;
    case PartStyle::kDanger:
      return theme.danger;
    case PartStyle::kGood:
      return theme.good;
  }
  return theme.muted;
}

ByteBarsWidget::ByteBarsWidget(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
}

void ByteBarsWidget::SetBars(std::vector<ByteBar> bars, std::uint64_t whole, std::uint64_t mark) {
  bars_ = std::move(bars);
  whole_ = whole > 0 ? whole : std::max(LargestBar(bars_), mark);
  mark_ = mark;
  focus_ = {};
  updateGeometry();
  update();
}

double ByteBarsWidget::RowHeight() const {
  return QFontMetricsF(SmallFont(font())).height() + kSpace;
}

QSize ByteBarsWidget::sizeHint() const {
  return {300, static_cast<int>(RowHeight() * static_cast<double>(bars_.size())) + kSpace / 2};
}

QRectF ByteBarsWidget::BarArea(int bar) const {
  const QFontMetricsF metrics(SmallFont(font()));
  double left = 0, right = 0;
  for (const ByteBar& one : bars_) {
    left = std::max(left, metrics.horizontalAdvance(one.label));
    right = std::max(right, metrics.horizontalAdvance(one.value));
  }
  left = std::min(left, width() * 0.35) + (left > 0 ? kSpace : 0);
  right = std::min(right, width() * 0.35) + (right > 0 ? kSpace : 0);
  return {left, RowHeight() * bar + 2, std::max(20.0, width() - left - right), RowHeight() - 4};
}

QRectF ByteBarsWidget::RectOf(int bar, int part) const {
  if (bar < 0 || bar >= static_cast<int>(bars_.size())) return {};
  const auto rects =
      LayOutParts(bars_[static_cast<std::size_t>(bar)], BarArea(bar), whole_, kMinPart);
  return part < 0 || part >= static_cast<int>(rects.size()) ? QRectF()
                                                            : rects[static_cast<std::size_t>(part)];
}

void ByteBarsWidget::PaintBar(QPainter& painter, int index, const Theme& theme) {
  const ByteBar& bar = bars_[static_cast<std::size_t>(index)];
  const QRectF area = BarArea(index);
  painter.setPen(theme.muted);
  DrawElided(painter, QRectF(0, area.top(), area.left() - kSpace, area.height()),
             Qt::AlignLeft | Qt::AlignVCenter, bar.label);
  painter.setPen(theme.text);
  DrawElided(
      painter,
      QRectF(area.right() + kSpace, area.top(), width() - area.right() - kSpace, area.height()),
      Qt::AlignRight | Qt::AlignVCenter, bar.value);
  const std::vector<QRectF> rects = LayOutParts(bar, area, whole_, kMinPart);
  for (std::size_t i = 0; i < rects.size(); ++i) {
    const ByteBarPart& part = bar.parts[i];
    if (part.bytes == 0) continue;
    const QColor fill = PartColor(theme, part.style, part.index);
    const bool gap = rects[i].width() > 4;
    const QRectF rect = rects[i].adjusted(0, 0, gap ? -1 : 0, 0);
    painter.fillRect(rect, fill);
    if (part.style == PartStyle::kHole || part.style == PartStyle::kUnknown)
      painter.fillRect(
          rect, QBrush(theme.dark ? fill.lighter(150) : fill.darker(125),
                       part.style == PartStyle::kHole ? Qt::BDiagPattern : Qt::Dense6Pattern));
    if (part.style == PartStyle::kFree) {
      painter.setPen(theme.border);
      painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    if (focus_.bar == index && focus_.part == static_cast<int>(i)) {
      painter.setPen(QPen(theme.text, 2));
      painter.drawRect(rect.adjusted(1, 1, -1, -1));
    }
    const bool hatched = part.style == PartStyle::kHole || part.style == PartStyle::kUnknown;
    // On a hatched ground letters are hard to read: the table beside the bar has them.
    if (hatched || TextWidth(painter.font(), part.name) + 8 > rect.width()) continue;
    painter.setPen(part.style == PartStyle::kFree ? theme.muted : Theme::TextOn(fill));
    painter.drawText(rect.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter, part.name);
  }
}

void ByteBarsWidget::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  painter.setFont(SmallFont(font()));
  for (int i = 0; i < static_cast<int>(bars_.size()); ++i) PaintBar(painter, i, theme);
  if (mark_ == 0 || bars_.empty()) return;
  const QRectF area = BarArea(0);
  const double x =
      area.left() + area.width() * static_cast<double>(mark_) / static_cast<double>(whole_);
  painter.setPen(QPen(theme.danger, 1.5, Qt::DashLine));
  painter.drawLine(QPointF(x, 0), QPointF(x, RowHeight() * static_cast<double>(bars_.size())));
}

ByteBarsWidget::Hit ByteBarsWidget::HitAt(QPointF at) const {
  for (int bar = 0; bar < static_cast<int>(bars_.size()); ++bar) {
    const auto rects =
        LayOutParts(bars_[static_cast<std::size_t>(bar)], BarArea(bar), whole_, kMinPart);
    for (std::size_t i = 0; i < rects.size(); ++i)
      if (rects[i].contains(at)) return {bar, static_cast<int>(i)};
  }
  return {};
}

QString ByteBarsWidget::TextOf(const ByteBarPart& part) const {
  return part.tip.isEmpty() ? tr("%1: %2").arg(part.name, FormatBytes(part.bytes)) : part.tip;
}

bool ByteBarsWidget::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const Hit hit = HitAt(help->pos());
  if (hit.bar < 0) {
    QToolTip::hideText();
    return true;
  }
  const ByteBar& bar = bars_[static_cast<std::size_t>(hit.bar)];
  QToolTip::showText(help->globalPos(), TextOf(bar.parts[static_cast<std::size_t>(hit.part)]),
                     this);
  return true;
}

void ByteBarsWidget::mousePressEvent(QMouseEvent* event) {
  const Hit hit = HitAt(event->position());
  if (hit.bar < 0 || event->button() != Qt::LeftButton) return;
  focus_ = hit;
  update();
  emit PartClicked(hit.bar, hit.part);
}

void ByteBarsWidget::keyPressEvent(QKeyEvent* event) {
  const int bars = static_cast<int>(bars_.size());
  if (bars == 0) return QWidget::keyPressEvent(event);
  Hit next{std::max(focus_.bar, 0), focus_.part};
  switch (event->key()) {
    case Qt::Key_Left:
      --next.part;
      break;
    case Qt::Key_Right:
      ++next.part;
      break;
    case Qt::Key_Up:
      --next.bar;
      break;
    case Qt::Key_Down:
      ++next.bar;
      break;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (focus_.bar >= 0 && focus_.part >= 0) emit PartClicked(focus_.bar, focus_.part);
      return;
    default:
      return QWidget::keyPressEvent(event);
  }
  next.bar = std::clamp(next.bar, 0, bars - 1);
  const ByteBar& bar = bars_[static_cast<std::size_t>(next.bar)];
  next.part = std::clamp(next.part, 0, std::max(0, static_cast<int>(bar.parts.size()) - 1));
  if (bar.parts.empty()) return;
  focus_ = next;
  update();
  const QRectF rect = RectOf(next.bar, next.part);
  QToolTip::showText(mapToGlobal(rect.bottomLeft().toPoint()),
                     TextOf(bar.parts[static_cast<std::size_t>(next.part)]), this);
}

}  // namespace memprof::viewer
