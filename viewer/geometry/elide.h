// Names cut to a width so that what tells them apart stays. Pure; thread-safe.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>

namespace memprof::viewer {

// The width of a text as it will be drawn.
using TextMeasure = std::function<double(const QString&)>;

// "Spar…forward (block_05.py:165)": of a call site the place stays, without the function where it
// takes most of the width, and of the place its end; of a site in a package ("main (train.py:9), in
// forward (gpt2.py:123)") first of all the user's line; of anything else both ends.
QString ElideName(const QString& text, double width, const TextMeasure& measure);

// The same of several that are read together: no two different ones read alike, as long as there is
// room for the letters in which they differ.
QStringList ElideApart(const QStringList& texts, double width, const TextMeasure& measure);

}  // namespace memprof::viewer
