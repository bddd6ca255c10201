// Categories as text.

#include <algorithm>
#include <cstdio>
#include <vector>

#include "analysis/base/units.h"
#include "analysis/peak/groups.h"
#include "analysis/symbols/site_key.h"
#include "cli/categories/categories.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::Category;
using analysis::CategorySite;
using analysis::CategoryTotals;
using analysis::FormatBytes;
using analysis::FormatCount;

std::string TwoDigits(double value) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", std::clamp(value, 0.0, 1.0));
  return text;
}

// Categories with bytes, largest first; slack and unknown last.
std::vector<Category> InOrder(const CategoryTotals& totals) {
  std::vector<Category> order;
  for (std::size_t c = 0; c < analysis::kCategoryCount; ++c)
    if (totals.bytes[c] > 0) order.push_back(static_cast<Category>(c));
  const auto rank = [&](Category c) {
    const bool last = c == Category::kSlack || c == Category::kUnknown;
    return std::pair(last, ~totals.bytes[static_cast<std::size_t>(c)]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](Category a, Category b) { return rank(a) < rank(b); });
  return order;
}

// Sites of one category at one place and with one reason are one row.
std::vector<std::pair<std::string, CategorySite>> Places(analysis::Symbols& symbols,
                                                         const CategoryTotals& totals,
                                                         Category category) {
  std::vector<std::pair<std::string, CategorySite>> places;
  for (const CategorySite& site : totals.sites) {
    if (site.verdict.category != category) continue;
    const std::string key = analysis::SiteKey(symbols, site.stack);
    const auto same = std::find_if(places.begin(), places.end(), [&](const auto& place) {
      return place.first == key && place.second.verdict.reason == site.verdict.reason;
    });
    if (same == places.end()) {
      places.emplace_back(key, site);
    } else {
      same->second.bytes += site.bytes;
      same->second.blocks += site.blocks;
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  for (auto& [name, site] : places) name = SiteLabel(symbols, site.stack);
  return places;
}

std::string CategoryTable(const CategoryTotals& totals) {
  const auto total = static_cast<double>(totals.total());
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"bytes", "share", "blocks", "confidence", "category"});
  for (const Category category : InOrder(totals)) {
    const auto c = static_cast<std::size_t>(category);
    const bool slack = category == Category::kSlack;
    table.Row({FormatBytes(totals.bytes[c]), Percent(static_cast<double>(totals.bytes[c]), total),
               slack ? "-" : FormatCount(totals.blocks[c]),
               slack ? "-" : TwoDigits(totals.confidence[c]),
               std::string(analysis::CategoryName(category))});
  }
  if (table.empty()) return "  Nothing was live.\n";
  return table.Text(kWidth);
}

}  // namespace

std::string CategoriesText(analysis::Symbols& symbols, const CategoryTotals& totals,
                           bool with_sites, std::size_t sites) {
  std::string text = CategoryTable(totals);
  if (!with_sites) return text;
  for (const Category category : InOrder(totals)) {
    if (category == Category::kSlack) continue;
    const auto places = Places(symbols, totals, category);
    Table rows({Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft}, 4);
    rows.Header({"bytes", "blocks", "confidence", "because of", "site"});
    const std::size_t shown = Shown(places.size(), sites);
    for (std::size_t i = 0; i < shown; ++i) {
      const CategorySite& site = places[i].second;
      rows.Row({FormatBytes(site.bytes), FormatCount(site.blocks),
                TwoDigits(static_cast<double>(site.verdict.confidence)),
                std::string(analysis::CategoryReasonText(site.verdict.reason)), places[i].first});
    }
    Append(text, "\n  ", Styled(Style::kBold, analysis::CategoryName(category)), "\n",
           rows.Text(kWidth), MoreLine(shown, places.size()));
  }
  return text;
}

std::string CategoriesText(const analysis::Session& session, const analysis::Categories& categories,
                           const analysis::Peak& peak, const analysis::PeakSavings* savings) {
  const CategoryTotals totals = categories.At(peak.device, peak.event);
  const std::vector<Category> order = InOrder(totals);
  const std::string heading = "\n  By category (see 'memprof categories'):\n";
  if (savings == nullptr || order.empty()) return heading + CategoryTable(totals);
  const auto without = analysis::WithoutCategories(*savings, categories, peak.device);
  std::vector<PeakRow> rows;
  for (const Category category : order) {
    const auto c = static_cast<std::size_t>(category);
    rows.push_back({std::string(analysis::CategoryName(category)), totals.bytes[c],
                    category == Category::kSlack ? 0 : totals.blocks[c], without[c]});
  }
  return heading + PeakTable(session, rows, true, totals.total(), 0, "category");
}

}  // namespace memprof::cli
