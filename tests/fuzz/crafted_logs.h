// Sound but extreme logs of at most 1 MB: each has one thing that no program does, or very much of
// one thing, and makes some reader's work grow faster than the file.
#pragma once

#include <string>
#include <vector>

namespace memprof::fuzz {

// Names of all crafted logs.
std::vector<std::string> CraftedNames();
// The log of that name. `scale` is the number of things that it has much of, where it has many: a
// million fills about 1 MB.
std::string CraftedBytes(const std::string& name, int scale);

}  // namespace memprof::fuzz
