// Replays events in order of time and finds the lifetime of every piece of memory.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/session.h"

namespace memprof::analysis {

// Anomalies that a reader counts itself.
using AnomalyCounts = std::array<std::uint64_t, static_cast<std::size_t>(log::Anomaly::kCount)>;

struct ReplayInput {
  EventColumns* events = nullptr;  // `allocation` is filled; of matched frees also
                                   // `layer`, `device` and, if 0, `bytes`
  const std::vector<ContextInfo>* contexts = nullptr;
  const std::vector<StepInfo>* steps = nullptr;  // in order of events
};

// All lifetimes, in order of birth.
std::vector<Allocation> ReplayLifetimes(const ReplayInput& input, AnomalyCounts* anomalies);

}  // namespace memprof::analysis
