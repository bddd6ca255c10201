// Replays of requests: as recorded, and with an input of another size.
#pragma once

#include "analysis/footprint/footprint.h"

namespace memprof::analysis {

// `as_recorded`: segments that the recorded allocator released by itself are released here too.
FootprintPeaks SimulateFootprint(const allocators::Trace& trace,
                                 const allocators::AllocatorSpec& spec,
                                 allocators::RequestSource source, bool as_recorded);

// From the requests of `base`, which need not be one of data.bases.
FootprintPrediction PredictFrom(const FootprintData& data, const FootprintData::Base& base,
                                std::uint64_t batch, std::uint64_t capacity);

}  // namespace memprof::analysis
