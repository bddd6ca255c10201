// Words for sizes, times and counts.
#include "analysis/base/units.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace memprof::analysis {
namespace {

constexpr std::array kShownByteUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

struct ShownTimeUnit {
  const char* name;
  double ns;
};
constexpr std::array<ShownTimeUnit, 4> kShownTimeUnits = {
    {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};

std::string Fixed(double value, int decimals, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f %s", decimals, value, unit);
  return text;
}

// Three significant digits, never in scientific notation.
std::string ThreeDigits(double value, const char* unit) {
  const double magnitude = std::fabs(value);
  return Fixed(value, magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0, unit);
}

}  // namespace

std::string FormatBytes(double bytes) {
  std::size_t unit = 0;
  while (unit + 1 < kShownByteUnits.size() && std::fabs(bytes) >= 1023.5) {
    bytes /= 1024;
    ++unit;
  }
  if (unit == 0) return Fixed(bytes, bytes == std::floor(bytes) ? 0 : 1, kShownByteUnits[0]);
  return ThreeDigits(bytes, kShownByteUnits[unit]);
}

std::string FormatSignedBytes(double bytes) {
  if (std::fabs(bytes) < 0.5) return "0 B";
  return (bytes < 0 ? "-" : "+") + FormatBytes(std::fabs(bytes));
}

std::string FormatByteTick(double value, double step) {
  if (value <= 0) return "0";
  std::size_t unit = 0;
  while (unit + 1 < kShownByteUnits.size() && value >= 1024) {
    value /= 1024;
    step /= 1024;
    ++unit;
  }
  int decimals = 0;
  for (double part = step; part < 1 && part != std::floor(part) && decimals < 4; part *= 2)
    ++decimals;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  std::string digits = text;
  if (decimals > 0) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.ends_with('.')) digits.pop_back();
  }
  return digits + " " + kShownByteUnits[unit];
}

std::string FormatPercent(double share) {
  const double percent = share * 100;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  return Fixed(percent, percent < 9.95 && percent != 0 ? 1 : 0, "%");
}

std::string FormatDuration(TimeNs ns) {
  const double value = static_cast<double>(ns);
  const std::uint64_t seconds = ns / 1'000'000'000 + (ns % 1'000'000'000 >= 500'000'000);
  if (seconds < 100) {
    for (const ShownTimeUnit& unit : kShownTimeUnits)
      if (unit.ns > 1 && value >= 0.9995 * unit.ns) return ThreeDigits(value / unit.ns, unit.name);
    return std::to_string(ns) + " ns";
  }
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

std::string FormatInstant(TimeNs since_start, TimeNs step) {
  if (since_start == 0) return "0 s";
  // The largest unit in which the value is at least one.
  const double value = static_cast<double>(since_start);
  std::size_t unit = 0;
  while (unit + 1 < kShownTimeUnits.size() && value < kShownTimeUnits[unit].ns) ++unit;
  int decimals = 0;
  for (double s = static_cast<double>(step); s < kShownTimeUnits[unit].ns && decimals < 6; s *= 10)
    ++decimals;
  if (kShownTimeUnits[unit].ns == 1) decimals = 0;
  return Fixed(value / kShownTimeUnits[unit].ns, decimals, kShownTimeUnits[unit].name);
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
