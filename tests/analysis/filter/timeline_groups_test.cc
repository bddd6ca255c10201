// Stacked timelines against sums over all allocations at every event.
#include "analysis/filter/timeline_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "analysis/store/allocation_set.h"
#include "analysis/testing/column.h"
#include "analysis/timeline/timeline.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;
using testing::Times;
using Line = TimelineStack::Line;

constexpr TimelineGrouping kGroupings[] = {TimelineGrouping::kKind,     TimelineGrouping::kLayer,
                                           TimelineGrouping::kCategory, TimelineGrouping::kSite,
                                           TimelineGrouping::kStream,   TimelineGrouping::kProcess};

// Values of a step function after each event: what stacks are compared with.
struct Curve {
  std::vector<TimeNs> times;
  std::vector<std::uint64_t> values;
  Series Make() const { return Series(times, values); }
};

// Every third allocation.
std::shared_ptr<const AllocationSet> Thirds(const Session& session) {
  std::vector<bool> chosen(session.records().size());
  for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = i % 3 == 0;
  return std::make_shared<const AllocationSet>(std::move(chosen));
}

// A session with what its groups need.
struct Loaded {
  explicit Loaded(const LogBuilder& log) : session(LoadLog(log)) {
    if (session == nullptr) return;
    symbols = std::make_unique<Symbols>(session);
    categories = std::make_unique<Categories>(*session, symbols.get());
    kinds = BuildKindStacks(session);
  }
  TimelineQuery Query(TimelineGrouping grouping, bool filtered) const {
    return {grouping, filtered ? Thirds(*session) : nullptr, categories.get(), symbols.get()};
  }
  const TimelineStack* KindsOf(int device) const {
    for (const auto& stack : kinds)
      if (stack->device() == device) return stack.get();
    return nullptr;
  }

  std::shared_ptr<const Session> session;
  std::unique_ptr<Symbols> symbols;
  std::unique_ptr<Categories> categories;
  std::vector<std::shared_ptr<const TimelineStack>> kinds;
};

// What an allocation is in a grouping, told without the stack: a band that equals its own.
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

// Bytes of every band after each event, by looking at all allocations.
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
    std::vector<std::uint64_t> expected(bands.size(), 0);
    std::uint64_t in_use = 0, tensors = 0, within = 0;
    for (std::uint32_t i = 0; i < session.records().size(); ++i) {
      const AllocationId id(i);
      const Allocation a = session.allocation(id);
      if (a.device != stack.device() || !a.AliveAt(time)) continue;
      const bool passes = passing == nullptr || passing->Has(id);
      if (a.layer == Layer::kTensor && passes) tensors += a.bytes;
      const bool grouped = host     ? OccupiesHost(a.layer)
                           : blocks ? a.layer == Layer::kBlock
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
      ASSERT_EQ(found, 1) << "in one band and no other";
    }
    if (!bands.empty() && bands[0].kind == StackBandKind::kTensors) {
      // Taken out of the groups above it, the lowest first.
      std::uint64_t rest = expected[0] = std::min(tensors, within);
      for (std::size_t b = 1; b < bands.size(); ++b) {
        const std::uint64_t taken = std::min(rest, expected[b]);
        if (bands[b].kind == StackBandKind::kFilteredOut) break;
        expected[b] -= taken;
        rest -= taken;
      }
    }
    const std::vector<std::uint64_t> bytes = stack.BytesAt(time);
    std::uint64_t groups = 0, top = 0;
    for (std::size_t b = 0; b < bands.size(); ++b) {
      top += bytes[b];
      if (bands[b].kind >= StackBandKind::kCached) continue;
      groups += bytes[b];
      ASSERT_EQ(bytes[b], expected[b]) << "band " << b << " at " << time;
    }
    ASSERT_EQ(groups, in_use) << "groups add up";
    ASSERT_EQ(stack.At(Line::kInUse, time), in_use);
    ASSERT_EQ(stack.At(Line::kAllocated, time), timeline->total.At(time));
    std::uint64_t held = std::max(in_use, timeline->total.At(time));
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

// The edges after every event, from where the reference of columns takes its values.
std::vector<Curve> EdgeCurves(const TimelineStack& stack) {
  std::vector<Curve> curves(stack.bands().size());
  const EventTable& events = stack.session()->events();
  for (std::uint32_t e = 0; e < events.size(); ++e) {
    if (e + 1 < events.size() && events.time(e) == events.time(e + 1)) continue;
    std::uint64_t sum = 0;
    const std::vector<std::uint64_t> bytes = stack.BytesAt(events.time(e));
    for (std::size_t b = 0; b < curves.size(); ++b) {
      sum += bytes[b];
      curves[b].times.push_back(events.time(e));
      curves[b].values.push_back(sum);
    }
  }
  return curves;
}

TEST(TimelineGroupsTest, ColumnsHaveEveryLeastAndMost) {
  RandomLog random({.seed = 11, .operations = 3000});  // dozens of blocks
  const Loaded log(random.builder());
  ASSERT_NE(log.session, nullptr);
  std::mt19937_64 twister(5);
  const TimeNs begin = log.session->events().first_time(), end = log.session->events().last_time();
  for (const TimelineGrouping grouping : {TimelineGrouping::kKind, TimelineGrouping::kSite}) {
    const TimelineStack* kinds = log.KindsOf(0);
    ASSERT_NE(kinds, nullptr);
    const TimelineStack stack(*kinds, FindGroups(*kinds, log.Query(grouping, true)));
    ASSERT_GE(stack.bands().size(), 4u);
    const std::vector<Curve> curves = EdgeCurves(stack);
    std::vector<Series> series;
    for (const Curve& curve : curves) series.push_back(curve.Make());
    for (int round = 0; round < 40; ++round) {
      // Rising weakly, before and after the log too; narrow and wide columns.
      std::vector<TimeNs> times;
      const TimeNs span = round % 2 == 0 ? end - begin : (end - begin) / 50;
      const TimeNs from = begin - 2000 + twister() % (end - begin);
      for (int i = 0; i < 30; ++i) times.push_back(from + twister() % (span + 3000));
      times.push_back(times.back());
      std::sort(times.begin(), times.end());
      const TimelineStack::Columns columns = stack.Edges(times);
      for (std::size_t b = 0; b < series.size(); ++b) {
        for (std::size_t i = 0; i + 1 < times.size(); ++i) {
          const Series::Sample sample = series[b].Between(times[i], times[i + 1]);
          ASSERT_EQ(columns.low[b][i], sample.min) << "band " << b << " column " << i;
          ASSERT_EQ(columns.high[b][i], sample.max) << "band " << b << " column " << i;
        }
      }
    }
  }
}

TEST(TimelineGroupsTest, SlackMovesColumnsALittleAndLosesNothing) {
  RandomLog random({.seed = 15, .operations = 30000});
  const Loaded log(random.builder());
  const TimelineStack* stack = log.KindsOf(0);
  ASSERT_NE(stack, nullptr);
  const TimeNs begin = log.session->events().first_time(), end = log.session->events().last_time();
  constexpr TimeNs kColumns = 12;  // thousands of events each
  const TimeNs width = (end + 1 - begin) / kColumns, most = width / 16 + 1;
  std::vector<TimeNs> times;
  for (TimeNs i = 0; i < kColumns; ++i) times.push_back(begin + width * i);
  times.push_back(end + 1);
  const TimelineStack::Columns columns = stack->Edges(times, 1.0 / 16);
  const std::size_t top = stack->bands().size() - 1;
  std::uint64_t highest = 0;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const auto within = [&](TimeNs from, TimeNs to) {
      return stack->Between(Line::kTop, std::max(from, begin), std::min(to, end + 1));
    };
    const Series::Sample outer = within(times[i] - most, times[i + 1]),
                         inner = within(times[i], times[i + 1] - most);
    EXPECT_GE(columns.low[top][i], outer.min);
    EXPECT_LE(columns.low[top][i], inner.min);
    EXPECT_LE(columns.high[top][i], outer.max);
    EXPECT_GE(columns.high[top][i], inner.max);
    highest = std::max(highest, columns.high[top][i]);
  }
  EXPECT_EQ(highest, stack->Max(Line::kTop)) << "the peak is in some column";
}

TEST(TimelineGroupsTest, ColumnsOfBandsAreTheirOwnBytes) {
  RandomLog random({.seed = 12, .operations = 1500});
  const Loaded log(random.builder());
  const TimelineStack* kinds = log.KindsOf(1);
  ASSERT_NE(kinds, nullptr);
  const std::vector<Curve> edges = EdgeCurves(*kinds);
  const TimeNs begin = log.session->events().first_time(), end = log.session->events().last_time();
  std::vector<TimeNs> times;
  for (TimeNs i = 0; i <= 37; ++i) times.push_back(begin + (end - begin) * i / 37);
  const TimelineStack::Columns columns = kinds->Bytes(times);
  for (std::size_t b = 0; b < edges.size(); ++b) {
    Curve own = edges[b];
    for (std::size_t i = 0; b > 0 && i < own.values.size(); ++i)
      own.values[i] -= edges[b - 1].values[i];
    const Series series = own.Make();
    for (std::size_t i = 0; i + 1 < times.size(); ++i) {
      const Series::Sample sample = series.Between(times[i], times[i + 1]);
      ASSERT_EQ(columns.low[b][i], sample.min) << "band " << b << " column " << i;
      ASSERT_EQ(columns.high[b][i], sample.max) << "band " << b << " column " << i;
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

TEST(TimelineGroupsTest, AMomentWithinOneInstantIsNotLost) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.SetTime(1000);
  log.Alloc(Layer::kLinear, 0x1000, 10);
  log.SetTime(2000);
  log.Alloc(Layer::kLinear, 0x2000, 90);
  log.SetTime(2000);
  log.Free(0x2000);
  log.SetTime(3000);
  log.Step(1);
  const Loaded loaded(log);
  const TimelineStack* stack = loaded.KindsOf(0);
  ASSERT_NE(stack, nullptr);
  EXPECT_EQ(stack->Max(Line::kTop), 100u);
  EXPECT_EQ(stack->TimeOfMax(Line::kTop), 2000u);
  EXPECT_EQ(stack->At(Line::kTop, 2000), 10u);
  EXPECT_EQ(stack->Between(Line::kTop, 1500, 2500).max, 100u);
  EXPECT_EQ(stack->Between(Line::kTop, 2001, 2500).max, 10u);
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

// As an imported snapshot has them that knows of no segment.
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
    // The last four hold most, but not at the peak.
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
  EXPECT_EQ(kinds->BandOfSite(stack.bands()[0].site), -1) << "kinds are no sites";
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
