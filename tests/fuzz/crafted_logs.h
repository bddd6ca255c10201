// Valid but extreme logs of at most 1 MB. Each contains something that no program does, or very
// many of one thing, so that some reader's work grows faster than the file.
#pragma once

#include <string>
#include <vector>

namespace memprof::fuzz {

// Names of all crafted logs.
std::vector<std::string> CraftedNames();
// The log of that name. `scale` is the number of repeated items, for logs that repeat something; a
// million fills about 1 MB.
std::string CraftedBytes(const std::string& name, int scale);

}  // namespace memprof::fuzz
