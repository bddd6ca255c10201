// The units in which people write sizes, the same wherever memprof reads them.
#pragma once

#include <optional>
#include <string_view>

namespace memprof::analysis {

// Bytes of a unit, in any case: 1024s for "KiB" and "K", 1000s for "KB", and so on to "T"; "" and
// "B" are bytes. None for anything else.
std::optional<double> BytesOf(std::string_view unit);

}  // namespace memprof::analysis
