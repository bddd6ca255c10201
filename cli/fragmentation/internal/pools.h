// The private pools of an allocator, as text and as JSON; both are empty without private pools.
#pragma once

#include <string>

#include "analysis/fragmentation/pool_use.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

std::string PoolUsesText(const analysis::Session& session, analysis::Symbols& symbols,
                         const analysis::FragmentationReport& report);
Json PoolUsesJson(const analysis::Session& session, analysis::Symbols& symbols,
                  const analysis::FragmentationReport& report);

}  // namespace memprof::cli
