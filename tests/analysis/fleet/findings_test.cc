// What the analyses found, against the analyses and by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/advice/advice.h"
#include "analysis/categories/categories.h"
#include "analysis/fleet/hash.h"
#include "analysis/oom/oom.h"
#include "analysis/report/report.h"
#include "analysis/symbols/site_key.h"
#include "tests/analysis/fleet/rolled_up.h"
#include "tests/analysis/remedies/training_log.h"
#include "tests/support/random_log.h"
#include "tests/support/training_log.h"

namespace memprof::analysis {
namespace {

using testing::Fleet;
using testing::LogBuilder;
using testing::RandomLog;

TEST(FleetFindings, AreTheReports) {
  LogBuilder log;
  testing::WriteTrainingRun({.steps = 40, .leak = true, .marks = true}, &log);
  const Fleet fleet(log);
  const Report report = BuildReport(*fleet.session);
  ASSERT_FALSE(report.leaks.leaks.empty());
  ASSERT_EQ(fleet.rows.leaks.size(), report.leaks.leaks.size());
  const Leak& leak = report.leaks.leaks[0];
  const LeakRow& row = fleet.rows.leaks[0];
  EXPECT_EQ(row.size, leak.bytes);
  EXPECT_EQ(row.slope, leak.bytes_per_step);
  EXPECT_EQ(row.first_step, leak.first_step);
  EXPECT_EQ(row.tier, LeakTierName(leak.tier));
  Symbols symbols(fleet.session);
  EXPECT_EQ(row.site, StableHash(SiteKey(symbols, leak.stack)));
  EXPECT_NE(std::ranges::find(fleet.rows.sites, row.site, &SiteRow::site), fleet.rows.sites.end());
  std::uint64_t in_categories = 0;
  for (const CategoryRow& category : fleet.rows.categories) in_categories += category.size;
  const Peak& peak = report.peaks.at(0);
  EXPECT_EQ(in_categories,
            std::max(peak.bytes, peak.by_layer[int{static_cast<int>(Layer::kBlock)}]));
  EXPECT_FALSE(fleet.rows.advice.empty());
  EXPECT_EQ(fleet.rows.run.verdict, report.leaks.verdict);
}

TEST(FleetFindings, HaveTheRemediesOfThePeak) {
  const Fleet fleet(  // the peak is in the optimizer's step
      testing::TrainingLog({.kept = 512 * 1024, .result = 128 * 1024, .scratch = 64 * 1024})
          .Load());
  EXPECT_TRUE(std::ranges::any_of(fleet.rows.advice, [](const AdviceRow& row) {
    return row.kind == PatternId(Pattern::kFusedStep);
  }));
}

TEST(FleetFragmentation, NamesWhoPins) {
  LogBuilder log;
  const int a = log.Stack({"main (a.py:1)", "Small (a.py:5)"});
  const int b = log.Stack({"main (a.py:1)", "Large (a.py:7)"});
  log.Alloc(Layer::kLinear, 0x100000, 0x10000);
  log.Alloc(Layer::kSegment, 0x100000, 0x10000);
  log.Alloc(Layer::kBlock, 0x100000, 0x4000, {.stack = b});
  log.Alloc(Layer::kBlock, 0x104000, 0x1000, {.stack = a});
  log.Free(Layer::kBlock, 0x100000);
  log.Alloc(Layer::kLinear, 0x200000, 0x10000);
  log.Alloc(Layer::kSegment, 0x200000, 0x10000);
  log.Alloc(Layer::kBlock, 0x200000, 0x7000, {.stack = a});
  log.Alloc(Layer::kBlock, 0x209000, 0x7000, {.stack = a});
  const Fleet fleet(log);
  ASSERT_EQ(fleet.rows.fragmentation.size(), 2u);
  const FragmentationRow &whole = fleet.rows.fragmentation[0], &site = fleet.rows.fragmentation[1];
  EXPECT_EQ(whole.site, "");
  EXPECT_EQ(whole.reserved, 0x20000u);
  EXPECT_EQ(whole.allocated, 0xf000u);
  EXPECT_EQ(whole.pinned, 0x11000u);
  EXPECT_EQ(whole.unusable, 0x6000u);  // no room for the largest request, 0x7000
  EXPECT_EQ(whole.unusable, fleet.rows.run.unusable_at_peak);
  const auto named = std::ranges::find(fleet.rows.sites, site.site, &SiteRow::site);
  ASSERT_NE(named, fleet.rows.sites.end());
  EXPECT_EQ(named->function, "Small");
  // The hole before the first block, that behind it, and once that between the other two.
  EXPECT_EQ(site.pinned, 0x11000u);
}

TEST(FleetCategories, AreSumsOverWhatWasLiveAtThePeak) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    RandomLog log({.seed = seed, .operations = 200});
    Fleet fleet(log.builder());
    const Categories categories(*fleet.session, &fleet.symbols);
    std::map<std::pair<int, std::string>, std::uint64_t> expected, found;
    for (const Peak& peak : FindPeaks(*fleet.session)) {
      for (std::uint32_t i = 0; i < fleet.session->allocations().size(); ++i) {
        const Allocation a = fleet.session->allocation(AllocationId(i));
        const bool live = a.birth <= peak.event && (!a.death.valid() || a.death > peak.event);
        const bool counts =
            a.layer == Layer::kBlock ||
            (OccupiesDevice(a.layer) && !fleet.session->IsSuballocated(AllocationId(i)));
        if (!live || !counts || a.device != peak.device) continue;
        const auto category = categories.Of(AllocationId(i)).category;
        expected[{a.device, std::string(CategoryName(category))}] += a.bytes;
      }
    }
    for (const CategoryRow& row : fleet.rows.categories)
      if (row.category != CategoryName(Category::kSlack))
        found[{row.device, row.category}] += row.size;
    EXPECT_EQ(found, expected);
  }
}

TEST(FleetLeaks, NameTheHolder) {
  LogBuilder log;
  const int site = log.Stack({"main (a.py:1)", "Keep (a.py:5)"});
  const std::uint32_t words = log.String("list `kept` (global `kept`, a.py:2)\nglobal `kept`");
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x10000 * (step + 1), 4096, {.stack = site});
  }
  for (std::uint64_t step = 0; step < 40; ++step)
    log.Event(Op::kHeld, Layer::kUnspecified, 0x10000 * (step + 1), 4096, words, {.aux0 = 1});
  log.Event(Op::kHolders, Layer::kUnspecified, 0, 0, 0, {.device = kNoDevice});
  const Fleet fleet(log);
  ASSERT_EQ(fleet.rows.leaks.size(), 1u);
  EXPECT_EQ(fleet.rows.leaks[0].holder, "list `kept` (global `kept`, a.py:2)");
  EXPECT_EQ(fleet.rows.leaks[0].basis, "steps");
  EXPECT_EQ(fleet.rows.leaks[0].slope, 4096);
}

TEST(FleetOoms, SayWhatFilledTheDevice) {
  LogBuilder log;
  log.Device(0, 1 << 20);
  const int leak = log.Stack({"main (a.py:1)", "Keep (a.py:5)"});
  const int asks = log.Stack({"main (a.py:1)", "Ask (a.py:9)"});
  for (std::uint64_t step = 0; step < 30; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x10000 * (step + 1), 0x8000, {.stack = leak});
  }
  log.AllocFailed(Layer::kLinear, 0x20000,
                  {.stack = asks, .aux0 = 0x10000, .aux1 = 1 << 20, .result = 2});
  Fleet fleet(log);
  ASSERT_EQ(fleet.rows.ooms.size(), 1u);
  const OomRow& row = fleet.rows.ooms[0];
  const auto function = [&fleet](const std::string& site) {
    const auto at = std::ranges::find(fleet.rows.sites, site, &SiteRow::site);
    return at == fleet.rows.sites.end() ? "" : at->function;
  };
  EXPECT_EQ(row.asked, 0x20000u);
  EXPECT_EQ(row.free, 0x10000u);
  EXPECT_EQ(row.step, 29);
  EXPECT_EQ(row.cause, "capacity");
  SiteGroups groups(*fleet.session, fleet.symbols);
  FailureExplainer explainer(*fleet.session, fleet.symbols, groups);
  const FailureReport report = explainer.Explain(FindFailures(*fleet.session).at(0));
  ASSERT_TRUE(report.remedies.at(0).fits);  // sufficient ones come first
  EXPECT_EQ(row.remedy, RemedyKindName(report.remedies[0].kind));
  EXPECT_FALSE(row.recovered);
  EXPECT_EQ(function(row.site), "Ask");
  EXPECT_EQ(function(row.growth_site), "Keep");
  EXPECT_EQ(fleet.rows.run.failures, 1u);
}

TEST(FleetOoms, OnlyTheLastAreExplained) {
  LogBuilder log;
  log.Device(0, 1 << 20);
  for (std::uint64_t i = 0; i < 50; ++i) {
    log.Step(i);
    log.Alloc(Layer::kLinear, 0x1000, 64);
    log.AllocFailed(Layer::kLinear, (i + 1) << 21, {.aux0 = 1 << 19, .aux1 = 1 << 20, .result = 2});
    log.Free(0x1000);
  }
  const Fleet fleet(log);
  const auto failures = FindFailures(*fleet.session);
  ASSERT_GT(failures.size(), 20u);
  ASSERT_EQ(fleet.rows.ooms.size(), failures.size());
  for (std::size_t i = 0; i < failures.size(); ++i) {
    EXPECT_EQ(fleet.rows.ooms[i].asked, failures[i].bytes);
    EXPECT_EQ(fleet.rows.ooms[i].cause, i + 20 < failures.size() ? "" : "too_large");
  }
}

}  // namespace
}  // namespace memprof::analysis
