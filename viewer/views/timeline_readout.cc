// The box beside the mouse.
#include "viewer/views/timeline_readout.h"

#include <QFontMetricsF>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {

void PaintReadout(QPainter& painter, const QRectF& plot, double x, const QString& title,
                  const TimelineBands& bands, std::span<const std::uint64_t> bytes, int hovered,
                  const Theme& theme) {
  const QFontMetricsF metrics(painter.font());
  const double row = metrics.height() + 2, swatch = 16;
  double names = metrics.horizontalAdvance(QStringLiteral("Total"));
  double numbers = 0;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    names = std::max(names, metrics.horizontalAdvance(bands.bands[i].name) + 2);
    numbers = std::max(numbers, metrics.horizontalAdvance(FormatBytes(bytes[i])));
    total += bytes[i];
  }
  numbers = std::max(numbers, metrics.horizontalAdvance(FormatBytes(total))) + 2;
  names = std::min(names, std::max(60.0, plot.width() * 0.45 - numbers - swatch - 4 * kSpace));
  const double width =
      std::max(swatch + names + 2 * kSpace + numbers, metrics.horizontalAdvance(title) + 2) +
      2 * kSpace;
  const double height = row * static_cast<double>(bytes.size() + 2) + 2 * kSpace;
  double left = x + 14;
  if (left + width > plot.right()) left = x - 14 - width;
  const QRectF box(std::max(left, plot.left()), plot.top() + kSpace, width, height);
  painter.setPen(theme.border);
  painter.setBrush(theme.surface);
  painter.drawRoundedRect(box, 5, 5);
  double y = box.top() + kSpace;
  const auto line = [&](const QString& name, const QString& value) {
    painter.setPen(theme.text);
    DrawElided(painter, QRectF(box.left() + kSpace + swatch, y, names, row),
               Qt::AlignLeft | Qt::AlignVCenter, name, Qt::ElideMiddle);
    painter.drawText(QRectF(box.right() - kSpace - numbers, y, numbers, row),
                     Qt::AlignRight | Qt::AlignVCenter, value);
    y += row;
  };
  painter.setPen(theme.muted);
  painter.drawText(QRectF(box.left() + kSpace, y, width, row), Qt::AlignLeft | Qt::AlignVCenter,
                   title);
  y += row;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    if (static_cast<int>(i) == hovered)
      painter.fillRect(QRectF(box.left() + 1, y, box.width() - 2, row), theme.border);
    FillBand(painter, QPolygonF(QRectF(box.left() + kSpace, y + row / 2 - 5, 10, 10)),
             FillOf(bands.bands[i], theme));
    line(bands.bands[i].name, FormatBytes(bytes[i]));
  }
  line(QStringLiteral("Total"), FormatBytes(total));
}

}  // namespace memprof::viewer
