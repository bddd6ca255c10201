// Reads numbers with units.
#include "analysis/base/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "analysis/base/text.h"

namespace memprof::analysis {
namespace {

using Kind = Quantity::Kind;

struct Scale {
  Kind kind = Kind::kNumber;
  std::uint64_t factor = 1;
};

struct TimeUnit {
  std::string_view name;
  TimeNs ns;
};
constexpr std::array<TimeUnit, 9> kTimeUnits = {{
    {"ns", 1},
    {"us", 1000},
    {"\xc2\xb5s", 1000},  // U+00B5, micro sign
    {"\xce\xbcs", 1000},  // U+03BC, Greek mu
    {"ms", 1'000'000},
    {"s", 1'000'000'000},
    {"sec", 1'000'000'000},
    {"min", 60'000'000'000},
    {"h", 3'600'000'000'000},
}};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> FactorOfSize(std::string_view unit) {
  constexpr std::string_view kPrefixes = "bkmgtpe";
  const std::size_t power = kPrefixes.find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = unit.substr(1);
  if (power == 0) return rest.empty() ? std::optional<std::uint64_t>(1) : std::nullopt;
  if (rest == "ib" || (rest.empty() && unit != "e")) return std::uint64_t{1} << (10 * power);
  if (rest != "b") return std::nullopt;
  std::uint64_t factor = 1;
  for (std::size_t i = 0; i < power; ++i) factor *= 1000;
  return factor;
}

std::optional<Scale> ParseUnit(std::string_view text) {
  if (text.empty()) return Scale();
  std::string unit(text);
  for (char& c : unit)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const TimeUnit& time : kTimeUnits)
    if (time.name == unit) return Scale{Kind::kTime, time.ns};
  if (const auto factor = FactorOfSize(unit)) return Scale{Kind::kSize, *factor};
  return std::nullopt;
}

// The text for an error message: only its beginning, because it may be a whole file.
std::string Quoted(std::string_view text) {
  return "'" + std::string(text.substr(0, 60)) + (text.size() > 60 ? "…'" : "'");
}

}  // namespace

std::optional<Quantity> ParseQuantity(std::string_view text) {
  text = Trim(text);
  // No sign, no "inf", no "nan".
  if (text.empty() || !(IsDigit(text[0]) || text[0] == '.')) return std::nullopt;
  const char* const end = text.data() + text.size();
  double number = 0;
  const auto real = std::from_chars(text.data(), end, number);
  if (real.ec != std::errc() || !std::isfinite(number)) return std::nullopt;
  const auto unit = ParseUnit(Trim({real.ptr, static_cast<std::size_t>(end - real.ptr)}));
  if (!unit) return std::nullopt;
  Quantity quantity{unit->kind, 0, number * static_cast<double>(unit->factor)};
  std::uint64_t whole = 0;
  const auto integer = std::from_chars(text.data(), end, whole);
  if (integer.ec == std::errc() && integer.ptr == real.ptr) {
    if (whole > ~std::uint64_t{0} / unit->factor) return std::nullopt;
    quantity.value = whole * unit->factor;
    return quantity;
  }
  if (quantity.exact >= 0x1p64) return std::nullopt;
  quantity.value = static_cast<std::uint64_t>(std::round(quantity.exact));
  return quantity;
}

absl::StatusOr<std::uint64_t> ParseSize(std::string_view text) {
  const auto quantity = ParseQuantity(text);
  constexpr std::uint64_t kMax = std::uint64_t{1} << 62;
  if (!quantity || quantity->kind == Kind::kTime || quantity->value > kMax)
    return absl::InvalidArgumentError(
        Quoted(text) + " is no size; sizes are bytes, or have a unit as in 64MiB, 1.5GiB or 80GB");
  return quantity->value;
}

absl::StatusOr<TimeNs> ParseTime(std::string_view text, TimeNs plain) {
  const auto quantity = ParseQuantity(text);
  const bool number = quantity && quantity->kind == Kind::kNumber;
  const double ns = !quantity ? 0 : quantity->exact * (number ? static_cast<double>(plain) : 1);
  if (!quantity || quantity->kind == Kind::kSize || ns >= 0x1p64)
    return absl::InvalidArgumentError(Quoted(text) +
                                      " is no time; times have a unit as in 500ms, 1.5s or 2h");
  if (!number) return quantity->value;
  return static_cast<TimeNs>(std::round(ns));
}

}  // namespace memprof::analysis
