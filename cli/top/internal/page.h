// What `memprof top` shows, and the page of text that shows it: a pure function of these structs
// and of the terminal's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/base/types.h"
#include "cli/console/json.h"

namespace memprof::cli {

// A curve has at most so many points, each the least and the most in a time of this length: those
// of the last five minutes.
inline constexpr std::size_t kTopPoints = 960;
inline constexpr analysis::TimeNs kTopSlot = 312'500'000;
// The rate of steps is that of so many.
inline constexpr std::size_t kTopRecentSteps = 20;

// What grows. Of runs without steps, growth is bytes per second.
struct TopLeak {
  std::string tier;  // of analysis::LeakTierName
  int device = analysis::kNoDevice;
  bool in_use = false;
  double growth = 0;
  std::uint64_t bytes = 0;
  std::string site;
};

struct TopFailure {
  int device = analysis::kNoDevice;
  std::uint64_t bytes = 0;
  analysis::TimeNs time = 0;  // since the start, as all times here
  std::int64_t step = -1;
  bool recovered = false;
  std::string site;
};

struct TopPart {
  std::string name, key;
  std::uint64_t bytes = 0;
};

struct TopDevice {
  int device = analysis::kNoDevice;
  std::string name;
  std::uint64_t capacity = 0;  // 0 = unknown
  std::uint64_t used = 0;      // of the device, also by others; without samples of this program
  std::uint64_t allocated = 0, reserved = 0, peak = 0;
  double headroom = -1;     // -1 = unknown, here and below
  double growth = 0;        // of all leaks of the device
  std::string growth_tier;  // the most certain of them; "" = none
  double steps_to_oom = -1, seconds_to_oom = -1;
  std::vector<TopPart> categories, layers;  // largest first
  bool framework = false;                   // allocated, peak and curve are of its allocator
  std::vector<std::pair<std::uint64_t, std::uint64_t>> curve;
  std::uint64_t curve_end = 0;  // the number of its last slot since the start, + 1
};

enum class TopState { kRunning, kEnded, kKilled };
std::string_view TopStateName(TopState state);  // "running", "ended", "killed"

// One log.
struct TopProcess {
  std::string path, command, host, end_reason;
  std::uint32_t pid = 0;
  int rank = -1;
  TopState state = TopState::kRunning;
  std::uint64_t start_unix_ns = 0;
  analysis::TimeNs last_event = 0;
  analysis::TimeNs judged = 0;  // up to where growth, kinds of memory and failures are known
  std::int64_t step = -1;       // -1 = before the first, or no steps
  std::uint64_t steps = 0;      // completed
  double steps_per_second = 0;  // of the last ones; 0 = unknown
  std::string sampling;         // of a log that is always on: what it left out
  bool by_time = false;         // growth is judged by time: there are no steps
  bool too_short = false;       // for a sure judgement of growth
  bool simulated = false;
  std::vector<std::pair<std::string, std::uint64_t>> losses;  // anomalies, with their counts
  std::vector<TopDevice> devices;
  std::vector<TopLeak> leaks;  // worst first
  std::uint64_t failures = 0;
  std::optional<TopFailure> failure;  // the last one

  // Without a log that says how it ended, it runs until now.
  analysis::TimeNs Elapsed(std::uint64_t now_unix_ns) const;
};

enum class TopSort { kRank, kUsed, kGrowth, kOom };
inline constexpr TopSort kTopSorts[] = {TopSort::kRank, TopSort::kUsed, TopSort::kGrowth,
                                        TopSort::kOom};
std::string_view TopSortName(TopSort sort);  // "rank", "used", "growth", "oom"

struct TopPage {
  std::vector<TopProcess> processes;
  std::vector<std::string> errors;   // of logs that cannot be read
  analysis::TimeNs every = 0;        // 0 = once
  analysis::TimeNs whole_every = 0;  // how often growth is judged
  std::uint64_t now_unix_ns = 0;
  TopSort sort = TopSort::kRank;
};

// A line of the table: a device of a process, or a process without any (null).
struct TopRow {
  const TopProcess* process = nullptr;
  const TopDevice* device = nullptr;

  // For finding it again on a later page.
  std::string key() const;
};
std::vector<TopRow> RowsOf(const TopPage& page);

// Lines without their newlines, at most `width` columns each. `height` 0: as many as it takes.
// `chosen`: the row of which there are details.
std::vector<std::string> PageLines(const TopPage& page, std::size_t chosen, std::size_t width,
                                   std::size_t height);
Json TopJson(const TopPage& page);

// By the times at which steps began; 0 = unknown.
double TopStepRate(const std::vector<analysis::TimeNs>& begins);

// `rows` lines of `columns`: filled up to the least of each column, shaded up to its most. `base`
// is the value below the first line, `top` that above the last.
std::vector<std::string> ChartLines(
    const std::vector<std::pair<std::uint64_t, std::uint64_t>>& curve, std::uint64_t base,
    std::uint64_t top, std::size_t columns, std::size_t rows);

}  // namespace memprof::cli
