// `memprof steps`: the training steps, and what each did.
#pragma once

#include <string>
#include <vector>

#include "analysis/steps/figures.h"
#include "analysis/steps/phases.h"
#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

int StepsVerb(int argc, char** argv);

Json StepJson(const analysis::StepInfo& step, const analysis::StepFigures& figures,
              const analysis::StepPhases& phases);

// A table of the phases of a usual step; "" where no phase is known but "other".
std::string PhasesText(const std::vector<analysis::StepPhases>& phases,
                       const std::vector<analysis::StepFigures>& figures);

// A table of steps, at most `top` rows (0 = all). Neighbours that did the same are one row, with
// the peak and what was live after the last of them.
std::string StepsText(const analysis::Session& session,
                      const std::vector<analysis::StepInfo>& steps,
                      const std::vector<analysis::StepFigures>& figures, std::size_t top);

}  // namespace memprof::cli
