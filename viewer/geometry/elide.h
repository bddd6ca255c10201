// Names cut to a width so that what tells them apart stays. Pure; thread-safe.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>

namespace memprof::viewer {

// The width of a text as it will be drawn.
using TextMeasure = std::function<double(const QString&)>;

// "Spar…forward (block_05.py:165)": of a call site the place stays as long as it may take most of
// the width, and of the place its end; of anything else both ends.
QString ElideName(const QString& text, double width, const TextMeasure& measure);

// The same of several that are read together: no two different ones read alike, as long as there is
// room for the letters in which they differ.
QStringList ElideApart(const QStringList& texts, double width, const TextMeasure& measure);

}  // namespace memprof::viewer
