// Cuts names to a width such that their distinguishing part stays. Pure; thread-safe.
#pragma once

#include <QString>
#include <QStringList>
#include <functional>

namespace memprof::viewer {

// The width of a text when drawn.
using TextMeasure = std::function<double(const QString&)>;

// "Spar…forward (block_05.py:165)". A call site keeps its place, without the function if the place
// takes most of the width; a place keeps its end. A site in a package ("main (train.py:9), in
// forward (gpt2.py:123)") keeps the user's line first. Other texts keep both ends.
QString ElideName(const QString& text, double width, const TextMeasure& measure);

// The same for texts that are displayed together: different ones stay different, as long as there
// is space for the characters in which they differ.
QStringList ElideApart(const QStringList& texts, double width, const TextMeasure& measure);

}  // namespace memprof::viewer
