// A matrix of rows and columns as pixels: which cell each pixel shows. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

namespace memprof::viewer {

// The matrix row after row; NaN is no value. Rows of a group have a median at each column, and are
// shown in `order`.
struct HeatCells {
  std::span<const double> values;
  std::span<const double> medians;        // of group × columns
  std::span<const std::uint32_t> groups;  // of each row
  std::span<const std::uint32_t> order;   // the rows as they are shown, from above
  std::size_t columns = 0;
};

// The medians of groups at each column; NaN where no row of the group has a value.
std::vector<double> GroupMedians(std::span<const double> values,
                                 std::span<const std::uint32_t> groups, std::size_t group_count,
                                 std::size_t columns);

// A part of the picture, in shown rows and columns: [begin, end).
struct HeatView {
  std::size_t row_begin = 0, row_end = 0, column_begin = 0, column_end = 0;

  bool empty() const { return row_begin >= row_end || column_begin >= column_end; }
  bool operator==(const HeatView&) const = default;
};

// Which of [begin, end) a pixel of `pixels` shows: at least one. `pixel` is within [0, pixels).
struct HeatRange {
  std::size_t begin, end;
};
HeatRange AtPixel(std::size_t begin, std::size_t end, int pixel, int pixels);

inline constexpr std::int64_t kNoCell = -1;

// For each pixel, line by line, the index into `values` of the cell that it shows: where several
// share it, the one farthest from its group's median (of equals, the first), so that a single odd
// cell is seen at every zoom. kNoCell where none has a value, or once a stop is requested.
// O(cells of the view + pixels), on several threads.
std::vector<std::int64_t> CellsOfPixels(const HeatCells& cells, const HeatView& view, int width,
                                        int height, const std::stop_token& stop = {});

// The view after zooming one axis by `factor` (< 1 zooms in) with the place at `share` of it fixed,
// and after moving it by `cells`; within [0, size), at least one cell.
HeatRange ZoomRange(HeatRange range, double share, double factor, std::size_t size);
HeatRange MoveRange(HeatRange range, std::ptrdiff_t cells, std::size_t size);

}  // namespace memprof::viewer
