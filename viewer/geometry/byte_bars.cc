// Bars of bytes to one scale, each of several parts.
#include "viewer/geometry/byte_bars.h"

#include <algorithm>
#include <utility>

namespace memprof::viewer {

std::uint64_t ByteBar::bytes() const {
  std::uint64_t sum = 0;
  for (const ByteBarPart& part : parts) sum += part.bytes;
  return sum;
}

std::uint64_t LargestBar(std::span<const ByteBar> bars) {
  std::uint64_t largest = 1;
  for (const ByteBar& bar : bars) largest = std::max(largest, bar.bytes());
  return largest;
}

std::vector<QRectF> LayOutParts(const ByteBar& bar, const QRectF& area, std::uint64_t whole,
                                double least) {
  std::vector<double> widths;
  double added = 0;
  for (const ByteBarPart& part : bar.parts) {
    const double exact =
        area.width() * static_cast<double>(part.bytes) / static_cast<double>(whole);
    const double width = part.bytes > 0 ? std::max(exact, least) : 0;
    added += width - exact;
    widths.push_back(width);
  }
  const auto widest = std::max_element(widths.begin(), widths.end());
  if (widest != widths.end()) *widest = std::max(*widest - added, std::min(*widest, least));
  std::vector<QRectF> rects;
  double x = area.left();
  for (const double width : widths) {
    rects.emplace_back(x, area.top(), width, area.height());
    x += width;
  }
  return rects;
}

std::vector<ByteBarPart> TopParts(std::vector<ByteBarPart> parts, std::size_t most,
                                  const QString& others) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const ByteBarPart& a, const ByteBarPart& b) { return a.bytes > b.bytes; });
  std::erase_if(parts, [](const ByteBarPart& part) { return part.bytes == 0; });
  if (parts.size() > most) {
    ByteBarPart rest;
    rest.name = others.arg(parts.size() - most);
    for (std::size_t i = most; i < parts.size(); ++i) rest.bytes += parts[i].bytes;
    parts.resize(most);
    parts.push_back(std::move(rest));
  }
  for (std::size_t i = 0; i < std::min(parts.size(), most); ++i)
    if (parts[i].style == PartStyle::kCategorical) parts[i].index = static_cast<int>(i);
  return parts;
}

}  // namespace memprof::viewer
