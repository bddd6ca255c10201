// The tables of a fleet against sums made allocation by allocation and event by event.
#include "analysis/fleet/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/fleet/hash.h"
#include "analysis/leaks/clock.h"
#include "analysis/report/report.h"
#include "analysis/symbols/site_key.h"
#include "tests/support/random_log.h"
#include "tests/support/training_log.h"

namespace memprof::analysis {
namespace {

using ::testing::IsEmpty;
using testing::LogBuilder;
using testing::RandomLog;

struct Fleet {
  explicit Fleet(std::shared_ptr<const Session> opened)
      : session(std::move(opened)), symbols(session), rows(RollUp(session, symbols)) {}
  explicit Fleet(const LogBuilder& log) : Fleet(testing::LoadLog(log)) {}
  std::shared_ptr<const Session> session;
  Symbols symbols;
  FleetRows rows;
};

// Live bytes right after an event; -1: before the first.
std::uint64_t SumAfter(const Session& session, std::int64_t event, int device,
                       bool (*counts)(Layer)) {
  std::uint64_t sum = 0;
  for (const Allocation& a : session.allocations())
    if (a.device == device && counts(a.layer) && a.birth.value <= event &&
        (!a.death.valid() || a.death.value > event))
      sum += a.bytes;
  return sum;
}

std::uint64_t Highest(const Session& session, EventId begin, std::uint32_t end, int device,
                      bool (*counts)(Layer)) {
  std::uint64_t most = 0;  // begins with what held before the step
  for (std::int64_t event = std::int64_t{begin.value} - 1; event < end; ++event)
    most = std::max(most, SumAfter(session, event, device, counts));
  return most;
}

bool IsBlock(Layer layer) { return layer == Layer::kBlock; }
bool IsSegment(Layer layer) { return layer == Layer::kSegment; }

TEST(FleetSteps, AgreeWithSumsOfEveryEvent) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    RandomLog log({.seed = seed, .operations = 150, .steps = 6});
    const Fleet fleet(log.builder());
    const Session& session = *fleet.session;
    const StepClock clock(session);
    ASSERT_EQ(fleet.rows.rank_step.size(), 2u * (clock.completed() + 1));
    for (std::size_t i = 0; i < fleet.rows.rank_step.size(); ++i) {
      const StepRow& row = fleet.rows.rank_step[i];
      const auto index = static_cast<std::int64_t>(i % (clock.completed() + 1));
      const bool last = index == clock.completed();
      const EventId begin = clock.BeginOf(index);
      const std::uint32_t end = last ? static_cast<std::uint32_t>(session.events().size())
                                     : clock.BeginOf(index + 1).value;
      EXPECT_EQ(row.step, clock.NumberOf(index));
      EXPECT_EQ(row.began, session.events().time(begin.value) - session.run().start_time);
      EXPECT_EQ(row.peak, Highest(session, begin, end, row.device, OccupiesDevice));
      EXPECT_EQ(row.allocated_peak, Highest(session, begin, end, row.device, IsBlock));
      EXPECT_EQ(row.reserved_peak, Highest(session, begin, end, row.device, IsSegment));
      EXPECT_EQ(row.duration.has_value(), !last);
      EXPECT_EQ(row.allocated_end.has_value(), !last);
      if (last) continue;
      EXPECT_EQ(*row.duration, session.events().time(end) - session.events().time(begin.value));
      EXPECT_EQ(row.allocated_end, SumAfter(session, std::int64_t{end} - 1, row.device, IsBlock));
      EXPECT_EQ(row.reserved_end, SumAfter(session, std::int64_t{end} - 1, row.device, IsSegment));
    }
  }
}

// Blocks, and driver memory in which nothing of an allocator ever lay.
bool IsLeaf(const Session& session, AllocationId id) {
  const Allocation a = session.allocation(id);
  if (a.device == kNoDevice) return false;
  if (a.layer == Layer::kBlock) return true;
  if (!OccupiesDevice(a.layer)) return false;
  return std::ranges::none_of(session.Children(id), [&](AllocationId child) {
    const Layer layer = session.record(child).layer;
    return layer == Layer::kBlock || layer == Layer::kSegment;
  });
}

// The rows as they are defined, for each part and allocation anew; `named`: sites with rows of
// their own.
std::vector<SiteStepRow> SlowSiteSteps(Fleet& fleet, const std::vector<std::string>& named) {
  const Session& session = *fleet.session;
  const StepClock clock(session);
  const std::int64_t steps = clock.completed();
  const std::int64_t parts = steps == 0 ? 1 : std::min(steps, kMostParts);
  const auto peaks = FindPeaks(session);
  std::map<std::tuple<int, std::string, std::int64_t>, SiteStepRow> rows;
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::int64_t first = steps * part / parts, next = steps * (part + 1) / parts;
    const std::uint32_t begin = steps == 0 ? 0 : clock.BeginOf(first).value;
    const auto end = steps == 0 ? static_cast<std::uint32_t>(session.events().size())
                                : clock.BeginOf(next).value;
    for (std::uint32_t i = 0; i < session.allocations().size(); ++i) {
      if (!IsLeaf(session, AllocationId(i))) continue;
      const Allocation a = session.allocation(AllocationId(i));
      std::string site = StableHash(SiteKey(fleet.symbols, a.stack));
      if (!a.stack.valid() || std::ranges::find(named, site) == named.end()) site = "";
      SiteStepRow& row = rows[{a.device, site, part}];
      row.device = a.device;
      row.site = site;
      if (steps > 0) {
        row.first_step = clock.NumberOf(first);
        row.last_step = clock.NumberOf(next - 1);
      }
      const std::uint64_t death = a.death.valid() ? a.death.value : ~std::uint64_t{0};
      const bool born = a.birth.value >= begin && a.birth.value < end;
      const bool alive = a.birth.value < end && death >= end;
      row.born += born ? a.bytes : 0;
      row.born_blocks += born;
      row.alive += alive ? a.bytes : 0;
      row.alive_blocks += alive;
      for (const Peak& peak : peaks)
        if (peak.device == a.device && a.birth <= peak.event && death > peak.event.value)
          row.at_peak += a.bytes;
    }
  }
  std::vector<SiteStepRow> list;
  for (auto& [key, row] : rows)
    if (row.born_blocks + row.alive_blocks + row.at_peak > 0) list.push_back(row);
  return list;
}

std::vector<std::string> NamedIn(const std::vector<SiteStepRow>& rows) {
  std::vector<std::string> named;
  for (const SiteStepRow& row : rows)
    if (!row.site.empty()) named.push_back(row.site);
  return named;
}

void ExpectSiteSteps(Fleet& fleet) {
  std::vector<SiteStepRow> rows = fleet.rows.rank_site_step;
  const auto order = [](const SiteStepRow& row) {
    return std::tuple(row.device, row.site, row.first_step);
  };
  std::vector<SiteStepRow> expected = SlowSiteSteps(fleet, NamedIn(rows));
  std::ranges::sort(rows, {}, order);
  std::ranges::sort(expected, {}, order);
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    EXPECT_EQ(rows[i], expected[i])
        << i << ": " << rows[i].site << " " << rows[i].alive << " " << expected[i].alive;
}

TEST(FleetSiteSteps, AgreeWithSumsOfEveryPart) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    RandomLog log({.seed = seed, .operations = 300, .steps = seed == 4 ? 0 : 9});
    Fleet fleet(log.builder());
    ExpectSiteSteps(fleet);
    EXPECT_FALSE(fleet.rows.rank_site_step.empty());
    EXPECT_EQ(fleet.rows.rank_site_step[0].first_step.has_value(), seed != 4);
  }
}

TEST(FleetSiteSteps, AreAtMostSoManyPartsAndSites) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  std::uint64_t address = 0x1000;
  for (std::uint64_t step = 0; step < 200; ++step) {
    log.Step(step * 10);  // numbers are not indices
    for (std::uint64_t site = 0; site < 120; site += step == 0 ? 1 : 40) {
      const int stack =
          log.Stack({"main (a.py:1)",
                     "f" + std::to_string(site) + " (a.py:" + std::to_string(site + 2) + ")"});
      log.Alloc(Layer::kLinear, address, 1024 + site, {.stack = stack});
      address += 0x10000;
    }
    log.Alloc(Layer::kLinear, address, 100'000);  // without a stack
    log.Free(address);
  }
  Fleet fleet(log);
  ExpectSiteSteps(fleet);
  const std::vector<std::string> named = NamedIn(fleet.rows.rank_site_step);
  std::map<std::string, int> parts;
  for (const SiteStepRow& row : fleet.rows.rank_site_step) ++parts[row.site];
  EXPECT_EQ(parts.size(), kMostSites + 1);
  for (const auto& [site, count] : parts) EXPECT_EQ(count, kMostParts);
  EXPECT_EQ(fleet.rows.rank_site_step.back().last_step, 1980);  // the last step is not completed
  EXPECT_EQ(fleet.rows.run.steps, 199u);
  // The 20 smallest, f1 to f20, are in the rest; f0 allocated often.
  EXPECT_EQ(fleet.rows.sites.size(), kMostSites);
  for (const SiteRow& site : fleet.rows.sites)
    EXPECT_TRUE(site.line == 2 || site.line >= 23) << site.name;
}

TEST(FleetSites, AreTheSameInEveryLog) {
  const auto sites = [](int before) {
    LogBuilder log;
    for (int i = 0; i < before; ++i)
      log.Alloc(Layer::kLinear, 0x900000 + 0x1000 * i, 64,
                {.stack = log.Stack({"main (a.py:1)", "Other (b.py:" + std::to_string(i) + ")"})});
    log.Alloc(Layer::kLinear, 0x1000, 4096,
              {.stack = log.Stack({"main (a.py:1)", "Step (a.py:9)"})});
    return Fleet(log).rows.sites;
  };
  const auto step = [](const std::vector<SiteRow>& rows) {
    const auto at = std::ranges::find(rows, "Step", &SiteRow::function);
    return at == rows.end() ? SiteRow() : *at;
  };
  const SiteRow alone = step(sites(0)), among = step(sites(5));
  EXPECT_EQ(alone.site.size(), 32u);
  EXPECT_EQ(alone.site, among.site);
  EXPECT_EQ(alone.site, StableHash(alone.key));
  EXPECT_EQ(alone.name, "Step (a.py:9)");
  EXPECT_EQ(alone.file, "a.py");
  EXPECT_EQ(alone.line, 9);
}

TEST(FleetLedger, ClosesAndSplitsWhatAllocatorsDivide) {
  LogBuilder log;
  log.Device(0, 1 << 20);
  log.Alloc(Layer::kLinear, 0x10000, 0x8000);
  log.Alloc(Layer::kSegment, 0x10000, 0x8000);
  log.Alloc(Layer::kBlock, 0x10000, 0x3000);
  log.Alloc(Layer::kLinear, 0x40000, 0x1000);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, 0x60000, 0,
            {.aux0 = 1 << 20, .aux1 = 1 + 0x50000});
  const Fleet fleet(log);
  std::map<std::string, std::uint64_t> end;
  std::uint64_t sum = 0;
  for (const LedgerRow& row : fleet.rows.ledger) {
    if (row.moment != "end") continue;
    end[row.kind] = row.size;
    sum += row.size;
  }
  EXPECT_EQ(end["blocks"], 0x3000u);
  EXPECT_EQ(end["cached"], 0x5000u);
  EXPECT_EQ(end["linear"], 0x1000u);
  EXPECT_EQ(end["others"], 0x50000u);
  EXPECT_EQ(end["free"], 0x60000u);
  EXPECT_EQ(sum, 1u << 20);
  EXPECT_EQ(fleet.rows.run.others_peak, 0x50000u);
}

TEST(FleetLedger, OfRandomLogsHoldsWhatTheReportHolds) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    RandomLog log({.seed = seed, .operations = 200});
    const Fleet fleet(log.builder());
    for (const DeviceFigures& device : BuildReport(*fleet.session).devices) {
      std::map<std::string, std::uint64_t> sums;
      for (const LedgerRow& row : fleet.rows.ledger)
        if (row.device == device.info.id && row.kind != "pools") sums[row.moment] += row.size;
      EXPECT_EQ(sums["end"], device.live_bytes);
    }
  }
}

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
  log.Alloc(Layer::kBlock, 0x200000, 0x10000, {.stack = b});
  const Fleet fleet(log);
  ASSERT_EQ(fleet.rows.fragmentation.size(), 2u);
  const FragmentationRow &whole = fleet.rows.fragmentation[0], &site = fleet.rows.fragmentation[1];
  EXPECT_EQ(whole.site, "");
  EXPECT_EQ(whole.reserved, 0x20000u);
  EXPECT_EQ(whole.allocated, 0x11000u);
  EXPECT_EQ(whole.pinned, 0xf000u);
  EXPECT_EQ(whole.unusable, fleet.rows.run.unusable_at_peak);
  const auto named = std::ranges::find(fleet.rows.sites, site.site, &SiteRow::site);
  ASSERT_NE(named, fleet.rows.sites.end());
  EXPECT_EQ(named->function, "Small");
  EXPECT_EQ(site.pinned, 0xf000u);  // the hole before it and the one behind
}

TEST(FleetRun, OfALogWithoutMemory) {
  LogBuilder log;
  log.Step(1);
  const Fleet fleet(log);
  EXPECT_EQ(fleet.rows.run.device, kNoDevice);
  EXPECT_FALSE(fleet.rows.run.peak.has_value());
  EXPECT_FALSE(fleet.rows.run.expandable.has_value());
  EXPECT_THAT(fleet.rows.rank_step, IsEmpty());
  EXPECT_THAT(fleet.rows.rank_site_step, IsEmpty());
}

TEST(FleetRun, SaysHowItEndedAndWhatIsMissing) {
  const auto run = [](void (*change)(LogBuilder&), bool trailer = true) {
    LogBuilder log;
    log.Alloc(Layer::kLinear, 0x1000, 64);
    change(log);
    return Fleet(testing::LoadLog(log, {.trailer = trailer})).rows.run;
  };
  const auto nothing = [](LogBuilder&) {};
  EXPECT_EQ(run(nothing).ended, "clean");
  EXPECT_EQ(run(nothing, false).ended, "killed");
  EXPECT_EQ(run(nothing).losses, "");
  EXPECT_FALSE(run(nothing).recorder_cost.has_value());
  const RunRow lossy = run([](LogBuilder& log) {
    log.Count("events_lost", 3);
    log.Count("definitions_lost", 2);
    log.Count("unmatched_frees", 9);  // no loss
    log.self().set_events(10);
    log.self().set_hook_time_ns(70);
  });
  EXPECT_EQ(lossy.events_lost, 3u);
  EXPECT_EQ(lossy.losses, "events_lost 3, definitions_lost 2");
  EXPECT_EQ(lossy.recorder_cost, 70u);
}

TEST(FleetRun, TellsWhetherSegmentsGrow) {
  for (const bool grows : {false, true}) {
    LogBuilder log;
    log.Device(0, 1 << 30);
    log.header().add_environment("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
    if (grows) {
      log.Alloc(Layer::kVmmPhysical, 0x77, 0x200000);
      log.Event(Op::kMap, Layer::kVmmPhysical, 0x400000, 0x200000, 0, {.aux0 = 0x77});
    } else {
      log.Alloc(Layer::kLinear, 0x400000, 0x200000);
    }
    log.Alloc(Layer::kSegment, 0x400000, 0x200000);
    log.Alloc(Layer::kBlock, 0x400000, 0x1000);
    const Fleet fleet(log);
    EXPECT_EQ(fleet.rows.run.expandable, grows);
    EXPECT_EQ(fleet.rows.run.allocator_settings, "expandable_segments:True");
  }
}

}  // namespace
}  // namespace memprof::analysis
