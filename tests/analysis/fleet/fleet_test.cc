// The tables of a fleet against sums made allocation by allocation and event by event.
#include "analysis/fleet/fleet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "analysis/fleet/hash.h"
#include "analysis/leaks/clock.h"
#include "analysis/report/report.h"
#include "analysis/symbols/site_key.h"
#include "tests/analysis/fleet/rolled_up.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Fleet;
using testing::LogBuilder;
using testing::RandomLog;

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

TEST(FleetSiteSteps, ChoosesSitesByWhatTheyKeepPeakAndAllocate) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  const auto stack = [&log](int site) {
    return log.Stack(
        {"main (a.py:1)", "f" + std::to_string(site) + " (a.py:" + std::to_string(site + 2) + ")"});
  };
  constexpr int kAtPeak = 1000, kBorn = 1001;
  for (std::uint64_t step = 0; step < 11; ++step) {
    log.Step(step);
    if (step == 0)
      for (int site = 0; site < 101; ++site)
        log.Alloc(Layer::kLinear, 0x100000 + 0x10000 * site, 1000 + site, {.stack = stack(site)});
    if (step == 5) {
      log.Alloc(Layer::kLinear, 0x10, 5000, {.stack = stack(kAtPeak)});
      log.Free(0x10);
    }
    for (int i = 0; i < 20; ++i) {  // 2,000 bytes a step, 100 at once
      log.Alloc(Layer::kLinear, 0x20, 100, {.stack = stack(kBorn)});
      log.Free(0x20);
    }
  }
  Fleet fleet(log);
  ExpectSiteSteps(fleet);
  std::set<int> lines;
  for (const SiteRow& site : fleet.rows.sites) lines.insert(site.line);
  EXPECT_EQ(lines.size(), kMostSites);
  EXPECT_TRUE(lines.contains(kAtPeak + 2));
  EXPECT_TRUE(lines.contains(kBorn + 2));
  EXPECT_FALSE(lines.contains(0 + 2));  // the three smallest are in the rest
  EXPECT_FALSE(lines.contains(2 + 2));
  EXPECT_TRUE(lines.contains(3 + 2));
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

}  // namespace
}  // namespace memprof::analysis
