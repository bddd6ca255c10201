// How much of a recording is missing: events that the recorder dropped, and those in parts of the
// log that are damaged.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/store/session.h"

namespace memprof::analysis {

struct Losses {
  std::uint64_t events = 0;  // missing
  std::uint64_t all = 0;     // that there were, with those

  // Every birth that is missing hides memory, and every free makes memory look alive: from here on
  // no figure of levels, steps or growth is told.
  bool much() const {
    return events > 0 && static_cast<double>(events) >= 0.01 * static_cast<double>(all);
  }
};

// O(1).
Losses LossesOf(const Session& session);

// "49,000 of its 50,000 events are lost"; "" for none.
std::string LossWords(const Losses& losses);

}  // namespace memprof::analysis
