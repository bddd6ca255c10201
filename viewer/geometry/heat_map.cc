// Which cell each pixel of a matrix shows.
#include "viewer/geometry/heat_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

namespace memprof::viewer {
namespace {

constexpr double kNoMedian = std::numeric_limits<double>::quiet_NaN();

double MiddleOf(std::vector<double>& values) {
  if (values.empty()) return kNoMedian;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

// work(begin, end) for parts of [0, size), on as many threads as the work is worth.
template <typename Work>
void InParts(std::size_t size, std::size_t steps, const Work& work) {
  constexpr std::size_t kWorthAThread = 1 << 20, kMost = 8;
  const std::size_t threads = std::clamp<std::size_t>(
      steps / kWorthAThread, 1,
      std::min(kMost, std::max<std::size_t>(1, std::thread::hardware_concurrency())));
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i)
    others.emplace_back(
        [&work, size, threads, i] { work(size * i / threads, size * (i + 1) / threads); });
  work(0, size / threads);
}

// The line of pixels of some rows.
void FillLine(const HeatCells& cells, HeatRange rows, std::span<const HeatRange> ranges,
              std::span<double> farthest, std::int64_t* line) {
  std::fill(farthest.begin(), farthest.end(), -1.0);
  std::fill_n(line, ranges.size(), kNoCell);
  for (std::size_t shown = rows.begin; shown < rows.end; ++shown) {
    const std::size_t row = cells.order[shown];
    const double* values = &cells.values[row * cells.columns];
    const double* medians = &cells.medians[cells.groups[row] * cells.columns];
    for (std::size_t x = 0; x < ranges.size(); ++x) {
      for (std::size_t column = ranges[x].begin; column < ranges[x].end; ++column) {
        const double distance = std::abs(values[column] - medians[column]);
        if (distance > farthest[x]) {  // never true of NaN
          farthest[x] = distance;
          line[x] = static_cast<std::int64_t>(row * cells.columns + column);
        }
      }
    }
  }
}

}  // namespace

std::vector<double> GroupMedians(std::span<const double> values,
                                 std::span<const std::uint32_t> groups, std::size_t group_count,
                                 std::size_t columns) {
  std::vector<double> medians(group_count * columns, kNoMedian);
  std::vector<std::vector<std::uint32_t>> rows(group_count);
  for (std::size_t row = 0; row < groups.size(); ++row)
    rows[groups[row]].push_back(static_cast<std::uint32_t>(row));
  // Some columns at a time, so that each line of the processor's cache is read once.
  constexpr std::size_t kBlock = 32;
  const std::size_t blocks = (columns + kBlock - 1) / kBlock;
  InParts(blocks, values.size(), [&](std::size_t begin, std::size_t end) {
    std::vector<std::vector<double>> taken(kBlock);
    for (std::size_t block = begin; block < end; ++block) {
      const std::size_t first = block * kBlock, last = std::min(columns, first + kBlock);
      for (std::size_t group = 0; group < group_count; ++group) {
        for (std::vector<double>& column : taken) column.clear();
        for (const std::size_t row : rows[group]) {
          for (std::size_t column = first; column < last; ++column) {
            const double value = values[row * columns + column];
            if (!std::isnan(value)) taken[column - first].push_back(value);
          }
        }
        for (std::size_t column = first; column < last; ++column)
          medians[group * columns + column] = MiddleOf(taken[column - first]);
      }
    }
  });
  return medians;
}

HeatRange AtPixel(std::size_t begin, std::size_t end, int pixel, int pixels) {
  const std::size_t size = end - begin;
  const auto at = [&](int i) {
    return begin + size * static_cast<std::size_t>(i) / static_cast<std::size_t>(pixels);
  };
  const std::size_t first = at(pixel);
  return {first, std::max(first + 1, at(pixel + 1))};
}

std::vector<std::int64_t> CellsOfPixels(const HeatCells& cells, const HeatView& view, int width,
                                        int height, const std::stop_token& stop) {
  if (view.empty() || width <= 0 || height <= 0) return {};
  std::vector<std::int64_t> pixels(
      static_cast<std::size_t>(width) * static_cast<std::size_t>(height), kNoCell);
  std::vector<HeatRange> ranges;
  for (int x = 0; x < width; ++x)
    ranges.push_back(AtPixel(view.column_begin, view.column_end, x, width));
  const std::size_t lines = static_cast<std::size_t>(height);
  const std::size_t steps = std::max(lines, view.row_end - view.row_begin) *
                            std::max(ranges.size(), view.column_end - view.column_begin);
  InParts(lines, steps, [&](std::size_t begin, std::size_t end) {
    std::vector<double> farthest(ranges.size());
    for (std::size_t y = begin; y < end && !stop.stop_requested(); ++y)
      FillLine(cells, AtPixel(view.row_begin, view.row_end, static_cast<int>(y), height), ranges,
               farthest, &pixels[y * ranges.size()]);
  });
  return pixels;
}

HeatRange ZoomRange(HeatRange range, double share, double factor, std::size_t size) {
  const double wide = static_cast<double>(range.end - range.begin);
  double wanted = std::round(wide * factor);
  // Narrow views change by at least one cell.
  if (wanted == wide && factor != 1) wanted += factor < 1 ? -1 : 1;
  const double kept = std::clamp(wanted, 1.0, static_cast<double>(size));
  const double begin =
      std::clamp(std::round(static_cast<double>(range.begin) + (wide - kept) * share), 0.0,
                 static_cast<double>(size) - kept);
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(begin + kept)};
}

HeatRange MoveRange(HeatRange range, std::ptrdiff_t cells, std::size_t size) {
  const std::ptrdiff_t wide = static_cast<std::ptrdiff_t>(range.end - range.begin);
  const std::ptrdiff_t begin =
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(range.begin) + cells, 0,
                                 static_cast<std::ptrdiff_t>(size) - wide);
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(begin + wide)};
}

}  // namespace memprof::viewer
