// What was used of each device, and what recording cost, as text.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/store/session.h"

namespace memprof::cli {

// For each device what was used of it at its last sample and near its highest use, by layer, with
// what the log cannot explain.
std::string LedgerText(const analysis::Session& session,
                       const std::vector<analysis::DeviceFigures>& devices);

// Sources, events, what was dropped, and what recording cost.
std::string RecorderText(const analysis::Session& session, const analysis::EventTotals& events);

}  // namespace memprof::cli
