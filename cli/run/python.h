// The part of `memprof fleet` that is Python: memprof._fleet.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// Becomes "python3 -m memprof._fleet WORDS…", or that of the Python that MEMPROF_PYTHON names. Only
// returns, with an exit status, after printing why that cannot be started.
int BecomePython(const std::vector<std::string>& words);

}  // namespace memprof::cli
