// Small helpers for painting text that never overlaps or runs out of its box.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QRectF>
#include <QString>

namespace memprof::viewer {

// Draws text elided to the box; nothing where not even a few letters fit. Returns its width.
inline double DrawElided(QPainter& painter, const QRectF& box, int flags, const QString& text,
                         Qt::TextElideMode mode = Qt::ElideRight) {
  const QFontMetricsF metrics(painter.font());
  if (box.width() < metrics.averageCharWidth() * 3) return 0;
  const QString shown = metrics.elidedText(text, mode, box.width());
  painter.drawText(box, flags | Qt::TextSingleLine, shown);
  return metrics.horizontalAdvance(shown);
}

inline double TextWidth(const QFont& font, const QString& text) {
  return QFontMetricsF(font).horizontalAdvance(text);
}

}  // namespace memprof::viewer
