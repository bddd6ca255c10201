// Which call stacks have one site.
#pragma once

#include <string>

#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Of two stacks the same where their site is, and the library that asked there for itself or on a
// framework's behalf; whatever is shown of it. "" for no stack.
std::string SiteKey(Symbols& symbols, StackId stack);

}  // namespace memprof::analysis
