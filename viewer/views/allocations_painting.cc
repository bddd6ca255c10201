// The picture of all allocations: painting.
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/views/allocations_canvas.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {

using analysis::TimeNs;

QString AllocationsCanvas::EmptyText() const {
  if (document_->session() == nullptr) return tr("Reading the log …");
  if (data_ == nullptr) return tr("Giving every allocation its lane …");
  if (data_->index->size() == 0)
    return layout_ == Layout::kPacked ? tr("This device holds no memory in this log.")
                                      : tr("This device holds nothing with an address in this "
                                           "log.");
  if (picture_ == nullptr && whole_ == nullptr) return tr("Drawing …");
  return {};
}

void AllocationsCanvas::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  painter.fillRect(rect(), theme.surface);
  painter.setFont(SmallFont(font()));
  const QString empty = EmptyText();
  if (!empty.isEmpty()) {
    painter.setPen(theme.muted);
    painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, empty);
    return;
  }
  const QRectF plot = PlotRect();
  if (layout_ == Layout::kPacked) {
    PaintBytes(painter, plot, theme);
  } else {
    PaintAddresses(painter, plot, theme);
  }
  PaintPictures(painter, plot);
  PaintLabels(painter, plot, theme);
  PaintTimeAxis(painter, plot, Scale(), document_->bounds().begin, shown().steps(), theme);
  PaintMarks(painter, plot, theme);
  PaintFrames(painter, plot, theme);
}

void AllocationsCanvas::PaintOne(QPainter& painter, const QRectF& plot,
                                 const AllocationPicture& picture) {
  const TimeScale scale = Scale();
  const QRectF target(QPointF(scale.X(picture.box.window.begin), Y(picture.box.high)),
                      QPointF(scale.X(picture.box.window.end), Y(picture.box.low)));
  const QRectF seen = target & plot;
  if (seen.isEmpty()) return;
  const double across = picture.image.width() / target.width();
  const double down = picture.image.height() / target.height();
  const double ratio = devicePixelRatioF();
  if (std::abs(picture.image.width() - target.width() * ratio) < 0.5 &&
      std::abs(picture.image.height() - target.height() * ratio) < 0.5) {
    // Only moved: by whole pixels, which are copied.
    const QPointF corner(std::round(target.left() * ratio) / ratio,
                         std::round(target.top() * ratio) / ratio);
    painter.drawImage(QRectF(corner, QSizeF(picture.image.size()) / ratio), picture.image);
    return;
  }
  painter.drawImage(
      seen, picture.image,
      QRectF((seen.left() - target.left()) * across, (seen.top() - target.top()) * down,
             seen.width() * across, seen.height() * down));
}

void AllocationsCanvas::PaintPictures(QPainter& painter, const QRectF& plot) {
  const bool steps = ShownClock(*document_, *selection_) != nullptr;
  if (Shows(picture_.get(), Box())) {
    painter.drawImage(plot, picture_->image, QRectF(picture_->image.rect()));
    return;
  }
  // Until the new picture is ready, shows the previous one, scaled, and where that has nothing, the
  // picture of the whole log.
  painter.save();
  painter.setClipRect(plot);
  QRectF has;
  if (picture_ != nullptr && picture_->steps == steps) {
    const TimeScale scale = Scale();
    has = QRectF(QPointF(scale.X(picture_->box.window.begin), Y(picture_->box.high)),
                 QPointF(scale.X(picture_->box.window.end), Y(picture_->box.low)));
  }
  if (whole_ != nullptr && whole_->steps == steps && !has.contains(plot)) {
    // Only where it is seen: it is scaled, which takes long on a large screen.
    painter.setClipRegion(QRegion(plot.toRect()) - QRegion((has & plot).toRect()));
    PaintOne(painter, plot, *whole_);
    painter.setClipRect(plot);
  }
  if (!has.isEmpty()) PaintOne(painter, plot, *picture_);
  painter.restore();
}

void AllocationsCanvas::PaintLabels(QPainter& painter, const QRectF& plot, const Theme&) {
  if (!Shows(picture_.get(), Box())) return;
  const double ratio = devicePixelRatioF();
  for (const AllocationPicture::Label& label : picture_->labels) {
    const QRectF box(plot.left() + label.box.left() / ratio, plot.top() + label.box.top() / ratio,
                     label.box.width() / ratio, label.box.height() / ratio);
    painter.setPen(Theme::TextOn(label.fill));
    DrawElided(painter, (box & plot).adjusted(4, 0, -3, 0), Qt::AlignLeft | Qt::AlignVCenter,
               label.text);
  }
}

void AllocationsCanvas::PaintBytes(QPainter& painter, const QRectF& plot, const Theme& theme) {
  const double height = QFontMetricsF(painter.font()).height();
  const double span = high_ - low_;
  const double least = span * std::max(height * 2.2, plot.height() / 14) / plot.height();
  const double step = std::exp2(std::ceil(std::log2(std::max(1.0, least))));
  // At high zoom, where neighbouring ticks would have equal labels, all but the lowest show their
  // difference to it.
  const double first = std::ceil(low_ / step) * step;
  const auto text = [step](double value) { return FormatByteTick(value, step); };
  const bool relative = first > 0 && first / step > 64;
  for (double value = first; value <= high_ && value + step > value; value += step) {
    const double y = std::round(Y(value)) + 0.5;
    painter.setPen(theme.grid);
    if (value > 0) painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    painter.setPen(theme.muted);
    painter.drawText(
        QRectF(0, y - height / 2, plot.left() - kSpace, height), Qt::AlignRight | Qt::AlignVCenter,
        relative && value > first ? QStringLiteral("+") + text(value - first) : text(value));
  }
}

void AllocationsCanvas::PaintAddresses(QPainter& painter, const QRectF& plot, const Theme& theme) {
  const double height = QFontMetricsF(painter.font()).height();
  double free_above = plot.bottom() + height;  // labels do not overlap
  const auto label = [&](double y, std::uint64_t address) {
    if (y > free_above - 1.6 * height || y < plot.top()) return;
    painter.setPen(theme.muted);
    painter.drawText(QRectF(0, std::max(0.0, y - height / 2), plot.left() - kSpace, height),
                     Qt::AlignRight | Qt::AlignVCenter, FormatAddress(address));
    free_above = y;
  };
  const double step =
      std::exp2(std::ceil(std::log2(std::max(1.0, (high_ - low_) * 2.5 * height / plot.height()))));
  double last_line = plot.bottom() + 100;
  for (const analysis::AddressSpan& span : data_->addresses.spans) {
    const double begin = static_cast<double>(span.offset);
    const double end = begin + static_cast<double>(span.bytes);
    if (end < low_ || begin > high_) continue;
    const double y = Y(begin);
    // Marks a gap without memory that was left out.
    if (begin > low_ && last_line - y >= 3) {
      painter.setPen(QPen(theme.border, 1, Qt::DashLine));
      painter.drawLine(QPointF(plot.left(), std::round(y) + 0.5),
                       QPointF(plot.right(), std::round(y) + 0.5));
      last_line = y;
    }
    if (begin >= low_) label(y, span.address);
    const double from = std::max(low_ - begin, 0.0);
    const double to = std::min(high_, end) - begin;
    const double address = static_cast<double>(span.address);
    for (double at = std::ceil((address + from) / step) * step - address; at < to; at += step)
      label(Y(begin + at), span.address + static_cast<std::uint64_t>(std::max(0.0, at)));
  }
}

void AllocationsCanvas::PaintMarks(QPainter& painter, const QRectF& plot, const Theme& theme) {
  const TimeScale scale = Scale();
  double labelled_to = -1e9;
  FlagPainter flags(painter, plot, theme);
  for (const analysis::FailedRequest& failure : data_->failures) {
    const double x = scale.X(failure.time);
    if (x < plot.left() || x > plot.right() || x < labelled_to) continue;
    const QString text = tr("failed: %1").arg(FormatBytes(failure.bytes));
    flags.Paint(x, plot.top() + 2 * kSpace, text, theme.danger);
    labelled_to = x + TextWidth(painter.font(), text) + 2 * kSpace;
  }
  const double chosen = scale.X(selection_->instant());
  if (chosen >= plot.left() && chosen <= plot.right()) {
    painter.setPen(QPen(theme.text, 1.2));
    painter.drawLine(QPointF(chosen, plot.top() - 2), QPointF(chosen, plot.bottom()));
  }
  gestures_.PaintBrushed(painter, plot, theme);
}

void AllocationsCanvas::PaintFrames(QPainter& painter, const QRectF& plot, const Theme& theme) {
  const auto frame = [&](std::size_t row, const QColor& color, double width) {
    auto rect = RectOf(data_->index->id(row));
    if (!rect.has_value()) return;
    // The frame of even the smallest allocation is visible.
    if (rect->width() < 4) rect->adjust(-2, 0, 2, 0);
    if (rect->height() < 4) rect->adjust(0, -2, 0, 2);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.surface, width + 2));
    painter.drawRect(*rect);
    painter.setPen(QPen(color, width));
    painter.drawRect(*rect);
  };
  painter.save();
  painter.setClipRect(plot.adjusted(-3, -3, 3, 3));
  if (const auto row = SelectedRow()) frame(*row, theme.text, 2);
  if (hover_.has_value()) frame(*hover_, theme.accent, 1.5);
  painter.restore();
}

}  // namespace memprof::viewer
