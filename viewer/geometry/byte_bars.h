// Bars of bytes on one scale, each with several parts. Pure; thread-safe.
#pragma once

#include <QRectF>
#include <QString>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::viewer {

// The meaning of a part, which determines its fill.
enum class PartStyle {
  kCategorical,  // the colour `index` of the palette
  kHole,         // free, but within a segment: hatched
  kFree,         // free for any use: empty
  kUnknown,      // in use, by unknown owners
  kAccent,
  kDanger,
  kGood,
};

struct ByteBarPart {
  QString name;
  std::uint64_t bytes = 0;
  PartStyle style = PartStyle::kCategorical;
  int index = -1;
  QString tip;             // the tooltip; if empty, the name with the bytes
  analysis::StackId site;  // selected by a click
};

struct ByteBar {
  QString label, value;  // left and right of it
  std::vector<ByteBarPart> parts;

  std::uint64_t bytes() const;
};

// The bytes of the longest bar; at least 1.
std::uint64_t LargestBar(std::span<const ByteBar> bars);

// The rectangles of the parts of one bar in `area`, left to right; `whole` bytes are the full
// width. A part with bytes is at least `least` wide, at the expense of the widest part.
std::vector<QRectF> LayOutParts(const ByteBar& bar, const QRectF& area, std::uint64_t whole,
                                double least);

// The first `most` parts of `parts` (largest first), and the rest as one part called `others`.
std::vector<ByteBarPart> TopParts(std::vector<ByteBarPart> parts, std::size_t most,
                                  const QString& others);

}  // namespace memprof::viewer
