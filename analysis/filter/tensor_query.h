// A query that filters a table of tensors, blocks or driver allocations, as the user types it:
//
//     attn bytes>1MiB dtype:bf16,fp16 born:10..20 lifetime>2s alive -category:activations
//
// Terms are separated by blanks and must all hold; "-" before a term negates it.
//   word               in the tensor's name or in the place of the allocation
//   FIELD:TEXT         name, dtype, shape, category, layer, site: contains TEXT; = for exactly
//   FIELD:N, N..M      bytes, requested, born, freed, lifetime, stream, device, process: is N, or
//   FIELD>N, <, >=, <= from N to M (either may be left out)
//   A,B                either
//   alive, freed       when the log ended
// Sizes take B, KiB, MiB, GiB, TiB (or K, M, G, T) and KB, MB, GB, TB (powers of 1000); times ns,
// us, ms, s, min, h. born and freed are steps; with a unit they are times since the start of the
// log. Quotes keep blanks together. Letters of either case are the same.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::analysis {

// The fields of a row, in the order of the table's columns.
enum class TensorField : std::uint8_t {
  kName,
  kDtype,
  kShape,
  kCategory,
  kLayer,
  kBytes,
  kRequested,
  kBornStep,
  kBorn,  // time
  kFreedStep,
  kFreed,  // time
  kLifetime,
  kStream,
  kDevice,
  kProcess,
  kSite,
};
inline constexpr std::size_t kTensorFieldCount = 16;
// The names used in queries: "name", …; a step and its time share a name.
std::string_view TensorFieldName(TensorField field);
// Whether it is compared as text, not as a number.
bool IsTextField(TensorField field);

struct NumberRange {
  std::uint64_t low = 0, high = std::numeric_limits<std::uint64_t>::max();  // both included
  bool operator==(const NumberRange&) const = default;
};

// One term.
struct TensorCondition {
  enum class Kind { kText, kNumber, kAnywhere, kAlive };
  Kind kind = Kind::kText;
  TensorField field = TensorField::kName;
  bool negated = false;
  bool exact = false;               // of texts: equal, not only contained
  std::vector<std::string> texts;   // in lower case; one of them must match
  std::vector<NumberRange> ranges;  // one of them must match
  bool operator==(const TensorCondition&) const = default;
};

struct TensorQuery {
  std::vector<TensorCondition> conditions;  // all must hold; none = everything
  bool operator==(const TensorQuery&) const = default;
};

// Errors: kInvalidArgument with one line that names what was not understood and what is possible.
absl::StatusOr<TensorQuery> ParseTensorQuery(std::string_view text);

// The text as one term of a query, quoted if necessary.
std::string QuoteForQuery(std::string_view text);

}  // namespace memprof::analysis
