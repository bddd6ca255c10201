// Text of strangers, from logs, links and other machines, for one line of a window or a terminal.
#pragma once

#include <QString>

namespace memprof::viewer {

// With "?" for what breaks a line, moves a cursor or turns text around; at most `longest`
// characters.
inline QString PlainLine(const QString& text, qsizetype longest) {
  QString line = text.left(longest);
  for (QChar& c : line)
    if (!c.isPrint()) c = QLatin1Char('?');
  if (text.size() > longest) line.back() = QChar(0x2026);  // …
  return line;
}

}  // namespace memprof::viewer
