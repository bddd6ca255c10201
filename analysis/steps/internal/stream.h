// The allocations of a session as a stream in which steps are searched.
#pragma once

#include <vector>

#include "analysis/steps/figures.h"
#include "analysis/steps/internal/pattern.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// The allocations of the step layer as tokens: by call site and device and, if `by_size`, by
// requested bytes.
struct StepStream {
  TokenStream tokens;
  std::vector<EventId> births;  // of the tokens
};
StepStream StreamOf(const Session& session, StepLayer layer, bool by_size);
// The same for the events in [begin, end).
StepStream StreamOf(const Session& session, StepLayer layer, bool by_size, EventId begin,
                    EventId end);

}  // namespace memprof::analysis
