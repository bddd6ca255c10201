// Words for sizes, times and counts.
#include "analysis/base/units.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace memprof::analysis {
namespace {

// Three significant digits, never in scientific notation.
std::string ThreeDigits(double value, const char* unit) {
  char text[64];
  const double magnitude = std::fabs(value);
  const int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

}  // namespace

std::string FormatBytes(double bytes) {
  static constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (unit + 1 < kUnits.size() && std::fabs(bytes) >= 1023.5) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) {
    char text[32];
    const bool whole = bytes == std::floor(bytes);
    std::snprintf(text, sizeof text, "%.*f B", whole ? 0 : 1, bytes);
    return text;
  }
  return ThreeDigits(bytes, kUnits[unit]);
}

std::string FormatDuration(TimeNs ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1000) return std::to_string(ns) + " ns";
  if (value < 999.5e3) return ThreeDigits(value / 1e3, "us");
  if (value < 999.5e6) return ThreeDigits(value / 1e6, "ms");
  const std::uint64_t seconds = ns / 1'000'000'000 + (ns % 1'000'000'000 >= 500'000'000);
  if (seconds < 100) return ThreeDigits(value / 1e9, "s");
  char text[64];
  if (seconds < 3600) {
    std::snprintf(text, sizeof text, "%u min %02u s", static_cast<unsigned>(seconds / 60),
                  static_cast<unsigned>(seconds % 60));
  } else {
    std::snprintf(text, sizeof text, "%llu h %02u min",
                  static_cast<unsigned long long>(seconds / 3600),
                  static_cast<unsigned>(seconds / 60 % 60));
  }
  return text;
}

std::string FormatCount(std::uint64_t count) {
  std::string digits = std::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string FormatNumberOf(std::uint64_t count, std::string_view noun, std::string_view plural) {
  std::string text = FormatCount(count) + " ";
  if (count == 1) return text.append(noun);
  return plural.empty() ? text.append(noun).append("s") : text.append(plural);
}

}  // namespace memprof::analysis
