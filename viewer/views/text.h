// Text helpers: painting within a box without overlaps, and paragraphs for labels.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QRectF>
#include <QString>

#include "viewer/views/theme.h"

namespace memprof::viewer {

// Draws text elided to the box; nothing if not even a few characters fit. Returns its width.
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

// Rich and plain text after a muted caption; empty for no text.
inline QString RichParagraph(const Theme& theme, const QString& caption, const QString& html) {
  if (html.isEmpty()) return {};
  return QStringLiteral("<p style='margin:0 0 6px 0'><span style='color:%1'>%2</span> %3</p>")
      .arg(theme.muted.name(), caption, html);
}
inline QString Paragraph(const Theme& theme, const QString& caption, const QString& text) {
  return RichParagraph(theme, caption, text.toHtmlEscaped());
}

}  // namespace memprof::viewer
