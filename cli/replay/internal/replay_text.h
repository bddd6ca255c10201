// The output of `memprof replay`, as text and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/allocators/allocator_replay.h"
#include "cli/console/json.h"

namespace memprof::cli {

// "framework blocks", "stream-ordered allocations", "driver allocations".
std::string_view RequestSourceName(analysis::allocators::RequestSource source);
// "given", "environment", "log".
std::string_view SpecOriginName(analysis::SpecOrigin origin);

// One device of one process: heading, the recorded figures, and a table of alternatives.
std::string ReplayText(const analysis::Session& session, const analysis::DeviceReplay& replay);

Json ReplayJson(const analysis::DeviceReplay& replay);

}  // namespace memprof::cli
