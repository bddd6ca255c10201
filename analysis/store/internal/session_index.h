// Indices of a session, built when all its events are there.
#pragma once

#include <vector>

#include "analysis/store/session_data.h"

namespace memprof::analysis {

// Builds a session's children, marks, other deaths and checkpoints. O(events + allocations), and a
// sort of marks and of other deaths.
void IndexSession(SessionData* data);

// Session::LiveAfter; uses those checkpoints that are written already.
std::vector<AllocationId> LiveAfter(const SessionData& data, EventId event,
                                    std::uint32_t layers = ~0u);

}  // namespace memprof::analysis
