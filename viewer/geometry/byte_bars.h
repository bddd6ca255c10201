// Bars of bytes to one scale, each of several parts. Pure; thread-safe.
#pragma once

#include <QRectF>
#include <QString>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::viewer {

// What a part means, hence how it is filled.
enum class PartStyle {
  kCategorical,  // the colour `index` of the palette
  kHole,         // free, but inside something: hatched
  kFree,         // free for anybody: empty
  kUnknown,      // used by nobody knows whom
  kAccent,
  kDanger,
  kGood,
};

struct ByteBarPart {
  QString name;
  std::uint64_t bytes = 0;
  PartStyle style = PartStyle::kCategorical;
  int index = -1;
  QString tip;             // shown for the part; the name with its bytes where it is empty
  analysis::StackId site;  // what a click selects
};

struct ByteBar {
  QString label, value;  // left and right of it
  std::vector<ByteBarPart> parts;

  std::uint64_t bytes() const;
};

// The most that any of the bars holds; at least 1.
std::uint64_t LargestBar(std::span<const ByteBar> bars);

// Where the parts of one bar lie in `area`, left to right; `whole` bytes are all of its width. A
// part with any bytes is at least `least` wide, which the widest part pays for.
std::vector<QRectF> LayOutParts(const ByteBar& bar, const QRectF& area, std::uint64_t whole,
                                double least);

// The largest `most` parts of `parts` (largest first); the rest as one part called `others`.
std::vector<ByteBarPart> TopParts(std::vector<ByteBarPart> parts, std::size_t most,
                                  const QString& others);

}  // namespace memprof::viewer
