// The three lists behind Cases().
#pragma once

#include "tests/leakbench/cases.h"

namespace memprof::leakbench {

std::vector<Case> LeakCases();
std::vector<Case> OtherCases();
std::vector<Case> UndecidableCases();

}  // namespace memprof::leakbench
