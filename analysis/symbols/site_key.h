// Names for call sites and stacks that hold when addresses change.
#pragma once

#include <string>

#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Equal for two stacks with the same site, and with the same library that allocated there for
// itself or on a framework's behalf, however they are displayed. "" for no stack.
std::string SiteKey(Symbols& symbols, StackId stack);

// A hash of the functions, names of files and lines of a stack, not of addresses and folders: 8 hex
// digits, by which links find the stack again in another recording of the same program.
std::string StackHashText(Symbols& symbols, StackId stack);

}  // namespace memprof::analysis
