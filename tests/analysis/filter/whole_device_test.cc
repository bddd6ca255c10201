// Stacks up to the capacity of the device, against sums over all allocations at every event.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "analysis/filter/timeline_groups.h"
#include "analysis/timeline/device_rest.h"
#include "analysis/timeline/ledger.h"
#include "analysis/timeline/pool_changes.h"
#include "tests/analysis/filter/timeline_groups_fixture.h"

namespace memprof::analysis {
namespace {

using testing::Loaded;
using testing::LogBuilder;
using testing::RandomLog;

constexpr std::uint64_t kCapacity = 100'000;

void Sample(LogBuilder& log, int device, std::uint64_t used, std::uint64_t others = 0) {
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, kCapacity - used, 0,
            {.device = device, .aux0 = kCapacity, .aux1 = others});  // 1 + others; 0 = not known
}

// Driver memory, modules, pools and samples, on two devices.
void FillRandomly(LogBuilder& log, std::uint32_t seed, int events) {
  std::mt19937 random(seed);
  std::map<std::uint64_t, Layer> live;
  for (const int device : {0, 1}) log.Device(device, kCapacity);
  for (int i = 0; i < events; ++i) {
    const int device = static_cast<int>(random() % 2);
    log.AdvanceTime(1 + random() % 3 * 500);
    const std::uint64_t address = 0x100'000 * (1 + random() % 12) + 0x10'000'000u * (device + 1u);
    const std::uint64_t bytes = 1 + random() % 5000;
    const EventFields of{.device = device};
    switch (random() % 5) {
      case 0:
        Sample(log, device, random() % kCapacity, random() % 2 * (1 + random() % 40'000));
        break;
      case 1:
        log.Event(Op::kPoolSample, Layer::kStreamOrdered, 0, bytes, 0, of);
        break;
      default:
        if (const auto at = live.find(address); at != live.end()) {
          if (at->second == Layer::kModule)
            log.Event(Op::kModuleUnload, Layer::kModule, address, 0, 0, of);
          else
            log.Free(at->second, address, of);
          live.erase(at);
        } else {
          const Layer layer = random() % 3 == 0   ? Layer::kModule
                              : random() % 2 == 0 ? Layer::kLinear
                                                  : Layer::kStreamOrdered;
          live[address] = layer;
          if (layer == Layer::kModule)
            log.Event(Op::kModuleLoad, layer, address, 7, 0, {.device = device, .aux0 = bytes});
          else
            log.Alloc(layer, address, bytes, of);
        }
    }
  }
}

std::uint64_t Live(const Session& session, int device, std::uint32_t event, bool modules) {
  std::uint64_t bytes = 0;
  for (const AllocationRecord& a : session.records()) {
    const bool counts = modules ? a.layer == Layer::kModule : OccupiesDevice(a.layer);
    if (a.device == device && counts && a.birth.value <= event &&
        (!a.death.valid() || a.death.value > event))
      bytes += a.bytes;
  }
  return bytes;
}

// The bytes of each kind of band above the program's, after an event.
std::map<StackBandKind, std::uint64_t> RestByHand(const Session& session, int device,
                                                  std::uint32_t event) {
  const auto pools = PoolsOf(session);
  std::int64_t outside = 0;  // code and untracked, at the last sample, minus code
  std::uint64_t others = 0;
  bool sampled = false;
  for (const MemorySample& sample : SamplesOf(session)->Of(device)) {
    if (sample.event.value > event) break;
    const auto known = static_cast<std::int64_t>(Live(session, device, sample.event.value, false) +
                                                 Live(session, device, sample.event.value, true) +
                                                 pools->Of(device).After(sample.event));
    const auto used = static_cast<std::int64_t>(sample.used_bytes());
    others = sample.others_bytes.value_or(std::min<std::uint64_t>(
        others, static_cast<std::uint64_t>(std::max<std::int64_t>(0, used - known))));
    outside = used - known - static_cast<std::int64_t>(others);
    sampled = true;
  }
  const std::uint64_t program =
      Live(session, device, event, false) + pools->Of(device).After(EventId(event));
  const auto code = static_cast<std::int64_t>(Live(session, device, event, true));
  std::uint64_t left = kCapacity - std::min(kCapacity, program);
  std::map<StackBandKind, std::uint64_t> rest;
  const auto take = [&](StackBandKind kind, std::int64_t bytes) {
    rest[kind] = std::min(left, static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes)));
    left -= rest[kind];
  };
  take(StackBandKind::kCode, std::min(code, code + outside));
  take(StackBandKind::kUntracked, outside);
  take(StackBandKind::kOtherProcesses, static_cast<std::int64_t>(others));
  rest[sampled ? StackBandKind::kFree : StackBandKind::kUnsampled] = left;
  return rest;
}

TEST(WholeDeviceTest, EveryByteIsThatOfSumsByHand) {
  int unsampled = 0, elsewhere = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    LogBuilder log;
    FillRandomly(log, seed, 400);  // several blocks of events
    const Loaded loaded(log);
    const Session& session = *loaded.session;
    for (const int device : {0, 1}) {
      TimelineQuery query = loaded.Query(TimelineGrouping::kLayer, seed % 2 == 0);
      query.whole_device = true;
      const TimelineStack* kinds = loaded.KindsOf(device);
      ASSERT_NE(kinds, nullptr);
      const TimelineStack stack(*kinds, FindGroups(*kinds, query));
      const EventTable& events = session.events();
      std::uint64_t most_used = 0;
      for (std::uint32_t e = 0; e < events.size(); ++e) {
        auto expected = RestByHand(session, device, e);
        if (!expected.contains(StackBandKind::kUnsampled))
          most_used = std::max(most_used, kCapacity - expected[StackBandKind::kFree]);
        elsewhere += expected[StackBandKind::kCode] < Live(session, device, e, true);
        const std::vector<std::uint64_t> bytes = stack.BytesAt(events.time(e));
        for (std::size_t b = 0; b < bytes.size(); ++b) {
          const StackBandKind kind = stack.bands()[b].kind;
          if (kind < StackBandKind::kCode) continue;
          ASSERT_EQ(bytes[b], expected[kind])
              << "kind " << static_cast<int>(kind) << " event " << e;
          unsampled += kind == StackBandKind::kUnsampled && bytes[b] > 0;
          expected.erase(kind);
        }
        for (const auto& [kind, left] : expected)
          ASSERT_EQ(left, 0u) << "no band " << static_cast<int>(kind) << " event " << e;
        ASSERT_EQ(stack.At(TimelineStack::Line::kTop, events.time(e)), kCapacity);
      }
      const DeviceRest& rest = RestsOf(session)->at(device);
      EXPECT_EQ(rest.capacity, kCapacity);
      EXPECT_GE(rest.most_used, most_used);
    }
  }
  EXPECT_GT(unsampled, 10);
  EXPECT_GT(elsewhere, 10);
}

// Columns use the least and the most of whole blocks of events, with a sample anywhere in them.
TEST(WholeDeviceTest, ColumnsHaveEveryLeastAndMost) {
  LogBuilder log;
  FillRandomly(log, 99, 3000);
  const Loaded loaded(log);
  TimelineQuery query = loaded.Query(TimelineGrouping::kKind, false);
  query.whole_device = true;
  const TimelineStack stack(*loaded.KindsOf(0), FindGroups(*loaded.KindsOf(0), query));
  const EventTable& events = loaded.session->events();
  std::vector<std::vector<std::uint64_t>> edges;  // after each event
  for (std::uint32_t e = 0; e < events.size(); ++e) {
    edges.push_back(stack.BytesAt(events.time(e)));
    std::partial_sum(edges.back().begin(), edges.back().end(), edges.back().begin());
  }
  std::vector<TimeNs> times;
  for (std::uint32_t e = 0; e < events.size(); e += 1 + e % 7 * 90) times.push_back(events.time(e));
  const TimelineStack::Columns columns = stack.Edges(times);
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    for (std::size_t b = 0; b < stack.bands().size(); ++b) {
      std::uint64_t least = ~std::uint64_t{0}, most = 0;
      for (std::uint32_t e = 0; e < events.size(); ++e) {
        if (events.time(e) < times[i] || events.time(e) >= times[i + 1]) continue;
        least = std::min(least, edges[e][b]);
        most = std::max(most, edges[e][b]);
      }
      ASSERT_EQ(columns.low[b][i], least) << "band " << b << " column " << i;
      ASSERT_EQ(columns.high[b][i], most) << "band " << b << " column " << i;
    }
  }
}

TEST(WholeDeviceTest, MostUsedIsBetweenSamplesToo) {
  LogBuilder log;
  log.Device(0, kCapacity);
  log.Alloc(Layer::kLinear, 0x1000, 100);
  Sample(log, 0, 5100, 1 + 2000);
  log.AdvanceTime(10);
  log.Alloc(Layer::kLinear, 0x2000, 40'000);
  log.Free(0x2000);
  log.AdvanceTime(10);
  Sample(log, 0, 5200);  // others are not known: those of before are held
  const Loaded loaded(log);
  const DeviceRest& rest = RestsOf(*loaded.session)->at(0);
  EXPECT_EQ(rest.most_used, 45'100u);
  ASSERT_EQ(rest.changes.size(), 2u);
  EXPECT_EQ(rest.changes[0].untracked, 3000u);
  EXPECT_EQ(rest.changes[1].untracked, 3100u);
  EXPECT_EQ(rest.changes[1].others, 2000u);
}

// Every band but the hidden ones keeps its bytes, and the lines count all.
TEST(HiddenBandsTest, LeaveTheStackOnly) {
  RandomLog random({.seed = 21, .operations = 1500});
  const Loaded log(random.builder());
  const TimelineStack* kinds = log.KindsOf(0);
  for (const TimelineGrouping grouping :
       {TimelineGrouping::kKind, TimelineGrouping::kLayer, TimelineGrouping::kSite}) {
    const TimelineStack all(*kinds, FindGroups(*kinds, log.Query(grouping, true)));
    const std::size_t n = all.bands().size();
    for (std::uint32_t mask = 1; mask < (1u << n); mask += 1 + mask % 5) {
      TimelineQuery query = log.Query(grouping, true);
      for (std::size_t b = 0; b < n; ++b)
        if ((mask >> b & 1) != 0) query.hidden.push_back(all.bands()[b]);
      const TimelineStack some(*kinds, FindGroups(*kinds, query));
      ASSERT_EQ(some.bands().size(), n);
      for (const TimelineStack::Line line :
           {TimelineStack::Line::kInUse, TimelineStack::Line::kAllocated}) {
        EXPECT_EQ(some.Max(line), all.Max(line));
        EXPECT_EQ(some.TimeOfMax(line), all.TimeOfMax(line));
      }
      std::vector<TimeNs> times;
      const EventTable& events = log.session->events();
      for (std::uint32_t e = 0; e < events.size(); e += 301) times.push_back(events.time(e));
      for (const TimeNs time : times) {
        std::vector<std::uint64_t> expected = all.BytesAt(time);
        for (std::size_t b = 0; b < n; ++b)
          if ((mask >> b & 1) != 0) expected[b] = 0;
        ASSERT_EQ(some.BytesAt(time), expected) << "mask " << mask;
      }
      EXPECT_EQ(some.Edges(times).in_use, all.Edges(times).in_use);
      // A peak of each column's sum is not the sum of the bands' peaks, but never above it.
      const auto edges = some.Edges(times), own = some.Bytes(times);
      for (std::size_t i = 0; i + 1 < times.size(); ++i) {
        std::uint64_t sum = 0;
        for (std::size_t b = 0; b < n; ++b) sum += own.high[b][i];
        ASSERT_LE(edges.high[n - 1][i], sum);
      }
    }
  }
}

// Another filter has another example of the site.
TEST(HiddenBandsTest, ASiteIsHiddenByAnyOfItsStacks) {
  LogBuilder log;
  const std::vector<std::string> alpha = {"main (a.cc:1)", "Alpha (a.cc:9)"};
  log.Alloc(Layer::kLinear, 0x1000, 100, {.stack = log.Stack(alpha)});
  log.Alloc(Layer::kLinear, 0x3000, 10, {.stack = log.Stack({"main (a.cc:1)", "Beta (c.cc:1)"})});
  const Loaded loaded(log);
  TimelineQuery query = loaded.Query(TimelineGrouping::kSite, false);
  query.symbols = nullptr;  // every stack is its own site
  const StackGroups groups = FindGroups(*loaded.KindsOf(0), query);
  ASSERT_EQ(groups.bands.size(), 3u) << "with the rest";
  query.hidden = {groups.bands[0], {.kind = StackBandKind::kSite, .site = StackId(999'999)}};
  const TimelineStack stack(*loaded.KindsOf(0), FindGroups(*loaded.KindsOf(0), query));
  EXPECT_EQ(stack.Max(TimelineStack::Line::kTop), 10u);
  EXPECT_EQ(stack.Max(TimelineStack::Line::kInUse), 110u);
  // Of a random log: by every stack that counts in the group.
  RandomLog random({.seed = 22, .operations = 300});
  const Loaded many(random.builder());
  const TimelineStack* kinds = many.KindsOf(0);
  TimelineQuery by_site = many.Query(TimelineGrouping::kSite, false);
  const StackGroups all = FindGroups(*kinds, by_site);
  for (std::uint32_t s = 0; s + 1 < all.of_stack.size(); ++s) {
    const std::uint8_t group = all.of_stack[s];
    if (group == StackGroups::kNone || all.bands[group].kind != StackBandKind::kSite) continue;
    by_site.hidden = {{.kind = StackBandKind::kSite, .site = StackId(s)}};
    const StackGroups hidden = FindGroups(*kinds, by_site);
    ASSERT_EQ(hidden.hidden.size(), 1u);
    EXPECT_EQ(hidden.hidden[0], all.bands[group]);
  }
}

TEST(WholeDeviceTest, WithoutSamplesThereIsNoRest) {
  LogBuilder log;
  log.Device(0, kCapacity);
  log.Alloc(Layer::kLinear, 0x1000, 100);
  const Loaded loaded(log);
  TimelineQuery query = loaded.Query(TimelineGrouping::kKind, false);
  query.whole_device = true;
  EXPECT_EQ(FindGroups(*loaded.KindsOf(0), query).rest, nullptr);
  EXPECT_TRUE(RestsOf(*loaded.session)->empty());
}

}  // namespace
}  // namespace memprof::analysis
