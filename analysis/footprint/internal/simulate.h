// One replay of requests.
#pragma once

#include "analysis/footprint/footprint.h"

namespace memprof::analysis {

// `as_recorded`: segments that the recorded allocator released by itself are released here too.
FootprintPeaks SimulateFootprint(const allocators::Trace& trace,
                                 const allocators::AllocatorSpec& spec,
                                 allocators::RequestSource source, bool as_recorded);

}  // namespace memprof::analysis
