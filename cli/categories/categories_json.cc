// Categories as JSON.
#include "analysis/peak/groups.h"
#include "cli/categories/categories.h"
#include "cli/console/json.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {

using analysis::Category;

Json CategoriesJson(analysis::Symbols& symbols, const analysis::CategoryTotals& totals,
                    bool with_sites, std::size_t sites) {
  Json list = Json::array();
  for (std::size_t c = 0; c < analysis::kCategoryCount; ++c) {
    if (totals.bytes[c] == 0 && totals.blocks[c] == 0) continue;
    const auto category = static_cast<Category>(c);
    Json entry = {{"category", analysis::CategoryKey(category)},
                  {"bytes", totals.bytes[c]},
                  {"blocks", totals.blocks[c]},
                  {"confidence", Number(totals.confidence[c])}};
    if (with_sites) {
      Json places = Json::array();
      for (const analysis::CategorySite& site : totals.sites) {
        if (site.verdict.category != category) continue;
        if (sites != 0 && places.size() == sites) break;
        places.push_back({{"bytes", site.bytes},
                          {"blocks", site.blocks},
                          {"confidence", Number(static_cast<double>(site.verdict.confidence))},
                          {"reason", analysis::CategoryReasonKey(site.verdict.reason)},
                          {"site", SiteLabel(symbols, site.stack)},
                          {"stack", StackJson(symbols, site.stack)}});
      }
      entry["sites"] = std::move(places);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json CategoriesJson(const analysis::Session& session, analysis::Symbols& symbols,
                    const analysis::Categories& categories, const analysis::Peak& peak,
                    const analysis::PeakSavings* savings) {
  Json list = CategoriesJson(symbols, categories.At(peak.device, peak.event), false, 0);
  if (savings == nullptr) return list;
  const auto without = analysis::WithoutCategories(*savings, categories, peak.device);
  for (Json& entry : list) {
    for (std::size_t c = 0; c < analysis::kCategoryCount; ++c) {
      const auto category = static_cast<Category>(c);
      if (category != Category::kSlack && entry["category"] == analysis::CategoryKey(category))
        entry["without"] = SavingJson(session, without[c]);
    }
  }
  return list;
}

}  // namespace memprof::cli
