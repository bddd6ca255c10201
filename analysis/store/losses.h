// How much of a recording is missing: events that the recorder dropped, and those in parts of the
// log that are damaged.
#pragma once

#include <cstdint>

#include "analysis/store/session.h"

namespace memprof::analysis {

struct Losses {
  std::uint64_t events = 0;  // missing
  double share = 0;          // of all that there were

  // Every birth that is missing hides memory, and every free makes memory look alive: from here on
  // no figure of levels, steps or growth is told.
  bool much() const { return share >= 0.01; }
};

// O(1).
Losses LossesOf(const Session& session);

}  // namespace memprof::analysis
