// What a log that is always on left out, in a sentence.
#pragma once

#include <string>

#include "analysis/store/sampling.h"

namespace memprof::analysis {

// What is made of the blocks that were drawn.
enum class Drawn {
  kEstimated,  // sums over all allocations count what was left out
  kLeftOut,    // only whole stretches, and what lives on: of what is live, of places, of replays
};

// "Always on, segment 3: 412 of 86,400 steps are whole; in the others, …"; "" if every event is in
// the log.
std::string SamplingWords(const Session& session, Drawn drawn);

}  // namespace memprof::analysis
