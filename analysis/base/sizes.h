// Named sizes.
#pragma once

#include <cstdint>

namespace memprof::analysis {

inline constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// PyTorch's caching allocator (c10/cuda/CUDACachingAllocator) serves small requests from segments
// of this size, others from larger ones.
inline constexpr std::uint64_t kSmallSegmentBytes = 2 * kMiB;

}  // namespace memprof::analysis
