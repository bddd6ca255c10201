// Who holds memory, as a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/leaks/holders.h"

namespace memprof::cli {

// At most `top` rows (0 = all), summed up, with their shares of `whole`. What holds memory with
// others counts at each of them.
std::string HolderTable(const std::vector<analysis::Holder>& holders, std::uint64_t whole,
                        std::size_t top);

}  // namespace memprof::cli
