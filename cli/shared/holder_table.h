// Who holds memory, as a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/leaks/holders.h"

namespace memprof::cli {

// In the place of a holder.
inline constexpr std::string_view kNoHolder = "no look found what holds it";

// At most `top` rows (0 = all), summed up, with their shares of `whole`. What holds memory with
// others counts at each of them. The last row is `rest`, if that is anything.
std::string HolderTable(const std::vector<analysis::Holder>& holders,
                        const std::optional<analysis::WithoutHolder>& rest, std::uint64_t whole,
                        std::size_t top);

}  // namespace memprof::cli
