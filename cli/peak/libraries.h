// Which libraries held memory, as text and as JSON.
#pragma once

#include <string>

#include "analysis/peak/library_uses.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

// "By library" of what was live at `peak`: of driver memory, and of blocks where a library is named
// among them. With `savings` (may be null) also what the peak would be without each. "" where there
// is nothing to tell, unless `always`.
std::string LibrariesText(const analysis::Session& session, analysis::Symbols& symbols,
                          const analysis::Peak& peak, const analysis::PeakSavings* savings,
                          bool always);
// One object per library that holds something, of driver memory and then of blocks.
Json LibrariesJson(const analysis::Session& session, analysis::Symbols& symbols,
                   const analysis::Peak& peak, const analysis::PeakSavings* savings);

// "NCCL", "the program itself".
std::string LibraryLabel(const analysis::Library& library);

}  // namespace memprof::cli
