// Names and options of simulated allocators, as people write them:
//
//     caching                                 PyTorch's, with its defaults
//     caching:expandable,max_split=64MiB      with options; "expandable" is short for =true
//     pool:release_threshold=1GiB
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/allocators/caching.h"
#include "analysis/allocators/pools.h"

namespace memprof::analysis::allocators {

enum class AllocatorKind { kCaching, kBfc, kPool, kRmmPool, kRmmBins, kRmmArenas, kCuda };

struct AllocatorSpec {
  AllocatorKind kind = AllocatorKind::kCaching;
  // Options of the caching allocator; other kinds keep their defaults.
  CachingOptions caching;
  BfcOptions bfc;
  AsyncPoolOptions pool;
  RmmPoolOptions rmm;

  bool operator==(const AllocatorSpec&) const = default;
};

// In the form that ParseSpec reads; only options that differ from the default.
std::string SpecName(const AllocatorSpec& spec);

// Errors (kInvalidArgument, one line) name the unknown part and the known ones.
absl::StatusOr<AllocatorSpec> ParseSpec(std::string_view text);

// Parses the value of PYTORCH_CUDA_ALLOC_CONF as PyTorch does. Ignores keys that do not influence
// the placement of memory. Errors: kInvalidArgument.
absl::StatusOr<AllocatorSpec> ParseTorchConfiguration(std::string_view text);

// `device` outlives the allocator.
std::unique_ptr<Allocator> MakeAllocator(const AllocatorSpec& spec, Device* device);

// Help text: one line for each kind, with its name, description and options.
std::string SpecHelp();

}  // namespace memprof::analysis::allocators
