// Shared by the formats of other tools.
#pragma once

#include <cstdint>

namespace memprof::analysis {

inline constexpr std::uint64_t kNsPerUs = 1000;
inline constexpr std::uint32_t kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY

}  // namespace memprof::analysis
