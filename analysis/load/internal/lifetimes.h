// Goes through events in order of time and finds the lifetime of every piece of memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/load/internal/columns.h"
#include "analysis/store/event_table.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Anomalies that a reader counts itself.
using AnomalyCounts = std::array<std::uint64_t, static_cast<std::size_t>(log::Anomaly::kCount)>;

// Moves `raw`, taking its rows in `order`, into `events`, and empties it. Matched frees get the
// layer, the device and, where they said none, the bytes of what they freed.
void FindLifetimes(RawEvents raw, const std::vector<std::uint32_t>& order,
                   const std::vector<ContextInfo>& contexts, EventTable* events,
                   AnomalyCounts* anomalies);

}  // namespace memprof::analysis
