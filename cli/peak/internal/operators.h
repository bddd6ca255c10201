// The memory live at a peak by the PyTorch operator that allocated it, with the peak without each.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

// "" if no stack has an operator. `savings` may be null.
std::string OperatorText(const analysis::Session& session, analysis::Symbols& symbols,
                         const analysis::Peak& peak, const analysis::PeakSavings* savings,
                         std::size_t top);
// The same, largest first; empty if none is known.
Json OperatorsJson(const analysis::Session& session, analysis::Symbols& symbols,
                   const analysis::Peak& peak, const analysis::PeakSavings* savings,
                   std::size_t top);

}  // namespace memprof::cli
