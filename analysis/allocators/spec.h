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
#include "analysis/allocators/internal/pools.h"

namespace memprof::analysis::allocators {

enum class AllocatorKind { kCaching, kBfc, kPool, kRmmPool, kRmmBins, kRmmArenas, kCuda };

struct AllocatorSpec {
  AllocatorKind kind = AllocatorKind::kCaching;
  // Those of other kinds are as they are by default.
  CachingOptions caching;
  BfcOptions bfc;
  AsyncPoolOptions pool;
  RmmPoolOptions rmm;

  bool operator==(const AllocatorSpec&) const = default;
};

// As ParseSpec reads it: only options that are not the default.
std::string SpecName(const AllocatorSpec& spec);

// Errors (kInvalidArgument, one line) name what is not known and what there is.
absl::StatusOr<AllocatorSpec> ParseSpec(std::string_view text);

// The value of PYTORCH_CUDA_ALLOC_CONF, as PyTorch reads it. Keys that do not change where memory
// lies are ignored. Errors: kInvalidArgument.
absl::StatusOr<AllocatorSpec> ParseTorchConfiguration(std::string_view text);

// `device` outlives the allocator.
std::unique_ptr<Allocator> MakeAllocator(const AllocatorSpec& spec, Device* device);

// One line for each kind: its name, what it is, its options. For help.
std::string SpecHelp();

}  // namespace memprof::analysis::allocators
