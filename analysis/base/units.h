// Sizes and times in words, the same wherever memprof speaks.
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

// "850 ns", "1.20 ms", "12.3 s", "2 min 05 s", "1 h 02 min".
std::string FormatDuration(TimeNs ns);

// "1,234,567".
std::string FormatCount(std::uint64_t count);

// "1 step", "3 steps"; irregular plurals are given whole.
std::string FormatNumberOf(std::uint64_t count, std::string_view noun,
                           std::string_view plural = {});

}  // namespace memprof::analysis
