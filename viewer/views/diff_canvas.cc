// The icicle of a comparison, and its legend.
#include "viewer/views/diff_canvas.h"

#include <QPainter>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

// The legend's samples: a share of the change, and its name.
struct Sample {
  double share;
  const char* name;
};
constexpr Sample kSamples[] = {
    {-1, "gone"}, {-0.5, "half"}, {0, "same"}, {0.5, "twice"}, {1, "new"}};
constexpr int kSwatchWidth = 22;

}  // namespace

void PaintFresh(QPainter& painter, const QRectF& rect, const QColor& fill) {
  if (rect.width() < 3) return;
  painter.setPen(QPen(Theme::TextOn(fill), 1));
  painter.setBrush(Qt::NoBrush);
  // Within the box: at its edge, a frame in the colour of the surface would be a wider gap.
  if (rect.width() >= 10) {
    painter.drawRect(rect.adjusted(2.5, 2.5, -2.5, -2.5));
  } else {
    const double x = std::floor(rect.center().x()) + 0.5;
    painter.drawLine(QPointF(x, rect.top() + 3), QPointF(x, rect.bottom() - 3));
  }
}

void PaintGone(QPainter& painter, const QRectF& rect, const QColor& fill) {
  // Away from the colour of the text, so that its contrast only rises.
  QColor line = Theme::TextOn(fill) == QColor(Qt::white) ? Qt::black : Qt::white;
  line.setAlpha(150);
  painter.fillRect(rect, QBrush(line, Qt::BDiagPattern));
}

DiffCanvas::DiffCanvas(Document* document, Selection* selection, QWidget* parent)
    : FlameCanvas(document, selection, parent) {
  setAccessibleName(tr("Icicle of what changed"));
  setAccessibleDescription(
      tr("Arrows move and select, Space zooms to a frame, Backspace out of it, Enter opens its "
         "source."));
  SetEmptyText(tr("Neither side holds anything here."));
}

void DiffCanvas::SetPicture(std::shared_ptr<const DiffPicture> picture,
                            std::shared_ptr<const analysis::CallStacks> own, bool own_is_before) {
  picture_ = std::move(picture);
  own_ = std::move(own);
  own_is_before_ = own_is_before;
  // The tree is a part of the picture, and keeps it.
  SetTree(picture_ == nullptr
              ? nullptr
              : std::shared_ptr<const analysis::FlameTree>(picture_, &picture_->flame),
          nullptr, FlameValue::kBytes);
}

QColor DiffCanvas::Fill(const Theme& theme, const FlameBox& box, int) const {
  if (searching() && !Matches(box.node)) return theme.hole;
  return theme.Diverging(CostOf(box.node).share());
}

void DiffCanvas::PaintOver(QPainter& painter, const QRectF& rect, int node,
                           const QColor& fill) const {
  if (CostOf(node).fresh()) PaintFresh(painter, rect, fill);
  if (CostOf(node).gone()) PaintGone(painter, rect, fill);
}

QString DiffCanvas::ValueText(int node) const {
  const DiffCost& cost = CostOf(node);
  if (node > 0 && cost.change() == 0) return {};  // as its colour says
  const QString change = SignedBytes(cost.change());
  if (node == 0)
    return tr("%1, then %2: %3")
        .arg(FormatBytes(cost.before.bytes), FormatBytes(cost.after.bytes), change);
  return cost.fresh() ? tr("new %1").arg(change) : cost.gone() ? tr("gone %1").arg(change) : change;
}

QString DiffCanvas::NodeText(int node) const {
  if (picture_ == nullptr || node < 0) return {};
  const analysis::FlameNode& frame = NodeOf(node);
  const DiffCost& cost = CostOf(node);
  QString text = ToQString(frame.function);
  if (!frame.file.empty())
    text += QStringLiteral("\n%1:%2").arg(ToQString(frame.file)).arg(frame.line);
  else if (!frame.module.empty())
    text += QLatin1Char('\n') + ToQString(frame.module);
  const auto side = [](const analysis::CallCost& held) {
    return tr("%1 in %2").arg(FormatBytes(held.bytes), FormatPlural(held.blocks, tr("block")));
  };
  text += tr("\nbefore: %1\nafter: %2").arg(side(cost.before), side(cost.after));
  text += tr("\nchange: %1").arg(SignedBytes(cost.change()));
  if (cost.fresh()) {
    text += tr(", new");
  } else if (cost.gone()) {
    text += tr(", gone");
  } else if (cost.change() != 0) {
    text +=
        QStringLiteral(" (%1%2)").arg(cost.change() > 0 ? QStringLiteral("+") : QStringLiteral("-"),
                                      FormatPercent(static_cast<double>(std::abs(cost.change())) /
                                                    static_cast<double>(cost.before.bytes)));
  }
  if (node > 0) text += frame.python ? tr("\nPython") : tr("\nnative");
  return text;
}

void DiffCanvas::Select(int node) {
  const DiffCost& cost = CostOf(node);
  const analysis::StackId own = own_is_before_ ? cost.before_stack : cost.after_stack;
  if (own.valid()) SelectStack(own);
  const bool after = cost.after_stack.valid();
  emit StackChosen(after ? cost.after_stack : cost.before_stack, after);
}

DiffLegend::DiffLegend(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  setToolTip(
      tr("The width of a frame is the larger of before and after, summed over its stacks. Its "
         "colour is the change: as a share of the larger side."));
}

QSize DiffLegend::sizeHint() const {
  double width = TextWidth(font(), tr("width: the larger side"));
  for (const Sample& sample : kSamples)
    width += kSwatchWidth + 6 + 12 + TextWidth(font(), tr(sample.name));
  return {static_cast<int>(std::ceil(width)), fontMetrics().height() + 4};
}

void DiffLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  double x = 0;
  for (const Sample& sample : kSamples) {
    const QColor fill = theme.Diverging(sample.share);
    const QRectF swatch(x, 3, kSwatchWidth, height() - 6);
    painter.fillRect(swatch, fill);
    if (sample.share == 1) PaintFresh(painter, swatch, fill);
    if (sample.share == -1) PaintGone(painter, swatch, fill);
    const QString name = tr(sample.name);
    painter.setPen(theme.muted);
    const double wide = TextWidth(font(), name);
    painter.drawText(QRectF(swatch.right() + 6, 0, wide + 2, height()), Qt::AlignVCenter, name);
    x = swatch.right() + 6 + wide + 12;
  }
  DrawElided(painter, QRectF(x, 0, width() - x, height()), Qt::AlignLeft | Qt::AlignVCenter,
             tr("width: the larger side"));
}

}  // namespace memprof::viewer
