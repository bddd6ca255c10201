// The use of each device, and the cost of recording, as text.
#pragma once

#include <string>
#include <vector>

#include "analysis/report/report.h"
#include "analysis/store/session.h"

namespace memprof::cli {

// For each device its use at the last sample and near its highest use, by layer, with the part that
// the log cannot explain.
std::string LedgerText(const analysis::Session& session,
                       const std::vector<analysis::DeviceFigures>& devices);

// Sources, events, losses, and the cost of recording.
std::string RecorderText(const analysis::Session& session, const analysis::EventTotals& events);

}  // namespace memprof::cli
