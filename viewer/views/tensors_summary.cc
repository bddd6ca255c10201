// The summary of the table of tensors: how many rows, how many bytes, and why there are none.
#include <QLabel>

#include "viewer/geometry/units.h"
#include "viewer/views/tensors_bars.h"
#include "viewer/views/tensors_view.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

using analysis::RowKind;
using analysis::RowScope;

void TensorsView::ShowSummary() {
  const TensorData& shown = model_->contents();
  if (shown.rows == nullptr) {
    summary_->setText(document_->session() == nullptr ? QString() : tr("Listing …"));
    legend_->clear();
    return;
  }
  const RowKind kind = shown.rows->kind;
  const std::uint64_t all = tensors_->count(kind);
  if (shown.rows->rows.empty()) {
    summary_->setText(Nothing());
    legend_->clear();
    return;
  }
  QString text =
      shown.rows->rows.size() == all
          ? tr("%1, %2 in all")
                .arg(FormatPlural(all, RowNoun(kind)), FormatBytes(shown.rows->bytes))
          : tr("%1 of %2, %3 of %4 in all")
                .arg(FormatCount(shown.rows->rows.size()), FormatPlural(all, RowNoun(kind)),
                     FormatBytes(shown.rows->bytes), FormatBytes(tensors_->bytes(kind)));
  if (tensors_->count(RowKind::kTensors) == 0)
    text += tr(". The program named no tensors (memprof_tensor_create() names them)");
  summary_->setText(text);
  const Theme theme = Theme::From(palette());
  QString legend;
  for (std::size_t i = 1; i < analysis::kCategoryCount; ++i) {
    const auto category = static_cast<analysis::Category>(i);
    if (category == analysis::Category::kSlack) continue;
    legend += QStringLiteral("<span style='color:%1'>■</span>&nbsp;%2&nbsp; ")
                  .arg(CategoryColor(theme, category).name(),
                       ToQString(analysis::CategoryName(category))
                           .replace(QLatin1Char(' '), QStringLiteral("&nbsp;")));
  }
  legend_->setText(legend);
}

QString TensorsView::Nothing() const {
  const RowKind kind = model_->contents().rows->kind;
  const QString noun = RowNoun(kind);
  if (tensors_->count(kind) == 0) {
    if (kind == RowKind::kTensors)
      return tr(
          "No tensor is named in this log. Programs name them with memprof_tensor_create(); "
          "blocks and driver memory are listed without.");
    if (kind == RowKind::kBlocks)
      return tr("No block: no framework's allocator was seen in this log. Choose driver memory.");
    return tr("No driver allocation is in this log.");
  }
  QStringList narrowed;
  if (!parsed_.conditions.empty()) narrowed << tr("the query");
  if (rows_query_.scope != RowScope::kAll) narrowed << tr("the choice of time");
  if (document_->passing() != nullptr) narrowed << tr("the filter above");
  return tr("None of %1 is left by %2. Widen it to see more.")
      .arg(FormatPlural(tensors_->count(kind), noun),
           narrowed.isEmpty() ? tr("what is asked") : narrowed.join(tr(" and ")));
}

}  // namespace memprof::viewer
