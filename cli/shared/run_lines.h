// What ran, when, and how the log ended: the first lines of every report.
#pragma once

#include <string>

#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

std::string RunLines(const analysis::Session& session);

// "steps found in the pattern of allocations, confidence 0.97"; "" for marks and for none.
std::string StepOriginText(const analysis::StepOrigin& origin);

// `source`, `confidence`, `warm_up_steps`, `why`.
Json StepOriginJson(const analysis::StepOrigin& origin);

}  // namespace memprof::cli
