// The memory of libraries, as text and as JSON.
#pragma once

#include <string>

#include "analysis/peak/library_uses.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

// "By library" for the memory live at `peak`: driver memory, and blocks if a library is named among
// them. With `savings` (may be null) also the peak without each. "" if there is nothing to report,
// unless `always`.
std::string LibrariesText(const analysis::Session& session, analysis::Symbols& symbols,
                          const analysis::Peak& peak, const analysis::PeakSavings* savings,
                          bool always);
// One object for each library that holds memory: first of driver memory, then of blocks.
Json LibrariesJson(const analysis::Session& session, analysis::Symbols& symbols,
                   const analysis::Peak& peak, const analysis::PeakSavings* savings);

// "NCCL", "the program itself".
std::string LibraryLabel(const analysis::Library& library);

}  // namespace memprof::cli
