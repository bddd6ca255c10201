// The picture of all allocations: positions and texts. Jobs are in allocations_jobs.cc, painting in
// allocations_painting.cc, mouse and keys in allocations_input.cc.
#include "viewer/views/allocations_canvas.h"

#include <QFontMetricsF>
#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

using analysis::AllocationId;
using analysis::TimeNs;

AllocationsCanvas::AllocationsCanvas(Document* document, Selection* selection, Layout layout,
                                     QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection), layout_(layout) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(layout == Layout::kPacked ? tr("Allocations over time")
                                              : tr("Addresses over time"));
  connect(selection_, &Selection::SelectionChanged, this, qOverload<>(&QWidget::update));
  connect(selection_, &Selection::InstantChanged, this, qOverload<>(&QWidget::update));
  // At once, also while the view is hidden: the data of a closed log is large.
  connect(document_, &Document::StateChanged, this, [this] {
    if (session_ != nullptr && session_ != document_->session() && !(isVisible() && Grew()))
      Forget();
  });
}

void AllocationsCanvas::SetColoring(AllocationColoring coloring) {
  coloring_ = coloring;
  Update();
}

QRectF AllocationsCanvas::PlotRect() const {
  const QFontMetricsF small(SmallFont(font()));
  const double left =
      small.horizontalAdvance(layout_ == Layout::kPacked ? QStringLiteral("+00000 MiB")
                                                         : QStringLiteral("0x7f0000000000")) +
      2 * kSpace;
  const bool steps = document_->session() != nullptr && !document_->session()->steps().empty();
  const double axis = small.height() * (steps ? 2 : 1) + 2 * kSpace;
  // The plot is on whole pixels, so that the picture is drawn without scaling.
  return QRectF(std::ceil(left), kSpace, std::max(10.0, std::floor(width() - left - kSpace)),
                std::max(10.0, std::floor(height() - kSpace - axis)));
}

TimeScale AllocationsCanvas::Scale() const {
  const QRectF plot = PlotRect();
  return {selection_->window(), plot.left(), plot.width(), ShownClock(*document_, *selection_)};
}

double AllocationsCanvas::Y(double bytes) const {
  const QRectF plot = PlotRect();
  return plot.bottom() - (bytes - low_) / (high_ - low_) * plot.height();
}

double AllocationsCanvas::BytesAt(double y) const {
  const QRectF plot = PlotRect();
  return low_ + (plot.bottom() - y) / plot.height() * (high_ - low_);
}

void AllocationsCanvas::SetBytes(double low, double high) {
  const double all = std::max(1.0, WholeBox().high);
  // At least 4096 bytes are visible, or all if there are fewer.
  const double span = std::clamp(high - low, std::min(all, 4096.0), all);
  low_ = std::clamp((low + high - span) / 2, 0.0, all - span);
  high_ = low_ + span;
  Update();
}

std::optional<std::size_t> AllocationsCanvas::SelectedRow() const {
  if (data_ == nullptr) return std::nullopt;
  for (AllocationId id = selection_->allocation();
       id.valid() && id.value < shown().records().size(); id = shown().record(id).parent) {
    if (const auto row = data_->index->Row(id)) return row;
  }
  return std::nullopt;
}

std::optional<QRectF> AllocationsCanvas::RectOf(AllocationId id) const {
  if (data_ == nullptr) return std::nullopt;
  const auto row = data_->index->Row(id);
  if (!row.has_value()) return std::nullopt;
  const TimeScale scale = Scale();
  const QRectF plot = PlotRect();
  const TimeNs death = std::min(data_->index->Death(*row), selection_->bounds().end);
  QRectF rect(QPointF(scale.X(data_->index->Birth(*row)), Y(data_->index->high(*row))),
              QPointF(scale.X(death), Y(data_->index->low(*row))));
  if (rect.right() < plot.left() || rect.left() > plot.right() || rect.bottom() < plot.top() ||
      rect.top() > plot.bottom()) {
    return std::nullopt;
  }
  rect.setLeft(std::max(rect.left(), plot.left()));
  rect.setRight(std::min(rect.right(), plot.right()));
  rect.setTop(std::max(rect.top(), plot.top()));
  rect.setBottom(std::min(rect.bottom(), plot.bottom()));
  return rect;
}

std::optional<std::size_t> AllocationsCanvas::RowAt(QPointF point) const {
  if (data_ == nullptr || !PlotRect().contains(point)) return std::nullopt;
  const TimeScale scale = Scale();
  PictureBox around{{scale.At(point.x() - 1), scale.At(point.x() + 1)},
                    BytesAt(point.y() + 1),
                    BytesAt(point.y() - 1)};
  return data_->index->HitTest(scale.At(point.x()), BytesAt(point.y()), around);
}

QString AllocationsCanvas::Describe(std::size_t row) const {
  const AllocationIndex& index = *data_->index;
  const analysis::Session& session = shown();
  const AllocationId id = index.id(row);
  const analysis::Allocation a = session.allocation(id);
  QString rows;
  const auto add = [&rows](const QString& name, const QString& value) {
    rows += QStringLiteral("<tr><td style='padding-right:10px'>%1</td><td>%2</td></tr>")
                .arg(name, value.toHtmlEscaped());
  };
  const TimeNs origin = document_->bounds().begin;
  const auto when = [&](TimeNs time, std::int64_t step) {
    QString text = FormatDuration(time - std::min(origin, time));
    if (step >= 0) text += tr(", step %1").arg(step);
    return text;
  };
  QString title = TensorLabel(session, id);
  if (title.isEmpty()) title = ToQString(analysis::LayerName(a.layer));
  add(tr("Size"), FormatBytes(a.bytes));
  if (a.requested != 0 && a.requested != a.bytes) add(tr("Requested"), FormatBytes(a.requested));
  if (a.stack.valid()) add(tr("Allocated at"), names_.value(a.stack.value, QStringLiteral("…")));
  add(tr("Born"), when(a.birth_time, a.birth_step));
  if (a.alive()) {
    add(tr("Freed"), tr("never"));
  } else {
    add(tr("Freed"), when(a.death_time, a.death_step));
    add(tr("Lived"), FormatDuration(a.death_time - a.birth_time));
  }
  if (uses_ != nullptr && uses_->session.get() == &session) {
    const auto used = uses_->accesses.Of(id);
    if (!used.empty()) {
      const TimeNs last = session.events().time(used.back().event.value);
      const TimeNs end = std::min(a.death_time, document_->bounds().end);
      add(tr("Last use"),
          tr("%1; idle %2 after it")
              .arg(when(last, session.StepAt(last)), FormatDuration(end - std::min(end, last))));
    } else if (uses_->accesses.EvidenceFor(session.record(id)).pointers()) {
      add(tr("Last use"), tr("none seen"));
    }
  }
  if (layout_ == Layout::kAddresses) add(tr("Address"), FormatAddress(a.address));
  return QStringLiteral("<b>%1</b><table>%2</table>").arg(title.toHtmlEscaped(), rows);
}

}  // namespace memprof::viewer
