// `memprof peak`: what was live when a device held most, as text and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

int PeakVerb(int argc, char** argv);

// The memory live at a peak: by layer, by site and by tensor (tensors of one name, shape and site
// are one row), at most `top` rows each (0 = all). With `savings`, each row also has the peak
// without it.
std::string PeakText(const analysis::Session& session, analysis::Symbols& symbols,
                     const analysis::Peak& peak, std::size_t top,
                     const analysis::PeakSavings* savings = nullptr);

// `top` = how many sites, tensors and blocks; 0 = all.
Json PeakJson(const analysis::Session& session, analysis::Symbols& symbols,
              const analysis::Peak& peak, std::size_t top);
// Adds to `json`, which PeakJson made from `peak`, the further fields of `memprof peak`
// (docs/json.md).
void AddSavings(const analysis::Session& session, analysis::Symbols& symbols,
                const analysis::PeakSavings& savings, const analysis::Peak& peak, std::size_t top,
                Json* json);

}  // namespace memprof::cli
