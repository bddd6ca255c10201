// Sizes, times, shares and counts as text, for reports and the viewer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analysis/base/types.h"

namespace memprof::analysis {

// "512 B", "4.00 KiB", "1.23 GiB": three significant digits, binary units.
std::string FormatBytes(double bytes);
inline std::string FormatBytes(std::uint64_t bytes) {
  return FormatBytes(static_cast<double>(bytes));
}

// Signed, for slopes: "+1.25 MiB", "-3.00 KiB", "0 B".
std::string FormatSignedBytes(double bytes);

// The exact text of a multiple of `step`, a power of two: "0", "1.125 GiB", "8 MiB". For axes.
std::string FormatByteTick(double value, double step);

// Share in [0, 1]: "42 %", "0.3 %", "<0.1 %".
std::string FormatPercent(double share);

// "850 ns", "1.20 ms", "12.3 s", "2 min 05 s", "1 h 02 min".
std::string FormatDuration(TimeNs ns);

// A time since the start of the log, with the digits that a resolution of `step` ns needs.
std::string FormatInstant(TimeNs since_start, TimeNs step);

// "1,234,567".
std::string FormatCount(std::uint64_t count);

// "1 step", "3 steps"; irregular plurals are given whole.
std::string FormatNumberOf(std::uint64_t count, std::string_view noun,
                           std::string_view plural = {});

}  // namespace memprof::analysis
