// Fragmentation over time, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/fragmentation/series.h"
#include "cli/console/json.h"

namespace memprof::cli {

// For each pool its worst instant, and a line drawn over time.
std::string FragmentationSeriesText(const analysis::Session& session,
                                    const std::vector<analysis::PoolSeries>& all);
Json FragmentationSeriesJson(const std::vector<analysis::PoolSeries>& all);

// "▁▃█" of shares in [0, 1]; a blank where the pool holds nothing.
std::string Sparkline(const std::vector<double>& shares);

}  // namespace memprof::cli
