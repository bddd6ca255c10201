// Paints lifetimes as bars.
#include "viewer/views/tensors_bars.h"

#include <QPainter>
#include <algorithm>

#include "viewer/views/text.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {

using analysis::Category;
using analysis::TimeNs;

QColor CategoryColor(const Theme& theme, Category category) {
  return theme.Group(ColorOf(category));
}

TimeScale BarScale(const Document& document, const Selection& selection, const QRectF& cell) {
  return {selection.window(), cell.left() + kSpace / 2.0, std::max(1.0, cell.width() - kSpace),
          ShownClock(document, selection)};
}

std::optional<QRectF> TensorBars::BarOf(int row, const QRectF& cell) const {
  const analysis::AllocationRecord& record = model_->record(row);
  const analysis::EventTable& events = model_->contents().table->session().events();
  const TimeScale scale = BarScale(*document_, *selection_, cell);
  const TimeNs birth = events.time(record.birth.value);
  const TimeNs death =
      record.death.valid() ? events.time(record.death.value) : model_->contents().table->end();
  if (birth > scale.window.end || death < scale.window.begin) return std::nullopt;
  const double left = scale.X(std::max(birth, scale.window.begin));
  const double right = scale.X(std::min(death, scale.window.end));
  return QRectF(left, cell.top() + 4, std::max(1.5, right - left), cell.height() - 8);
}

void TensorBars::paint(QPainter* painter, const QStyleOptionViewItem& option,
                       const QModelIndex& index) const {
  QStyledItemDelegate::paint(painter, option, index);
  const Theme theme = Theme::From(option.palette);
  const QRectF cell(option.rect);
  PaintDrawnCell(painter, option);
  painter->save();
  painter->setClipRect(cell);
  painter->setRenderHint(QPainter::Antialiasing, false);
  const analysis::Categories* categories = model_->contents().categories.get();
  const Category category = categories == nullptr
                                ? Category::kUnknown
                                : categories->Of(model_->allocation(index.row())).category;
  const QColor color = CategoryColor(theme, category);
  if (const std::optional<QRectF> bar = BarOf(index.row(), cell)) {
    painter->fillRect(*bar, color);
    if (model_->record(index.row()).alive()) {
      // The bar fades at its end, because the end of its lifetime is not known.
      QColor fade = theme.surface;
      QLinearGradient open(bar->right() - 2 * kSpace, 0, bar->right(), 0);
      fade.setAlpha(0);
      open.setColorAt(0, fade);
      fade.setAlpha(190);
      open.setColorAt(1, fade);
      const bool end_seen = selection_->window().end + 1 >= model_->contents().table->end();
      if (end_seen && bar->width() > 4 * kSpace)
        painter->fillRect(QRectF(bar->right() - 2 * kSpace, bar->top(), 2 * kSpace, bar->height()),
                          open);
    }
  }
  const TimeScale scale = BarScale(*document_, *selection_, cell);
  const TimeNs instant = selection_->instant();
  if (instant >= scale.window.begin && instant <= scale.window.end) {
    const double x = scale.X(instant);
    painter->fillRect(QRectF(x - 0.5, cell.top(), 1, cell.height()), theme.text);
  }
  painter->restore();
}

TensorHeader::TensorHeader(const Document* document, const Selection* selection, int scale_section,
                           QWidget* parent)
    : QHeaderView(Qt::Horizontal, parent),
      document_(document),
      selection_(selection),
      scale_section_(scale_section) {
  setSectionsClickable(true);
  setSectionsMovable(true);
  setHighlightSections(false);
}

void TensorHeader::initStyleOptionForIndex(QStyleOptionHeader* option, int section) const {
  QHeaderView::initStyleOptionForIndex(option, section);
  if (section == scale_section_ && document_->session() != nullptr) option->text.clear();
  // Leaves space for the sort indicator, which would be drawn over the text otherwise.
  const bool sorted = isSortIndicatorShown() && section == sortIndicatorSection();
  if (sorted && option->textAlignment.testFlag(Qt::AlignRight))
    option->text += QString(4, QChar(0xa0));
}

void TensorHeader::paintSection(QPainter* painter, const QRect& rect, int section) const {
  painter->save();
  QHeaderView::paintSection(painter, rect, section);
  painter->restore();
  if (section != scale_section_ || document_->session() == nullptr) return;
  const Theme theme = Theme::From(palette());
  const TimeScale scale = BarScale(*document_, *selection_, rect);
  const QFont font = SmallFont(this->font());
  std::vector<std::pair<double, QString>> labels;
  if (scale.clock != nullptr) {
    for (const StepMark& mark : StepMarks(scale, document_->session()->steps(), 60, 60))
      if (mark.labelled) labels.emplace_back(mark.position, QString::number(mark.number));
  } else {
    for (const Tick& tick : TimeTicks(scale, document_->bounds().begin, 64))
      labels.emplace_back(tick.position, tick.label);
  }
  painter->save();
  painter->setClipRect(rect);
  painter->setFont(font);
  for (const auto& [x, label] : labels) {
    painter->fillRect(QRectF(x - 0.5, rect.bottom() - 4, 1, 4), theme.border);
    const double width = TextWidth(font, label);
    const double left = std::clamp(x - width / 2, rect.left() + 2.0,
                                   std::max(rect.left() + 2.0, rect.right() - width - 2.0));
    painter->setPen(theme.muted);
    painter->drawText(QRectF(left, rect.top(), width + 1, rect.height() - 4),
                      Qt::AlignLeft | Qt::AlignVCenter, label);
  }
  painter->restore();
}

}  // namespace memprof::viewer
