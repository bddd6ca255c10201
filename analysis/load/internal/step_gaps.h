// Steps that the program marked and that a log which is always on did not keep.
#pragma once

#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Where the numbers of two marks are not consecutive and a thinned stretch lies between: the steps
// in between, of equal length. So steps stay the scale of growth.
void FillStepGaps(const EventTable& events, std::vector<StepInfo>* steps);

}  // namespace memprof::analysis
