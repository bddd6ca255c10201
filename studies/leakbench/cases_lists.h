// The lists that Cases() returns.
#pragma once

#include "studies/leakbench/cases.h"

namespace memprof::leakbench {

std::vector<Case> LeakCases();
std::vector<Case> OtherCases();
std::vector<Case> UndecidableCases();
std::vector<Case> MoreLeakCases();
std::vector<Case> MoreOtherCases();
std::vector<Case> HeldOutCases();

}  // namespace memprof::leakbench
