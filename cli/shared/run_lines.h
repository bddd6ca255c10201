// What ran, when, and how the log ended: the first lines of every report.
#pragma once

#include <string>
#include <string_view>

#include "analysis/store/session.h"
#include "cli/console/json.h"
#include "cli/shared/sampling_lines.h"

namespace memprof::cli {

// What to do if analysis::AgentWouldHelp(), where steps or categories are not sure.
inline constexpr std::string_view kAgentHint =
    "memprof run --torch marks the steps of PyTorch, and names its modules, parameters and "
    "gradients.";

// `drawn`: what the verb makes of a log that is always on.
std::string RunLines(const analysis::Session& session, Drawn drawn = Drawn::kLeftOut);

// Of a session's logs; the segments of a recording that is always on are one process.
std::size_t CountProcesses(const analysis::Session& session);

// "steps found in the pattern of allocations, confidence 0.97"; "" for marks and for none.
std::string StepOriginText(const analysis::StepOrigin& origin);

// `source`, `confidence`, `warm_up_steps`, `why`.
Json StepOriginJson(const analysis::StepOrigin& origin);

}  // namespace memprof::cli
