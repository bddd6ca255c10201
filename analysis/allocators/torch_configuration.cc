// Reads PYTORCH_CUDA_ALLOC_CONF.
#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "analysis/allocators/internal/spec_options.h"

namespace memprof::analysis::allocators {
namespace {

// "[256:1,512:2,>:8]": each key, a power of two of MiB, sets its own row; rows below the first key
// get its value, rows beyond the last one that of ">", all others stay as they are.
absl::Status SetTorchRoundup(std::string_view value, CachingOptions* options) {
  const auto bad = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("roundup_power2_divisions: '", View(value), "' is not understood"));
  };
  std::uint32_t parts = 0;
  if (value.empty() || value.front() != '[') {
    if (!absl::SimpleAtoi(View(value), &parts)) return bad();
    options->roundup_power2.fill(parts);
    return absl::OkStatus();
  }
  auto& rows = options->roundup_power2;
  std::size_t next = 0;  // row after the last key
  const absl::string_view list = absl::StripSuffix(View(value.substr(1)), "]");
  for (const absl::string_view entry : absl::StrSplit(list, ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(entry, absl::MaxSplits(':', 1));
    if (!absl::SimpleAtoi(pair.second, &parts)) return bad();
    if (absl::StripAsciiWhitespace(pair.first) == ">") {
      std::fill(rows.begin() + static_cast<std::ptrdiff_t>(next), rows.end(), parts);
      continue;
    }
    std::uint64_t mebibytes = 0;
    if (!absl::SimpleAtoi(pair.first, &mebibytes) || mebibytes == 0) return bad();
    const auto row = std::min<std::size_t>(rows.size() - 1,
                                           static_cast<std::size_t>(std::bit_width(mebibytes)) - 1);
    if (next == 0) std::fill_n(rows.begin(), row, parts);
    rows[row] = parts;
    next = row + 1;
  }
  return absl::OkStatus();
}

absl::Status SetTorchOption(std::string_view key, std::string_view value, AllocatorSpec* spec) {
  const auto mebibytes = [&](std::uint64_t* field) {
    std::uint64_t number = 0;
    if (!absl::SimpleAtoi(View(value), &number) || number > (kMaxRequest >> 20)) {
      return absl::InvalidArgumentError(
          absl::StrCat(View(key), ": '", View(value), "' is no number of MiB"));
    }
    *field = number << 20;
    return absl::OkStatus();
  };
  if (key == "max_split_size_mb") return mebibytes(&spec->caching.max_split);
  if (key == "max_non_split_rounding_mb") return mebibytes(&spec->caching.max_non_split_rounding);
  if (key == "roundup_power2_divisions") return SetTorchRoundup(value, &spec->caching);
  if (key == "garbage_collection_threshold") return SetGarbageThreshold(value, spec);
  if (key == "expandable_segments") {
    if (absl::SimpleAtob(View(value), &spec->caching.expandable)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("'", View(value), "' is neither true nor false"));
  }
  if (key == "backend" && value == "cudaMallocAsync") spec->kind = AllocatorKind::kPool;
  return absl::OkStatus();
}

}  // namespace

absl::Status SetGarbageThreshold(std::string_view value, AllocatorSpec* spec) {
  double share = 0;
  if (!absl::SimpleAtod(View(value), &share) || !(share > 0 && share < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("'", View(value), "' is not between 0 and 1"));
  }
  spec->caching.gc_threshold = share;
  return absl::OkStatus();
}

absl::StatusOr<AllocatorSpec> ParseTorchConfiguration(std::string_view text) {
  AllocatorSpec spec;
  std::size_t at = 0;
  while (at < text.size()) {
    // A comma ends an option, but not within brackets.
    std::size_t end = at;
    for (bool inside = false; end < text.size() && (inside || text[end] != ','); ++end) {
      if (text[end] == '[') inside = true;
      if (text[end] == ']') inside = false;
    }
    const std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(View(text.substr(at, end - at)), absl::MaxSplits(':', 1));
    const absl::Status set =
        SetTorchOption(StdView(absl::StripAsciiWhitespace(option.first)),
                       StdView(absl::StripAsciiWhitespace(option.second)), &spec);
    if (!set.ok()) return set;
    at = end + 1;
  }
  if (spec.kind == AllocatorKind::kPool) spec.caching = CachingOptions();
  return spec;
}

}  // namespace memprof::analysis::allocators
