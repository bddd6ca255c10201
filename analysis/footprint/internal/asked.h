// Ranges of requests (analysis/allocators/asked.h) that repeat in each step.
#pragma once

#include <vector>

#include "analysis/allocators/asked.h"
#include "analysis/footprint/internal/align.h"

namespace memprof::analysis {

using allocators::AskedBytes;

// Narrows the ranges of requests that are the same in several steps: of one site, the n-th in its
// step. Only where all of them agree.
std::vector<AskedBytes> NarrowBySteps(std::vector<AskedBytes> asked, const RequestKeys& keys);

}  // namespace memprof::analysis
