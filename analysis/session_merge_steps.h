// Steps that were found in each of several logs as the steps of all. Internal to analysis/.
#pragma once

#include <vector>

#include "analysis/session.h"

namespace memprof::analysis {

// `parts[i]` are the steps of one log, in the clock and with the events of the common session; none
// where it has none. Ranks of a job go through their steps together: of the logs with most steps, a
// step begins with the first of them, and the last one ends at `end`. Logs with other numbers of
// steps (an evaluation beside the training) have no say. No steps if no log has any.
FoundSteps MergeFoundSteps(const std::vector<FoundSteps>& parts, TimeNs end);

}  // namespace memprof::analysis
