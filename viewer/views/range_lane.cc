// The lane of named ranges above the timeline.
#include "viewer/views/range_lane.h"

#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"

namespace memprof::viewer {

using analysis::RangeInfo;

void RangeLane::Reset() {
  lanes_ = RangeLanes();
  laid_out_ = false;
  // The index refers to the session: another session needs a new index.
  index_ = document_->session() == nullptr ? RangeIndex()
                                           : RangeIndex(document_->session()->ranges(), kMaxRows);
}

double RangeLane::Height(const QFont& font) const {
  return index_.rows() == 0 ? 0 : index_.rows() * (QFontMetricsF(font).height() + 2) + kSpace / 2.0;
}

void RangeLane::LayOut(const TimeScale& scale, double top, const QFont& font) {
  top_ = top;
  row_ = QFontMetricsF(font).height() + 2;
  const bool same = laid_out_ && scale_.window.begin == scale.window.begin &&
                    scale_.window.end == scale.window.end && scale_.left == scale.left &&
                    scale_.width == scale.width && scale_.clock == scale.clock;
  if (same) return;
  scale_ = scale;
  laid_out_ = true;
  lanes_ = index_.LayOut(scale);
}

QRectF RangeLane::RectOf(const RangeBox& box) const {
  return QRectF(box.left, top_ + box.row * row_, std::max(1.0, box.right - box.left), row_ - 1);
}

QColor RangeLane::Color(const QString& name, const Theme& theme) {
  std::uint32_t hash = 2166136261u;
  for (const QChar c : name) hash = (hash ^ c.unicode()) * 16777619u;
  const QColor strong = theme.Categorical(static_cast<int>((hash >> 16) % Theme::kCategories));
  const auto mix = [](int a, int b) { return (a * 55 + b * 45) / 100; };
  return QColor(mix(theme.surface.red(), strong.red()), mix(theme.surface.green(), strong.green()),
                mix(theme.surface.blue(), strong.blue()));
}

void RangeLane::Paint(QPainter& painter, const Theme& theme) const {
  for (const RangeBox& box : lanes_.boxes) {
    const QRectF rect = RectOf(box);
    const QString name = NameOf(box);
    const QColor fill = box.count > 1 ? theme.Categorical(-1) : Color(name, theme);
    painter.fillRect(rect.adjusted(0, 0, rect.width() > 3 ? -1 : 0, 0), fill);
    if (rect.width() < 20) continue;
    painter.setPen(Theme::TextOn(fill));
    DrawElided(painter, rect.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter, name);
  }
  if (lanes_.rows == 0) return;
  painter.setPen(theme.muted);
  QString caption = QStringLiteral("ranges");
  if (lanes_.hidden > 0) caption += QStringLiteral(" +%1").arg(lanes_.hidden);
  painter.drawText(QRectF(0, top_, scale_.left - kSpace, row_ - 1),
                   Qt::AlignRight | Qt::AlignVCenter, caption);
}

const RangeBox* RangeLane::BoxAt(QPointF point) const {
  if (row_ <= 0 || point.y() < top_) return nullptr;
  const int hit = HitRange(lanes_, static_cast<int>((point.y() - top_) / row_), point.x());
  return hit < 0 ? nullptr : &lanes_.boxes[static_cast<std::size_t>(hit)];
}

QString RangeLane::NameOf(const RangeBox& box) const {
  if (box.count > 1) return FormatPlural(box.count, QStringLiteral("range"));
  return ToQString(document_->session()->string(document_->session()->ranges()[box.first].name));
}

analysis::TimeWindow RangeLane::WindowOf(const RangeBox& box) const {
  const RangeInfo& first = document_->session()->ranges()[box.first];
  if (box.count == 1) return {first.begin, first.end};
  return {first.begin, std::max(first.end, scale_.At(box.right))};
}

std::optional<analysis::TimeWindow> RangeLane::RangeAt(QPointF point) const {
  const RangeBox* box = BoxAt(point);
  if (box == nullptr) return std::nullopt;
  return WindowOf(*box);
}

QString RangeLane::TextAt(QPointF point) const {
  const RangeBox* box = BoxAt(point);
  if (box == nullptr) return {};
  const analysis::Session& session = *document_->session();
  const RangeInfo& range = session.ranges()[box->first];
  const analysis::TimeWindow window = WindowOf(*box);
  QString text = QStringLiteral("<b>%1</b>").arg(NameOf(*box).toHtmlEscaped());
  if (box->count > 1) text += QStringLiteral(", too narrow to be shown separately: zoom in");
  text += QStringLiteral("<br>%1 long").arg(FormatDuration(window.end - window.begin));
  const std::int64_t step = session.StepAt(window.begin);
  if (step >= 0) text += QStringLiteral(", in step %1").arg(step);
  if (range.thread < session.threads().size()) {
    const analysis::ThreadInfo& thread = session.threads()[range.thread];
    text += QStringLiteral("<br>thread %1 %2")
                .arg(thread.tid)
                .arg(ToQString(thread.name).toHtmlEscaped());
  }
  const TimelineBands* bands = document_->bands(selection_->device());
  if (bands != nullptr) {
    const analysis::Series::Sample used = bands->in_use.Between(window.begin, window.end);
    text += QStringLiteral("<br>in use: %1 before, at most %2, %3 after")
                .arg(FormatBytes(bands->in_use.At(window.begin)), FormatBytes(used.max),
                     FormatBytes(bands->in_use.At(window.end)));
  }
  return text;
}

}  // namespace memprof::viewer
