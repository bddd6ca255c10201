// What is Python: memprof._fleet, its upload of logs, and memprof._mcp.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// Becomes "python3 -m MODULE WORDS…", or that of the Python that MEMPROF_PYTHON names. Only
// returns, with an exit status, after printing why that cannot be started.
int BecomePython(const std::string& module, const std::vector<std::string>& words);

}  // namespace memprof::cli
