// `memprof steps`: the training steps and their figures.
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

// A table of the phases of a usual step; "" if no phase but "other" is known.
std::string PhasesText(const std::vector<analysis::StepPhases>& phases,
                       const std::vector<analysis::StepFigures>& figures);

// A table of steps, at most `top` rows (0 = all). Neighbours with the same figures are one row,
// with the peak and the live bytes after the last of them.
std::string StepsText(const analysis::Session& session,
                      const std::vector<analysis::StepInfo>& steps,
                      const std::vector<analysis::StepFigures>& figures, std::size_t top);

}  // namespace memprof::cli
