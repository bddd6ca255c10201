// Sentences of the analysis as the window shows them. They are written for a terminal: names are
// between backticks, and what to do next is a command. Pure; thread-safe.
#pragma once

#include <QObject>
#include <QString>
#include <string_view>

namespace memprof::viewer {

// The tr() of code that is in no class of Qt's.
inline QString Tr(const char* text) { return QObject::tr(text); }
// With a capital at the begin.
QString Capitalised(QString words);
// For plain text: without backticks, with the view in place of a command that prints the same.
QString Words(std::string_view text);
// The same as rich text: escaped, names and commands in a font for code.
QString WordsHtml(std::string_view text);
// With a no-break space between each number and its unit: for texts that are wrapped.
QString WithUnits(QString text);

}  // namespace memprof::viewer
