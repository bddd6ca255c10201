// Sizes and times as people write them: one grammar for every option, condition, query and field.
//
//   NUMBER [UNIT]   digits with an optional fraction or exponent; spaces may stand before the unit
//
// Units are read in any case. Sizes: KiB, MiB, GiB, TiB, PiB, EiB, and K to P alone, are powers of
// 1024; KB to EB are powers of 1000; B is bytes. Times: ns, us (or µs), ms, s (or sec), min, h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "analysis/base/types.h"

namespace memprof::analysis {

struct Quantity {
  enum class Kind : std::uint8_t { kNumber, kSize, kTime };  // kNumber: without a unit
  Kind kind = Kind::kNumber;
  std::uint64_t value = 0;  // bytes or ns, rounded; a whole number of units is exact
  double exact = 0;         // the same, not rounded
};

// None if `text` is no quantity, is negative or exceeds 64 bits.
std::optional<Quantity> ParseQuantity(std::string_view text);

// A size; a number without a unit is bytes. At most 2^62. Errors: kInvalidArgument, one line with
// the accepted forms.
absl::StatusOr<std::uint64_t> ParseSize(std::string_view text);

// A time; a number without a unit is multiplied by `plain`, in ns. Errors: kInvalidArgument, one
// line with the accepted forms.
absl::StatusOr<TimeNs> ParseTime(std::string_view text, TimeNs plain);

}  // namespace memprof::analysis
