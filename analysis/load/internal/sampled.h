// The stretches of a log that is always on, and the blocks drawn in them.
//
//   stretches    made disjoint, and put into the log. A log that was cut, or that grows, can end in
//                one that was not closed: that begins with the first block drawn in it
//   drawn block  that was freed in its own stretch: Op::kSampled, with the time it lived as aux1;
//   its
//                free is no event
//   another      with a weight, is an allocation like others: of what lives on nothing is left out
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/load/internal/columns.h"

namespace memprof::analysis {

// `order` are rows in order of time. Changes it, and may add to `events`. `begin`: of the log;
// `complete`: it has its end. Returns the number of contradictions, which are left out.
std::uint64_t ResolveSampled(TimeNs begin, bool complete, RawEvents* events,
                             std::vector<std::uint32_t>* order);

}  // namespace memprof::analysis
