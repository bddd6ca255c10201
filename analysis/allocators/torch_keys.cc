// Keys and values of PyTorch's allocator settings.
#include "analysis/allocators/internal/torch_keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace memprof::analysis::allocators {
namespace {

// The first releases are those whose headers have the key's function or name; up to 2.2, which is
// the oldest that was read, a key counts as known.
constexpr std::array kKeys = std::to_array<TorchKey>({
    {"backend", 0, KeyScope::kBackend, KeyValue::kBackend},
    {"max_split_size_mb", 0, KeyScope::kNative, KeyValue::kSplit},
    {"max_non_split_rounding_mb", 206, KeyScope::kNative, KeyValue::kSplit},
    {"large_segment_size_mb", 211, KeyScope::kNative, KeyValue::kMebibytes},
    {"roundup_power2_divisions", 0, KeyScope::kNative, KeyValue::kDivisions},
    {"garbage_collection_threshold", 0, KeyScope::kNative, KeyValue::kShare},
    {"expandable_segments", 0, KeyScope::kNative, KeyValue::kBool},
    {"expandable_segments_reserve", 215, KeyScope::kNative, KeyValue::kAny},
    {"expandable_segments_reserve_by_class", 215, KeyScope::kNative, KeyValue::kAny},
    {"release_lock_on_cudamalloc", 0, KeyScope::kNative, KeyValue::kBool},
    {"release_lock_on_hipmalloc", 0, KeyScope::kNative, KeyValue::kBool},
    {"graph_capture_record_stream_reuse", 209, KeyScope::kNative, KeyValue::kBool},
    {"per_process_memory_fraction", 210, KeyScope::kNative, KeyValue::kAny},
    {"throw_on_cudamalloc_oom", 212, KeyScope::kNative, KeyValue::kBool},
    {"pinned_use_cuda_host_register", 0, KeyScope::kPinned, KeyValue::kBool},
    {"pinned_use_hip_host_register", 0, KeyScope::kPinned, KeyValue::kBool},
    {"pinned_num_register_threads", 0, KeyScope::kPinned, KeyValue::kThreads},
    {"pinned_use_background_threads", 206, KeyScope::kPinned, KeyValue::kBool},
    {"pinned_reserve_segment_size_mb", 210, KeyScope::kPinned, KeyValue::kMebibytes},
    {"pinned_free_catch_all", 212, KeyScope::kPinned, KeyValue::kBool},
    {"pinned_max_round_threshold_mb", 213, KeyScope::kPinned, KeyValue::kMebibytes},
    {"pinned_max_cached_size_mb", 213, KeyScope::kPinned, KeyValue::kMebibytes},
});

constexpr std::size_t kLongestKey = 48;

// Insertions, removals and replacements of one character that make `a` into `b`.
std::size_t Edits(std::string_view a, std::string_view b) {
  std::array<std::size_t, kLongestKey + 1> row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = row[0];  // of the row above, one column to the left
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, before + (a[i - 1] != b[j - 1])});
      before = above;
    }
  }
  return row[b.size()];
}

// "[256:1,512:2,>:8]", or one number.
std::string RefusedDivisions(std::string_view value) {
  const auto divisions = [](std::string_view text, bool zero) {
    std::uint64_t number = 0;
    return LeadingNumber(text, &number) && (std::has_single_bit(number) || (zero && number == 0));
  };
  if (!value.starts_with('['))
    return divisions(value, false) ? "" : "It must be a power of two, or a list in brackets.";
  if (!value.ends_with(']')) return "The closing bracket is missing.";
  value = value.substr(1, value.size() - 2);
  while (!value.empty()) {
    const std::string_view entry = value.substr(0, value.find(','));
    value.remove_prefix(std::min(value.size(), entry.size() + 1));
    const std::size_t colon = entry.find(':');
    if (colon == std::string_view::npos)
      return "Each entry of the list is a size in MiB, a colon and a number of divisions.";
    const std::string_view size = entry.substr(0, colon);
    if ((size != ">" && !divisions(size, false)) || !divisions(entry.substr(colon + 1), true))
      return "Sizes and divisions must be powers of two.";
  }
  return "";
}

std::string RefusedSize(std::string_view value, KeyValue kind, int release,
                        std::uint64_t large_segment) {
  std::uint64_t number = 0;
  if (!LeadingNumber(value, &number)) return "It must be a number of MiB.";
  if (kind == KeyValue::kMebibytes) return number > 0 ? "" : "It must be more than 0.";
  // Up to 2.9 "> 20" (tried with 2.9.1), later ">= 20" (tried with 2.15).
  const bool above = release != 0 && release < 210;
  if (number < large_segment || (above && number == large_segment))
    return absl::StrCat("It must be ", above ? "more than " : "at least ", large_segment, ".");
  return "";
}

}  // namespace

const TorchKey* FindTorchKey(std::string_view name) {
  const auto at = std::find_if(kKeys.begin(), kKeys.end(),
                               [name](const TorchKey& key) { return key.name == name; });
  return at == kKeys.end() ? nullptr : &*at;
}

std::string_view SimilarTorchKey(std::string_view name) {
  if (name.size() > kLongestKey) return "";
  std::string_view nearest;
  std::size_t least = std::min<std::size_t>(name.size() / 3, 5) + 1;
  for (const TorchKey& key : kKeys) {
    const std::size_t edits = Edits(name, key.name);
    if (edits >= least) continue;
    least = edits;
    nearest = key.name;
  }
  return nearest;
}

bool LeadingNumber(std::string_view text, std::uint64_t* number) {
  const std::string digits(text.substr(0, text.find_first_not_of("0123456789")));
  if (digits.empty()) return false;
  if (!absl::SimpleAtoi(digits, number)) *number = std::numeric_limits<std::uint64_t>::max();
  return true;
}

std::string RefusedValue(const TorchKey& key, std::string_view value, int release,
                         std::uint64_t large_segment) {
  std::uint64_t number = 0;
  double share = 0;
  switch (key.value) {
    case KeyValue::kAny:
      return value.empty() ? "The value is missing." : "";
    case KeyValue::kBool:
      return value == "True" || value == "False" ? "" : "It must be True or False, so written.";
    case KeyValue::kMebibytes:
    case KeyValue::kSplit:
      return RefusedSize(value, key.value, release, large_segment);
    case KeyValue::kShare:
      return absl::SimpleAtod(std::string(value), &share) && share > 0 && share < 1
                 ? ""
                 : "It must be between 0 and 1.";
    case KeyValue::kDivisions:
      return RefusedDivisions(value);
    case KeyValue::kThreads:
      return LeadingNumber(value, &number) && std::has_single_bit(number) && number <= 128
                 ? ""
                 : "It must be a power of two, at most 128.";
    case KeyValue::kBackend:
      return value == "native" || value == "cudaMallocAsync" || value == "hipMallocAsync"
                 ? ""
                 : "The backends are native and cudaMallocAsync.";
  }
  return "";
}

}  // namespace memprof::analysis::allocators
