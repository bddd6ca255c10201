// What memory is for, as text and as JSON.
#pragma once

#include <string>

#include "analysis/categories.h"
#include "analysis/peak.h"
#include "analysis/session.h"
#include "analysis/symbols.h"
#include "cli/json.h"

namespace memprof::cli {

// "  By category: …" with one row per category, and the sites of each, at most `sites` (0 = all) if
// `with_sites`.
std::string CategoriesText(analysis::Symbols& symbols, const analysis::CategoryTotals& totals,
                           bool with_sites, std::size_t sites);

// "By category" of what was live at `peak`, for reports that tell more about it.
std::string CategoriesText(const analysis::Categories& categories, const analysis::Peak& peak);
Json CategoriesJson(analysis::Symbols& symbols, const analysis::Categories& categories,
                    const analysis::Peak& peak);

// One object per category that has bytes. Sites as above.
Json CategoriesJson(analysis::Symbols& symbols, const analysis::CategoryTotals& totals,
                    bool with_sites, std::size_t sites);

}  // namespace memprof::cli
