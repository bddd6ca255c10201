// The use of each device, and the cost of recording, as text.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/estimates.h"
#include "analysis/report/report.h"
#include "analysis/store/session.h"

namespace memprof::cli {

// For each device its use at the last sample and near its highest use, by layer, with the part that
// the log cannot explain.
std::string LedgerText(const analysis::Session& session,
                       const std::vector<analysis::DeviceFigures>& devices);

// What the stand-in estimated of these figures, and whether the run fits, once for devices of which
// the same is said; "" if nothing is.
std::string EstimatesText(const analysis::Report& report,
                          const std::vector<analysis::DeviceEstimates>& estimates);

// Sources, events, losses, and the cost of recording.
std::string RecorderText(const analysis::Session& session, const analysis::EventTotals& events);

}  // namespace memprof::cli
