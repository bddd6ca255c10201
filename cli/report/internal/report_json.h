// Parts of the JSON of `memprof report`.
#pragma once

#include <vector>

#include "analysis/report/estimates.h"
#include "analysis/report/report.h"
#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

Json RunJson(const analysis::Session& session);
Json SourcesOnJson(const analysis::Session& session);
Json SourceStatesJson(const analysis::Session& session);
Json AnomaliesJson(const std::vector<analysis::AnomalyCount>& anomalies);
Json DeviceJson(const analysis::DeviceFigures& device);
Json EstimatesJson(const analysis::DeviceEstimates& estimates);
Json SelfJson(const analysis::Session& session);

}  // namespace memprof::cli
