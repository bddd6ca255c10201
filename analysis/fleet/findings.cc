// What the analyses found: categories, leaks, failed requests, fragmentation, advice.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "analysis/advice/advice.h"
#include "analysis/fleet/internal/tables.h"
#include "analysis/oom/oom.h"
#include "analysis/symbols/site_groups.h"

namespace memprof::analysis::fleet {
namespace {

// A damaged log can have any number of each.
constexpr std::size_t kMostLeaks = 1000, kMostFailures = 1000, kMostAdvice = 100;
// Of the last failures: an explanation costs O(live memory).
constexpr std::size_t kMostExplained = 20;

std::optional<std::int64_t> StepOrNone(std::int64_t step) {
  return step < 0 ? std::nullopt : std::optional(step);
}

OomRow RowOf(const Source& source, const FailedRequest& request) {
  OomRow row;
  row.device = request.device;
  row.step = StepOrNone(request.step);
  row.occurred = request.time - std::min(request.time, StartOf(source.session));
  row.asked = request.bytes;
  row.recovered = request.recovered;
  row.site = source.sites.NameOf(request.stack);
  return row;
}

void Explain(const FailureReport& report, FleetSites& sites, OomRow* row) {
  if (report.space.sampled) row->free = report.space.free;
  row->cause = FailureCauseName(report.cause);
  if (report.growth) row->growth_site = sites.NameOf(report.growth->stack);
  const auto fits =
      std::ranges::find_if(report.remedies, [](const Remedy& remedy) { return remedy.fits; });
  if (fits != report.remedies.end()) row->remedy = RemedyKindName(fits->kind);
}

}  // namespace

std::vector<CategoryRow> CategoriesOf(const Source& source) {
  std::vector<CategoryRow> rows;
  if (source.report.peaks.empty()) return rows;
  const Categories categories(source.session, &source.symbols);
  for (const Peak& peak : source.report.peaks) {
    const CategoryTotals totals = categories.At(peak.device, peak.event);
    for (std::size_t i = 0; i < kCategoryCount; ++i) {
      if (totals.bytes[i] == 0 && totals.blocks[i] == 0) continue;
      rows.push_back({peak.device, std::string(CategoryName(static_cast<Category>(i))),
                      totals.bytes[i], totals.blocks[i]});
    }
  }
  return rows;
}

std::vector<LeakRow> LeaksOf(const Source& source) {
  std::vector<LeakRow> rows;
  for (const Leak& leak : source.report.leaks.leaks) {
    if (rows.size() == kMostLeaks) break;
    LeakRow row;
    row.device = leak.device;
    row.site = source.sites.NameOf(leak.stack);
    row.tier = LeakTierName(leak.tier);
    row.basis = LeakBasisName(leak.basis);
    row.score = leak.score;
    row.slope = leak.bytes_per_step;
    row.slope_per_s = leak.bytes_per_second;
    row.size = leak.bytes;
    row.blocks = leak.blocks;
    row.first_step = StepOrNone(leak.first_step);
    if (!leak.holders.empty()) row.holder = leak.holders.front().path;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<OomRow> OomsOf(const Source& source) {
  std::vector<OomRow> rows;
  const auto failures = FailuresOf(source.session);
  if (failures->empty()) return rows;
  SiteGroups groups(source.session, source.symbols);
  FailureExplainer explainer(source.session, source.symbols, groups);
  const std::size_t count = failures->size();
  for (std::size_t i = count - std::min(count, kMostFailures); i < count; ++i) {
    const FailedRequest& request = (*failures)[i];
    OomRow row = RowOf(source, request);
    if (i + kMostExplained >= count) Explain(explainer.Explain(request), source.sites, &row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<FragmentationRow> FragmentationOf(const Source& source) {
  std::map<int, FragmentationRow> wholes;
  std::map<int, std::map<std::string, std::uint64_t>> pinned;  // by device and site
  for (const PoolFragmentation& pool : source.report.fragmentation.pools) {
    FragmentationRow& whole = wholes[pool.device];
    whole.device = pool.device;
    whole.reserved += pool.reserved_bytes;
    whole.allocated += pool.allocated_bytes;
    whole.unusable += pool.unusable_bytes;
    whole.pinned += pool.pinned_bytes;
    for (const Hole& hole : pool.holes) {
      const auto site_of = [&source](AllocationId block) {
        return block.valid() ? source.sites.NameOf(source.session.record(block).stack) : "";
      };
      const std::string before = site_of(hole.before), after = site_of(hole.after);
      if (!before.empty()) pinned[pool.device][before] += hole.bytes;
      if (!after.empty() && after != before) pinned[pool.device][after] += hole.bytes;
    }
  }
  std::vector<FragmentationRow> rows;
  for (const auto& [device, whole] : wholes) {
    rows.push_back(whole);
    for (const auto& [site, bytes] : pinned[device]) {
      rows.push_back(whole);
      rows.back().site = site;
      rows.back().pinned = bytes;
    }
  }
  return rows;
}

std::vector<AdviceRow> AdviceOf(const Source& source) {
  AdviceOptions options;
  options.symbols = &source.symbols;
  options.site_of = [&source](StackId stack) { return source.sites.NumberOf(stack); };
  options.max_examples = 0;
  std::vector<AdviceRow> rows;
  for (const Finding& finding : FindAdvice(source.session, options).findings) {
    if (rows.size() == kMostAdvice) break;
    rows.push_back({finding.device, std::string(PatternId(finding.pattern)), finding.saves_bytes,
                    source.sites.NameOf(finding.stack),
                    absl::StrCat(finding.why, finding.fix.empty() ? "" : " ", finding.fix)});
  }
  return rows;
}

}  // namespace memprof::analysis::fleet
