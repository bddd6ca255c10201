// The processes of a job side by side, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/leaks/leaks.h"
#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

// A row for each process, and sentences on how even they are, which are outliers, and how shared
// memory is counted. "" for a log of one process.
std::string ProcessesText(const analysis::Session& session,
                          const std::vector<analysis::Leak>& leaks);
Json ProcessesJson(const analysis::Session& session, const std::vector<analysis::Leak>& leaks);

}  // namespace memprof::cli
