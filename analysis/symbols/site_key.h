// A key for call stacks with the same site.
#pragma once

#include <string>

#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Equal for two stacks with the same site, and with the same library that allocated there for
// itself or on a framework's behalf, however they are displayed. "" for no stack.
std::string SiteKey(Symbols& symbols, StackId stack);

}  // namespace memprof::analysis
