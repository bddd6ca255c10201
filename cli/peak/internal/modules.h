// The memory live at a peak by the module of the network that made it, with the peak without each.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "cli/console/json.h"

namespace memprof::cli {

// For blocks, or for driver memory if no allocator divides it. "" if no module is known. `savings`
// may be null.
std::string ModuleText(const analysis::Session& session, const analysis::Peak& peak,
                       const analysis::PeakSavings* savings, std::size_t top);
// The same, largest first; empty if no module is known.
Json ModulesJson(const analysis::Session& session, const analysis::Peak& peak,
                 const analysis::PeakSavings* savings, std::size_t top);

}  // namespace memprof::cli
