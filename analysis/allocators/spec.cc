// Names and options of simulated allocators.
#include "analysis/allocators/spec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analysis/base/quantity.h"

namespace memprof::analysis::allocators {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }
std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

using Setter = std::function<absl::Status(std::string_view value, AllocatorSpec* spec)>;

struct Option {
  std::string name, metavar;
  Setter set;
};
struct Kind {
  AllocatorKind kind;
  std::string name, what;
  std::vector<Option> options;
};

template <typename Field>
Setter Bytes(Field field) {
  return [field](std::string_view value, AllocatorSpec* spec) -> absl::Status {
    const auto bytes = ParseSize(value);
    if (!bytes.ok()) return bytes.status();
    field(*spec) = *bytes;
    return absl::OkStatus();
  };
}

template <typename Field>
Setter Switch(Field field) {
  return [field](std::string_view value, AllocatorSpec* spec) -> absl::Status {
    bool on = false;
    if (!absl::SimpleAtob(View(value), &on)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", View(value), "' is neither true nor false"));
    }
    field(*spec) = on;
    return absl::OkStatus();
  };
}

absl::Status SetRoundup(std::string_view value, AllocatorSpec* spec) {
  std::uint32_t parts = 0;
  if (!absl::SimpleAtoi(View(value), &parts) || (parts & (parts - 1)) != 0 || parts > 1u << 20) {
    return absl::InvalidArgumentError(absl::StrCat("'", View(value), "' is not a power of two"));
  }
  spec->caching.roundup_power2.fill(parts);
  return absl::OkStatus();
}

absl::Status SetGarbage(std::string_view value, AllocatorSpec* spec) {
  double share = 0;
  if (!absl::SimpleAtod(View(value), &share) || !(share > 0 && share < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("'", View(value), "' is not between 0 and 1"));
  }
  spec->caching.gc_threshold = share;
  return absl::OkStatus();
}

absl::Status SetKeep(std::string_view value, AllocatorSpec* spec) {
  bool keep = false;
  const absl::Status set = Switch([&keep](auto&) -> bool& { return keep; })(value, spec);
  if (set.ok()) spec->pool.release_threshold = keep ? kUnlimited : 0;
  return set;
}

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {AllocatorKind::kCaching,
       "caching",
       "PyTorch's caching allocator",
       {{"expandable", "", Switch([](auto& s) -> bool& { return s.caching.expandable; })},
        {"max_split", "SIZE", Bytes([](auto& s) -> auto& { return s.caching.max_split; })},
        {"roundup", "PARTS", SetRoundup},
        {"gc", "SHARE", SetGarbage},
        {"limit", "SIZE", Bytes([](auto& s) -> auto& { return s.caching.limit; })},
        {"max_non_split_rounding", "SIZE",
         Bytes([](auto& s) -> auto& { return s.caching.max_non_split_rounding; })}}},
      {AllocatorKind::kBfc,
       "bfc",
       "TensorFlow's and JAX's best fit with coalescing",
       {{"preallocate", "SIZE", Bytes([](auto& s) -> auto& { return s.bfc.preallocate; })}}},
      {AllocatorKind::kPool,
       "pool",
       "the driver's stream-ordered pool (cudaMallocAsync)",
       {{"keep", "", SetKeep}, {"release_threshold", "SIZE", Bytes([](auto& s) -> auto& {
                                  return s.pool.release_threshold;
                                })}}},
      {AllocatorKind::kRmmPool,
       "rmm_pool",
       "RMM's pool",
       {{"initial", "SIZE", Bytes([](auto& s) -> auto& { return s.rmm.initial; })},
        {"first_fit", "", Switch([](auto& s) -> bool& { return s.rmm.first_fit; })}}},
      {AllocatorKind::kRmmArenas, "rmm_arena", "RMM's arenas, as long as they need to be", {}},
      {AllocatorKind::kRmmBins, "rmm_binning", "RMM's bins of 256 KiB to 4 MiB", {}},
      {AllocatorKind::kCuda, "cuda", "cudaMalloc for each request", {}},
  };
  return kinds;
}

std::string Names() {
  return absl::StrJoin(Kinds(), ", ",
                       [](std::string* out, const Kind& kind) { *out += kind.name; });
}

absl::Status Apply(const Kind& kind, std::string_view text, AllocatorSpec* spec) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? "true" : text.substr(equals + 1);
  for (const Option& option : kind.options) {
    if (option.name != name) continue;
    const absl::Status set = option.set(value, spec);
    if (set.ok()) return set;
    return absl::InvalidArgumentError(
        absl::StrCat(kind.name, ": ", option.name, ": ", set.message()));
  }
  if (kind.options.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("allocator '", kind.name, "' has no options"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "allocator '", kind.name, "' has no option '", View(name), "'; there are ",
      absl::StrJoin(kind.options, ", ",
                    [](std::string* out, const Option& option) { *out += option.name; })));
}

// A size as short as it can be said exactly.
std::string Exact(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && bytes != 0 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++unit;
  }
  return absl::StrCat(bytes, kUnits[unit]);
}

void AddCaching(const CachingOptions& options, std::vector<std::string>* parts) {
  const CachingOptions usual;
  if (options.expandable) parts->push_back("expandable");
  if (options.max_split != usual.max_split) {
    parts->push_back(absl::StrCat("max_split=", Exact(options.max_split)));
  }
  if (options.roundup_power2 != usual.roundup_power2) {
    const auto& rows = options.roundup_power2;
    const bool same =
        std::all_of(rows.begin(), rows.end(), [&](std::uint32_t row) { return row == rows[0]; });
    parts->push_back(same ? absl::StrCat("roundup=", rows[0])
                          : absl::StrCat("roundup=[", absl::StrJoin(rows, ";"), "]"));
  }
  if (options.gc_threshold != 0) parts->push_back(absl::StrCat("gc=", options.gc_threshold));
  if (options.limit != usual.limit) parts->push_back(absl::StrCat("limit=", Exact(options.limit)));
  if (options.max_non_split_rounding != usual.max_non_split_rounding) {
    parts->push_back(
        absl::StrCat("max_non_split_rounding=", Exact(options.max_non_split_rounding)));
  }
}

// ---------------------------------------------------------------------------------------------
// PYTORCH_CUDA_ALLOC_CONF

// "[256:1,512:2,>:8]": each key, a power of two of MiB, says its own row; rows below the first key
// are as it says, rows beyond the last one as ">" says, all others stay as they are.
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
    if (!absl::SimpleAtoi(View(value), &number) || number > (kLargestRequest >> 20)) {
      return absl::InvalidArgumentError(
          absl::StrCat(View(key), ": '", View(value), "' is no number of MiB"));
    }
    *field = number << 20;
    return absl::OkStatus();
  };
  if (key == "max_split_size_mb") return mebibytes(&spec->caching.max_split);
  if (key == "max_non_split_rounding_mb") return mebibytes(&spec->caching.max_non_split_rounding);
  if (key == "roundup_power2_divisions") return SetTorchRoundup(value, &spec->caching);
  if (key == "garbage_collection_threshold") return SetGarbage(value, spec);
  if (key == "expandable_segments") {
    return Switch([](auto& s) -> bool& { return s.caching.expandable; })(value, spec);
  }
  if (key == "backend" && value == "cudaMallocAsync") spec->kind = AllocatorKind::kPool;
  return absl::OkStatus();
}

}  // namespace

std::string SpecName(const AllocatorSpec& spec) {
  std::vector<std::string> parts;
  AddCaching(spec.caching, &parts);
  if (spec.bfc.preallocate != 0) {
    parts.push_back(absl::StrCat("preallocate=", Exact(spec.bfc.preallocate)));
  }
  if (spec.pool.release_threshold == kUnlimited) {
    parts.push_back("keep");
  } else if (spec.pool.release_threshold != 0) {
    parts.push_back(absl::StrCat("release_threshold=", Exact(spec.pool.release_threshold)));
  }
  if (spec.rmm.initial != 0) parts.push_back(absl::StrCat("initial=", Exact(spec.rmm.initial)));
  if (spec.rmm.first_fit) parts.push_back("first_fit");
  for (const Kind& kind : Kinds()) {
    if (kind.kind != spec.kind) continue;
    return parts.empty() ? kind.name : absl::StrCat(kind.name, ":", absl::StrJoin(parts, ","));
  }
  return "";
}

absl::StatusOr<AllocatorSpec> ParseSpec(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const Kind& kind : Kinds()) {
    if (kind.name != name) continue;
    AllocatorSpec spec;
    spec.kind = kind.kind;
    if (colon == std::string_view::npos) return spec;
    for (const absl::string_view part : absl::StrSplit(View(text.substr(colon + 1)), ',')) {
      const absl::Status applied = Apply(kind, View(part), &spec);
      if (!applied.ok()) return applied;
    }
    return spec;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no allocator '", View(name), "'; there are ", Names()));
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
    const absl::Status set = SetTorchOption(View(absl::StripAsciiWhitespace(option.first)),
                                            View(absl::StripAsciiWhitespace(option.second)), &spec);
    if (!set.ok()) return set;
    at = end + 1;
  }
  if (spec.kind == AllocatorKind::kPool) spec.caching = CachingOptions();
  return spec;
}

std::unique_ptr<Allocator> MakeAllocator(const AllocatorSpec& spec, Device* device) {
  switch (spec.kind) {
    case AllocatorKind::kCaching:
      return std::make_unique<CachingAllocator>(spec.caching, device);
    case AllocatorKind::kBfc:
      return std::make_unique<BfcAllocator>(spec.bfc, device);
    case AllocatorKind::kPool:
      return std::make_unique<AsyncPool>(spec.pool, device);
    case AllocatorKind::kRmmPool:
      return std::make_unique<RmmPool>(spec.rmm, device);
    case AllocatorKind::kRmmBins:
      return std::make_unique<RmmBins>(device);
    case AllocatorKind::kRmmArenas:
      return std::make_unique<RmmArenas>(device);
    case AllocatorKind::kCuda:
      break;
  }
  return std::make_unique<CudaAllocator>(device);
}

std::string SpecHelp() {
  std::string text;
  for (const Kind& kind : Kinds()) {
    absl::StrAppend(&text, "  ", kind.name, std::string(14 - kind.name.size(), ' '), kind.what);
    for (const Option& option : kind.options) {
      absl::StrAppend(&text, &option == kind.options.data() ? ": " : ", ", option.name,
                      option.metavar.empty() ? "" : "=", option.metavar);
    }
    text += "\n";
  }
  return text;
}

}  // namespace memprof::analysis::allocators
