// Stacked timelines against sums over all allocations at every event.
#include "analysis/filter/timeline_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/store/allocation_set.h"
#include "analysis/timeline/timeline.h"
#include "tests/analysis/filter/timeline_groups_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::Line;
using testing::Loaded;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Thirds;

constexpr TimelineGrouping kGroupings[] = {TimelineGrouping::kKind,     TimelineGrouping::kLayer,
                                           TimelineGrouping::kCategory, TimelineGrouping::kSite,
                                           TimelineGrouping::kStream,   TimelineGrouping::kProcess};

// Whether an allocation belongs to a band, determined without the stack.
bool Belongs(const Loaded& log, const StackBand& band, AllocationId id,
             const std::vector<StackBand>& all) {
  const Allocation a = log.session->allocation(id);
  switch (band.kind) {
    case StackBandKind::kBlocks:
      return a.layer == Layer::kBlock;
    case StackBandKind::kLayer:
      return a.layer == band.layer;
    case StackBandKind::kCategory:
      return log.categories->Of(id).category == band.category;
    case StackBandKind::kSite: {
      const SourceFrame x = log.symbols->Site(a.stack), y = log.symbols->Site(band.site);
      return a.stack.valid() == band.site.valid() && x.function == y.function && x.file == y.file &&
             x.line == y.line;
    }
    case StackBandKind::kStream:
      return a.stream == band.stream;
    case StackBandKind::kProcess:
      return log.session->ProcessOf(a.birth) == band.process;
    case StackBandKind::kOther:
      return std::none_of(all.begin(), all.end(), [&](const StackBand& other) {
        return other.kind != StackBandKind::kOther && Belongs(log, other, id, all);
      });
    default:
      return false;
  }
}

// Bytes of every band at an instant, by a loop over all allocations.
struct PlainBands {
  PlainBands(const Loaded& log, const TimelineStack& stack, const std::vector<StackBand>& bands,
             const AllocationSet* passing, bool blocks, TimeNs time)
      : expected(bands.size(), 0) {
    const Session& session = *log.session;
    for (std::uint32_t i = 0; i < session.records().size(); ++i) {
      const AllocationId id(i);
      const Allocation a = session.allocation(id);
      if (a.device != stack.device() || !a.AliveAt(time)) continue;
      const bool passes = passing == nullptr || passing->Has(id);
      if (a.layer == Layer::kTensor && passes) tensors += a.bytes;
      const bool grouped = stack.device() == kNoDevice ? OccupiesHost(a.layer)
                           : blocks                    ? a.layer == Layer::kBlock
                                                       : OccupiesDevice(a.layer);
      if (!grouped) continue;
      in_use += a.bytes;
      if (passes) within += a.bytes;
      int found = 0;
      for (std::size_t b = 0; b < bands.size(); ++b) {
        const bool here = passes ? Belongs(log, bands[b], id, bands)
                                 : bands[b].kind == StackBandKind::kFilteredOut;
        if (here) expected[b] += a.bytes;
        found += here;
      }
      EXPECT_EQ(found, 1) << "in one band and no other";
    }
    if (!bands.empty() && bands[0].kind == StackBandKind::kTensors) TakeTensorsOut(bands);
  }
  // Subtracts tensors from the groups, the lowest group first.
  void TakeTensorsOut(const std::vector<StackBand>& bands) {
    std::uint64_t rest = expected[0] = std::min(tensors, within);
    for (std::size_t b = 1; b < bands.size(); ++b) {
      const std::uint64_t taken = std::min(rest, expected[b]);
      if (bands[b].kind == StackBandKind::kFilteredOut) break;
      expected[b] -= taken;
      rest -= taken;
    }
  }

  std::vector<std::uint64_t> expected;
  std::uint64_t in_use = 0, tensors = 0, within = 0;
};

// The stack after each event against the reference bands.
void CheckBytes(const Loaded& log, const TimelineStack& stack, TimelineGrouping grouping,
                bool filtered) {
  const Session& session = *log.session;
  const std::vector<StackBand> bands(stack.bands().begin(), stack.bands().end());
  const auto passing = filtered ? Thirds(session) : nullptr;
  const bool host = stack.device() == kNoDevice;
  const bool blocks = stack.framework() && grouping != TimelineGrouping::kLayer;
  std::map<TimeNs, std::uint32_t> last;  // event of each time
  for (std::uint32_t e = 0; e < session.events().size(); ++e) last[session.events().time(e)] = e;
  const std::vector<DeviceTimeline> timelines = BuildTimelines(session);
  const auto timeline =
      std::find_if(timelines.begin(), timelines.end(),
                   [&](const DeviceTimeline& t) { return t.device == stack.device(); });
  ASSERT_NE(timeline, timelines.end());
  for (const auto& [time, event] : last) {
    const PlainBands plain(log, stack, bands, passing.get(), blocks, time);
    const std::vector<std::uint64_t> bytes = stack.BytesAt(time);
    std::uint64_t groups = 0, top = 0;
    for (std::size_t b = 0; b < bands.size(); ++b) {
      top += bytes[b];
      if (bands[b].kind >= StackBandKind::kCached) continue;
      groups += bytes[b];
      ASSERT_EQ(bytes[b], plain.expected[b]) << "band " << b << " at " << time;
    }
    ASSERT_EQ(groups, plain.in_use) << "groups sum to the total";
    ASSERT_EQ(stack.At(Line::kInUse, time), plain.in_use);
    ASSERT_EQ(stack.At(Line::kAllocated, time), timeline->total.At(time));
    std::uint64_t held = std::max(plain.in_use, timeline->total.At(time));
    if (blocks) held = std::max(held, timeline->framework_reserved.At(time));
    if (!host) held = std::max(held, timeline->reserved.At(time));
    ASSERT_EQ(top, held) << "at " << time;
    ASSERT_EQ(stack.At(Line::kTop, time), held);
  }
}

TEST(TimelineGroupsTest, AddUpToSumsOverAllAllocations) {
  for (const std::uint32_t seed : {1u, 2u}) {
    RandomLog random({.seed = seed, .operations = 250});
    const Loaded log(random.builder());
    ASSERT_NE(log.session, nullptr);
    ASSERT_EQ(log.kinds.size(), 3u);  // two devices and the host
    for (const auto& kinds : log.kinds) {
      CheckBytes(log, *kinds, TimelineGrouping::kKind, false);
      for (const TimelineGrouping grouping : kGroupings) {
        for (const bool filtered : {false, true}) {
          SCOPED_TRACE(::testing::Message()
                       << "seed " << seed << " device " << kinds->device() << " grouping "
                       << static_cast<int>(grouping) << (filtered ? " filtered" : ""));
          const TimelineQuery query = log.Query(grouping, filtered);
          const TimelineStack stack(*kinds, FindGroups(*kinds, query));
          CheckBytes(log, stack, grouping, filtered);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(TimelineGroupsTest, LinesAreThoseOfTheTimelines) {
  RandomLog random({.seed = 13, .operations = 2000});
  const Loaded log(random.builder());
  for (const DeviceTimeline& timeline : BuildTimelines(*log.session)) {
    const TimelineStack* stack = log.KindsOf(timeline.device);
    ASSERT_NE(stack, nullptr);
    const auto check = [&](Line line, const Series& series) {
      EXPECT_EQ(stack->Max(line), series.max());
      EXPECT_EQ(stack->TimeOfMax(line), series.time_of_max());
      const TimeNs first = log.session->events().first_time();
      for (TimeNs t = first - 10; t < first + 2'000'000; t += 13'700) {
        const Series::Sample a = stack->Between(line, t, t + 50'000),
                             b = series.Between(t, t + 50'000);
        ASSERT_EQ(a.min, b.min);
        ASSERT_EQ(a.max, b.max);
        ASSERT_EQ(a.last, b.last);
      }
    };
    check(Line::kAllocated, timeline.total);
    if (stack->framework()) check(Line::kInUse, timeline.framework_allocated);
  }
}

TEST(TimelineGroupsTest, TensorsAreNeverMoreThanWhatIsInUse) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x1000, 100);
  log.TensorCreate(0x1000, 150, log.Tensor("w", "fp32", {30}));
  const Loaded loaded(log);
  const TimelineStack* stack = loaded.KindsOf(0);
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->BytesAt(kForever - 1), (std::vector<std::uint64_t>{100, 0}));
  EXPECT_EQ(stack->bands()[0].kind, StackBandKind::kTensors);
}

// As in an imported snapshot without segments.
TEST(TimelineGroupsTest, BlocksWithoutSegmentsAreInUse) {
  LogBuilder log;
  log.Alloc(Layer::kBlock, 0x1000, 4096);
  log.Alloc(Layer::kBlock, 0x9000, 512);
  log.Free(Layer::kBlock, 0x9000);
  const Loaded loaded(log);
  const TimelineStack* stack = loaded.KindsOf(0);
  ASSERT_NE(stack, nullptr);
  EXPECT_TRUE(stack->framework());
  ASSERT_EQ(stack->bands().size(), 1u);
  EXPECT_EQ(stack->bands()[0].kind, StackBandKind::kBlocks);
  EXPECT_EQ(stack->Max(Line::kTop), 4608u);
  EXPECT_EQ(stack->Max(Line::kInUse), 4608u);
  EXPECT_EQ(stack->Max(Line::kAllocated), 0u);
}

TEST(TimelineGroupsTest, OnlyTheLargestSitesHaveBandsOfTheirOwn) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  for (int i = 0; i < 12; ++i) {
    const int stack = log.Stack({"main (a.cc:1)", "F" + std::to_string(i) + " (a.cc:9)"});
    // The last four hold the most memory, but not at the peak.
    const bool late = i >= 8;
    if (i == 8)
      for (int j = 0; j < 8; ++j) log.Free(0x1000 + 0x10000u * static_cast<unsigned>(j));
    log.Alloc(Layer::kLinear, 0x1000 + 0x10000u * static_cast<unsigned>(i),
              late ? 5000 : 1000 * (10 - static_cast<unsigned>(i)), {.stack = stack});
    if (late) log.Free(0x1000 + 0x10000u * static_cast<unsigned>(i));
  }
  const Loaded loaded(log);
  const TimelineStack* kinds = loaded.KindsOf(0);
  const TimelineStack stack(*kinds,
                            FindGroups(*kinds, loaded.Query(TimelineGrouping::kSite, false)));
  ASSERT_EQ(stack.bands().size(), kOwnBands + 1);
  for (std::size_t b = 0; b < kOwnBands; ++b) {
    EXPECT_EQ(loaded.symbols->Site(stack.bands()[b].site).function, "F" + std::to_string(b));
    EXPECT_EQ(stack.BandOfSite(stack.bands()[b].site), static_cast<int>(b));
  }
  EXPECT_EQ(stack.bands().back().kind, StackBandKind::kOther);
  EXPECT_EQ(stack.bands().back().members, 5u);
  EXPECT_EQ(stack.BandOf(AllocationId(7)), static_cast<int>(kOwnBands)) << "in the rest";
  EXPECT_EQ(stack.BandOfSite(loaded.session->record(AllocationId(7)).stack), -1);
  EXPECT_EQ(stack.BandOfSite(StackId()), -1);
  EXPECT_EQ(kinds->BandOfSite(stack.bands()[0].site), -1) << "kinds are not sites";
}

TEST(TimelineGroupsTest, TakesAFewBytesAnEvent) {
  RandomLog random({.seed = 14, .operations = 20000});
  const Loaded log(random.builder());
  const std::size_t events = log.session->events().size();
  ASSERT_GT(events, 15000u);
  for (const auto& kinds : log.kinds) {
    const TimelineStack stack(*kinds,
                              FindGroups(*kinds, log.Query(TimelineGrouping::kSite, false)));
    EXPECT_LT(stack.memory_bytes(), events * 6);
  }
}

TEST(TimelineGroupsTest, WithoutEventsThereIsNothing) {
  LogBuilder log;
  log.Device(3, 1 << 30);
  const Loaded loaded(log);
  ASSERT_EQ(loaded.kinds.size(), 1u);
  const TimelineStack& stack = *loaded.kinds[0];
  EXPECT_EQ(stack.device(), 3);
  EXPECT_TRUE(stack.bands().empty());
  EXPECT_EQ(stack.Max(Line::kTop), 0u);
  EXPECT_EQ(stack.TimeOfMax(Line::kInUse), 0u);
  EXPECT_EQ(stack.At(Line::kAllocated, 5), 0u);
  EXPECT_TRUE(stack.BytesAt(5).empty());
  EXPECT_TRUE(stack.Edges(std::vector<TimeNs>{1, 2, 3}).low.empty());
}

}  // namespace
}  // namespace memprof::analysis
