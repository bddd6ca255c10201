// Names and options of simulated allocators.
#include "analysis/allocators/spec.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "analysis/allocators/internal/spec_options.h"
#include "analysis/base/quantity.h"

namespace memprof::analysis::allocators {
namespace {

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
        {"gc", "SHARE", SetGarbageThreshold},
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

// The shortest exact text of a size.
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
      const absl::Status applied = Apply(kind, StdView(part), &spec);
      if (!applied.ok()) return applied;
    }
    return spec;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no allocator '", View(name), "'; there are ", Names()));
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
