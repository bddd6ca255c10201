// `memprof fragmentation`: free memory that cannot be used, as text and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/fragmentation/fragmentation.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

int FragmentationVerb(int argc, char** argv);

// Pools and the worst `top` pins of each (0 = all).
std::string FragmentationText(const analysis::Session& session, analysis::Symbols& symbols,
                              const analysis::FragmentationReport& report, std::size_t top);

Json FragmentationJson(const analysis::Session& session, analysis::Symbols& symbols,
                       const analysis::FragmentationReport& report);

}  // namespace memprof::cli
