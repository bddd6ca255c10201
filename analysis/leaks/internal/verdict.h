// The verdict of a report as text.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/leaks/clock.h"
#include "analysis/leaks/internal/candidates.h"
#include "analysis/leaks/internal/words.h"
#include "analysis/leaks/leaks.h"

namespace memprof::analysis {

// The result of a scan of host memory; else "".
std::string DefiniteWords(const LeakReport& report);

// The growing sites, or that there are none.
std::string GrowthWords(const LeakReport& report, const std::string& total);

// The first sentences of the report: what leaks, or what cannot be judged yet. `total`: of
// DescribeTotalGrowth.
std::string Verdict(const LeakReport& report, const RunInfo& run, const StepClock& clock,
                    const JudgedSites& judged, const std::string& total);

// Makes `leak` definite: `lost` is the part of it without pointers, by scans of so much host
// memory.
void CallDefinite(const Unreachable& lost, std::uint64_t scanned_bytes, Leak* leak);

}  // namespace memprof::analysis
