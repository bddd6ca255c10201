// Reads units of bytes.
#include "analysis/base/byte_units.h"

#include <cmath>
#include <string>

namespace memprof::analysis {

std::optional<double> BytesOf(std::string_view unit) {
  if (unit.empty()) return 1;
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  static constexpr std::string_view kPrefixes = "bkmgt";
  const std::size_t power = kPrefixes.find(lower(unit[0]));
  if (power == std::string_view::npos) return std::nullopt;
  std::string rest;
  for (const char c : unit.substr(1)) rest += lower(c);
  if (rest.empty() || (rest == "ib" && power > 0)) return std::pow(1024.0, power);
  return rest == "b" && power > 0 ? std::optional(std::pow(1000.0, power)) : std::nullopt;
}

}  // namespace memprof::analysis
