// Curves in characters.
#include <algorithm>
#include <cmath>

#include "cli/top/internal/page.h"

namespace memprof::cli {
namespace {

constexpr std::string_view kEighths[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// `least` and `most` are in lines above this one's foot.
std::string_view Cell(double least, double most) {
  if (least >= 1) return kEighths[8];
  if (least > 0) return kEighths[std::clamp<int>(static_cast<int>(std::ceil(least * 8)), 1, 8)];
  return most > 0.5 ? "░" : most > 0 ? "▁" : " ";
}

}  // namespace

std::vector<std::string> ChartLines(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& curve, std::uint64_t base,
    std::uint64_t top, std::size_t columns, std::size_t rows) {
  std::vector<std::string> lines(rows);
  if (curve.empty() || top <= base) return lines;
  const auto height = [&](std::uint64_t value) {
    return value <= base ? 0
                         : static_cast<double>(value - base) * static_cast<double>(rows) /
                               static_cast<double>(top - base);
  };
  for (std::size_t column = 0; column < columns; ++column) {
    const std::size_t begin = column * curve.size() / columns;
    const std::size_t end = std::max(begin + 1, (column + 1) * curve.size() / columns);
    double least = height(curve[begin].first), most = height(curve[begin].second);
    for (std::size_t i = begin; i < end; ++i) {
      least = std::min(least, height(curve[i].first));
      most = std::max(most, height(curve[i].second));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const auto foot = static_cast<double>(rows - 1 - row);
      lines[row] += Cell(least - foot, most - foot);
    }
  }
  return lines;
}

}  // namespace memprof::cli
