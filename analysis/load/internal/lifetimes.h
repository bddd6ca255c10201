// Finds the lifetime of every piece of memory, from the events in order of time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/load/internal/columns.h"
#include "analysis/store/event_table.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Anomalies that the reader counts.
using AnomalyCounts = std::array<std::uint64_t, static_cast<std::size_t>(log::Anomaly::kCount)>;

// Moves `raw` into `events`, taking its rows in `order`, and empties it. A matched free gets the
// layer and the device of what it freed, and its bytes if it had none.
void FindLifetimes(RawEvents raw, const std::vector<std::uint32_t>& order,
                   const std::vector<ContextInfo>& contexts, EventTable* events,
                   AnomalyCounts* anomalies);

}  // namespace memprof::analysis
