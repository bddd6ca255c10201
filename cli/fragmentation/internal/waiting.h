// What a framework's allocator keeps for other streams, as text and as JSON; both are empty where
// the log has nothing of it.
#pragma once

#include <string>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

std::string WaitingText(const analysis::Session& session, analysis::Symbols& symbols);
Json WaitingJson(const analysis::Session& session, analysis::Symbols& symbols);

}  // namespace memprof::cli
