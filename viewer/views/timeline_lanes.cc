// The legend of the timeline, and its lane of marks.
#include "viewer/views/timeline_lanes.h"

#include <algorithm>
#include <utility>

#include "viewer/geometry/elide.h"
#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {
namespace {

constexpr double kSwatch = 11;
constexpr double kSwatchSpace = kSwatch + 6;
constexpr double kMaxName = 230;  // pixels of a name, if not all names fit

}  // namespace

void TimelineLegend::LayOut(std::shared_ptr<const TimelineBands> bands, const QStringList& notes,
                            const LegendSpace& space, const QFont& font,
                            std::vector<LegendMark> marks) {
  bands_ = std::move(bands);
  marks_ = std::move(marks);
  texts_.clear();
  std::vector<double> widths;
  if (bands_ != nullptr) {
    QStringList names;
    double all = 0;
    for (auto band = bands_->bands.rbegin(); band != bands_->bands.rend(); ++band) {
      names << band->name;
      all += kSwatchSpace + TextWidth(font, band->name) + 2 + 2 * kSpace;
    }
    // Names are shown in full if two rows have space for them; otherwise they are cut such that
    // they still differ.
    if (all > space.first_right - space.left + (space.right - space.left) * 0.9)
      names = ElideApart(names, kMaxName,
                         [&font](const QString& name) { return TextWidth(font, name); });
    for (const QString& name : names)
      widths.push_back(kSwatchSpace + TextWidth(font, name) + 2 + 2 * kSpace);
    texts_ = names;
  }
  QStringList all_notes = notes;
  if (hidden() > 0) all_notes.prepend(QStringLiteral("Show all (%1 hidden)").arg(hidden()));
  for (const QString& note : all_notes) {
    texts_ << note;
    widths.push_back(TextWidth(font, note) + 2 + kSpace);
  }
  layout_ = LayOutLegend(widths, space);
}

std::size_t TimelineLegend::hidden() const {
  return static_cast<std::size_t>(
      std::count_if(marks_.begin(), marks_.end(), [](const LegendMark& m) { return m.hidden; }));
}

void TimelineLegend::PaintBand(QPainter& painter, const Theme& theme, std::size_t entry,
                               bool selected) const {
  const QRectF& box = layout_.boxes[entry];
  const std::size_t b = bands_->bands.size() - 1 - entry;
  const LegendMark mark = MarkOf(b);
  const QColor color = BandColor(bands_->bands[b], theme);
  const QRectF square(box.left(), box.center().y() - kSwatch / 2, kSwatch, kSwatch);
  if (!mark.hidden) FillBand(painter, QPolygonF(square), FillOf(bands_->bands[b], theme));
  if (mark.hidden || color == theme.surface) {
    painter.setPen(mark.hidden ? color : theme.muted);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(square.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  if (mark.pinned && !mark.hidden) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(Theme::TextOn(color));
    painter.drawEllipse(square.center(), 2.5, 2.5);
  }
  painter.setPen(mark.hidden ? theme.muted : theme.text);
  const QRectF name = box.adjusted(kSwatchSpace, 0, -2 * kSpace, 0);
  const double width =
      DrawElided(painter, name.adjusted(0, 0, 2, 0), Qt::AlignLeft | Qt::AlignVCenter,
                 texts_[static_cast<qsizetype>(entry)], Qt::ElideMiddle);
  const double half = QFontMetricsF(painter.font()).height() / 2;
  const auto line = [&](double y) {
    painter.drawLine(QPointF(name.left(), y), QPointF(name.left() + width, y));
  };
  if (mark.hidden) line(box.center().y());
  if (!selected) return;
  painter.setPen(QPen(theme.accent, 2));
  line(box.center().y() + half);
}

void TimelineLegend::Paint(QPainter& painter, const Theme& theme, int selected) const {
  const std::size_t bands = bands_ == nullptr ? 0 : bands_->bands.size();
  for (std::size_t i = 0; i < layout_.boxes.size(); ++i) {
    if (i < bands) {
      PaintBand(painter, theme, i, static_cast<int>(bands - 1 - i) == selected);
      continue;
    }
    painter.setPen(i == bands && hidden() > 0 ? theme.accent : theme.muted);
    DrawElided(painter, layout_.boxes[i], Qt::AlignLeft | Qt::AlignVCenter,
               texts_[static_cast<qsizetype>(i)]);
  }
}

bool TimelineLegend::IsSwatch(QPointF point) const {
  const int entry = EntryAt(point);
  return BandAt(point) >= 0 &&
         point.x() < layout_.boxes[static_cast<std::size_t>(entry)].left() + kSwatchSpace;
}

bool TimelineLegend::IsShowAll(QPointF point) const {
  return hidden() > 0 && bands_ != nullptr &&
         EntryAt(point) == static_cast<int>(bands_->bands.size());
}

int TimelineLegend::EntryAt(QPointF point) const {
  for (std::size_t i = 0; i < layout_.boxes.size(); ++i)
    if (layout_.boxes[i].contains(point)) return static_cast<int>(i);
  return -1;
}

int TimelineLegend::BandAt(QPointF point) const {
  const int entry = EntryAt(point);
  const int bands = bands_ == nullptr ? 0 : static_cast<int>(bands_->bands.size());
  return entry < 0 || entry >= bands ? -1 : bands - 1 - entry;
}

QString TimelineLegend::TextAt(QPointF point) const {
  const int band = BandAt(point);
  if (band < 0) {
    const int entry = EntryAt(point);
    return entry < 0 ? QString() : texts_[entry].toHtmlEscaped();
  }
  const Band& of = bands_->bands[static_cast<std::size_t>(band)];
  const LegendMark mark = MarkOf(static_cast<std::size_t>(band));
  QString text =
      QStringLiteral("<b>%1</b><br>%2").arg(of.name.toHtmlEscaped(), of.help.toHtmlEscaped());
  if (mark.pinned) text += QStringLiteral("<br>Its colour is pinned.");
  return text + (mark.hidden ? QStringLiteral("<br>Hidden. Click the box: show it.")
                             : QStringLiteral("<br>Click the box: hide it."));
}

double MarkerLane::Height(const std::vector<TimelineMarker>& markers, const QFont& font) {
  return markers.empty() ? 0 : QFontMetricsF(font).height() + 4;
}

void MarkerLane::LayOut(std::shared_ptr<const std::vector<TimelineMarker>> markers,
                        const TimeScale& scale, double top, const QFont& font) {
  markers_ = std::move(markers);
  boxes_ = LayOutMarkers(*markers_, scale, 2 * kSign + 4);
  left_ = scale.left;
  top_ = top;
  height_ = Height(*markers_, font);
  font_ = font;
}

std::function<double(const MarkerBox&)> MarkerLane::WidthOfLabel() const {
  return [this](const MarkerBox& box) { return TextWidth(font_, LabelOf(box)); };
}

QString MarkerLane::LabelOf(const MarkerBox& box) const {
  if (box.count == 1) return marker(box.first).label;
  if (box.kind == MarkerKind::kFailedRequest) {
    const auto failed =
        std::count_if(markers_->begin() + static_cast<std::ptrdiff_t>(box.first),
                      markers_->begin() + static_cast<std::ptrdiff_t>(box.first + box.count),
                      [](const TimelineMarker& m) { return m.kind == MarkerKind::kFailedRequest; });
    return QStringLiteral("%1 failed").arg(FormatCount(static_cast<std::uint64_t>(failed)));
  }
  return FormatPlural(box.count, QStringLiteral("mark"));
}

void MarkerLane::Paint(QPainter& painter, const QRectF& plot, const Theme& theme) const {
  if (height_ <= 0) return;
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  const double middle = top_ + height_ / 2;
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const MarkerBox& box = boxes_[i];
    const bool failed = box.kind == MarkerKind::kFailedRequest;
    const QColor color = failed ? theme.danger : theme.good;
    QColor line = color;
    line.setAlpha(150);
    painter.setPen(QPen(line, 1, failed ? Qt::DashLine : Qt::DotLine));
    painter.drawLine(QPointF(box.x, top_ + height_), QPointF(box.x, plot.bottom()));
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    if (failed) {
      painter.drawPolygon(
          QPolygonF({QPointF(box.x - kSign, middle - kSign), QPointF(box.x + kSign, middle - kSign),
                     QPointF(box.x, middle + kSign)}));
    } else {
      painter.drawPolygon(
          QPolygonF({QPointF(box.x, middle - kSign), QPointF(box.x + kSign, middle),
                     QPointF(box.x, middle + kSign), QPointF(box.x - kSign, middle)}));
    }
    painter.setPen(failed ? theme.danger : theme.text);
    const LabelSpan label = LabelOfMarker(boxes_, i, kSign + 3, WidthOfLabel());
    DrawElided(painter, QRectF(label.left, top_, label.right - label.left + 1, height_),
               Qt::AlignLeft | Qt::AlignVCenter, LabelOf(box));
  }
  painter.setPen(theme.muted);
  painter.drawText(QRectF(0, top_, left_ - kSpace, height_), Qt::AlignRight | Qt::AlignVCenter,
                   QStringLiteral("marks"));
  painter.restore();
}

int MarkerLane::BoxAt(QPointF point) const {
  if (height_ <= 0 || point.y() < top_ || point.y() >= top_ + height_) return -1;
  return HitMarker(boxes_, point.x(), kSign + 3, WidthOfLabel());
}

const TimelineMarker* MarkerLane::At(QPointF point) const {
  const int box = BoxAt(point);
  if (box < 0) return nullptr;
  const MarkerBox& hit = boxes_[static_cast<std::size_t>(box)];
  // Of several markers, the one whose sign is shown.
  for (std::size_t i = hit.first; i < hit.first + hit.count; ++i)
    if (marker(i).kind == hit.kind) return &marker(i);
  return &marker(hit.first);
}

QString MarkerLane::TextAt(QPointF point) const {
  const int box = BoxAt(point);
  if (box < 0) return {};
  const MarkerBox& hit = boxes_[static_cast<std::size_t>(box)];
  if (hit.count == 1) return marker(hit.first).text;
  return QStringLiteral("<b>%1</b>, too close to be shown separately: zoom in.<br>The first:<br>%2")
      .arg(FormatPlural(hit.count, QStringLiteral("mark")), At(point)->text);
}

}  // namespace memprof::viewer
