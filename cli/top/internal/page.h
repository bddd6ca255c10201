// What `memprof top` shows, and the page of text that shows it: a pure function of these structs
// and of the terminal's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/base/types.h"
#include "cli/console/json.h"
#include "cli/live/process.h"

namespace memprof::cli {

enum class TopSort { kRank, kUsed, kGrowth, kOom };
inline constexpr TopSort kTopSorts[] = {TopSort::kRank, TopSort::kUsed, TopSort::kGrowth,
                                        TopSort::kOom};
std::string_view TopSortName(TopSort sort);  // "rank", "used", "growth", "oom"

struct TopPage : LiveReading {
  analysis::TimeNs every = 0;  // 0 = once
  TopSort sort = TopSort::kRank;
};

// A line of the table: a device of a process, or a process without any (null).
struct TopRow {
  const LiveProcess* process = nullptr;
  const LiveDevice* device = nullptr;

  // For finding it again on a later page.
  std::string key() const;
};
std::vector<TopRow> RowsOf(const TopPage& page);

// Lines without their newlines, at most `width` columns each. `height` 0: as many as it takes.
// `chosen`: the row of which there are details.
std::vector<std::string> PageLines(const TopPage& page, std::size_t chosen, std::size_t width,
                                   std::size_t height);
Json TopJson(const TopPage& page);

// `rows` lines of `columns`: filled up to the least of each column, shaded up to its most. `base`
// is the value below the first line, `top` that above the last.
std::vector<std::string> ChartLines(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& curve, std::uint64_t base,
    std::uint64_t top, std::size_t columns, std::size_t rows);

}  // namespace memprof::cli
