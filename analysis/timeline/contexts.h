// What the processes of a session have on a device beyond the memory that their logs explain:
// contexts most of all.
#pragma once

#include <vector>

#include "analysis/timeline/ledger.h"

namespace memprof::analysis {

// Sets MemorySample::contexts_of_others of the samples of all devices, by ordinal and in order of
// events: at the last sample of each other process before it that knew of other processes. One pass
// over the events; nothing for a session of one log.
void FindContextsOfOthers(const Session& session,
                          std::vector<std::vector<MemorySample>>* by_device);

}  // namespace memprof::analysis
