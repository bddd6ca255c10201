// `memprof categories`: the purposes of memory, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/peak/peak.h"
#include "analysis/peak/savings.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/json.h"

namespace memprof::cli {

int CategoriesVerb(int argc, char** argv);

// "  By category: …" with one row per category, and the sites of each, at most `sites` (0 = all) if
// `with_sites`.
std::string CategoriesText(analysis::Symbols& symbols, const analysis::CategoryTotals& totals,
                           bool with_sites, std::size_t sites);

// "By category" for the memory live at `peak`, for reports with more about it. With `savings` (may
// be null) also the peak without each category: of blocks if there are any, else of driver memory.
std::string CategoriesText(const analysis::Session& session, const analysis::Categories& categories,
                           const analysis::Peak& peak, const analysis::PeakSavings* savings);
Json CategoriesJson(const analysis::Session& session, analysis::Symbols& symbols,
                    const analysis::Categories& categories, const analysis::Peak& peak,
                    const analysis::PeakSavings* savings);

// One object per category that has bytes. Sites as above.
Json CategoriesJson(analysis::Symbols& symbols, const analysis::CategoryTotals& totals,
                    bool with_sites, std::size_t sites);

}  // namespace memprof::cli
