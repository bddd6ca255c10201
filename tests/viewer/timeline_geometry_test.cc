// Bands with names, columns that never hide a peak, legends without overlap, marks.
#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <random>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "viewer/geometry/timeline_bands.h"
#include "viewer/geometry/timeline_columns.h"
#include "viewer/geometry/timeline_legend.h"
#include "viewer/geometry/timeline_markers.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;
using analysis::TimeNs;
using analysis::testing::LogBuilder;
using Bytes = std::vector<std::uint64_t>;

// The kinds of memory of one device of a log.
TimelineBands BandsOf(const LogBuilder& log, int device = 0) {
  QTemporaryDir directory;
  const std::string path = directory.filePath(QStringLiteral("log.mprof")).toStdString();
  EXPECT_TRUE(log.WriteTo(path).ok());
  auto session = analysis::LoadLogs({path}, {.find_steps = false});
  EXPECT_TRUE(session.ok());
  for (const auto& stack : analysis::BuildKindStacks(*session))
    if (stack->device() == device) return MakeBands(stack, nullptr);
  ADD_FAILURE() << "no such device";
  return {};
}

// Tensors in blocks in segments in driver memory, times up to 300.
void FillFramework(LogBuilder& log) {
  log.Device(0, 1 << 30);
  const auto at = [&log](TimeNs time) { log.SetTime(time); };
  at(1);
  log.Alloc(Layer::kLinear, 0x10000, 1000);
  at(2);
  log.Alloc(Layer::kSegment, 0x10000, 800);
  at(10);
  log.Alloc(Layer::kBlock, 0x10000, 600);
  at(20);
  log.TensorCreate(0x10000, 500, log.Tensor("w", "fp32", {125}));
  at(100);
  log.Alloc(Layer::kLinear, 0x20000, 500);
  at(101);
  log.Alloc(Layer::kSegment, 0x20000, 500);
  at(110);
  log.Alloc(Layer::kBlock, 0x20000, 400);
  at(150);
  log.Free(Layer::kBlock, 0x20000);
}

TEST(Bands, OfAFrameworkAddUpToTheDevice) {
  LogBuilder log;
  FillFramework(log);
  const TimelineBands bands = BandsOf(log);
  ASSERT_EQ(bands.bands.size(), 4u);
  EXPECT_EQ(bands.bands[0].role, BandRole::kTensors);
  EXPECT_EQ(bands.bands[1].role, BandRole::kBlocks);
  EXPECT_EQ(bands.bands[2].role, BandRole::kCached);
  EXPECT_EQ(bands.bands[3].role, BandRole::kLinear);
  EXPECT_TRUE(bands.framework);
  for (TimeNs t = 0; t < 300; ++t) {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : bands.stack->BytesAt(t)) sum += value;
    ASSERT_EQ(sum, bands.top.At(t)) << "at " << t;
    ASSERT_EQ(sum, bands.allocated.At(t)) << "at " << t;
  }
  EXPECT_EQ(bands.stack->BytesAt(130), (Bytes{500, 500, 300, 200}));
  EXPECT_EQ(bands.in_use.max(), 1000u);
  EXPECT_EQ(bands.in_use.time_of_max(), 110u);
  EXPECT_EQ(bands.in_use.Between(111, 200).min, 600u);
  EXPECT_FALSE(bands.in_use.empty());
  EXPECT_TRUE(StackLine().empty());
  EXPECT_EQ(StackLine().At(5), 0u);
}

TEST(Bands, OfTheDriverAreItsLayersAndPools) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.SetTime(1);
  log.Alloc(Layer::kLinear, 0x10000, 100);
  log.SetTime(5);
  log.TensorCreate(0x10000, 30, log.Tensor("w", "fp32", {4}));
  log.SetTime(10);
  log.Alloc(Layer::kStreamOrdered, 0x20000, 50, {.aux0 = 7});
  log.SetTime(11);
  log.Event(analysis::Op::kPoolSample, Layer::kUnspecified, 7, 300, 0);
  const TimelineBands bands = BandsOf(log);
  ASSERT_EQ(bands.bands.size(), 4u);
  EXPECT_EQ(bands.bands[0].role, BandRole::kTensors);
  EXPECT_EQ(bands.bands[3].role, BandRole::kPool);
  EXPECT_EQ(bands.stack->BytesAt(20), (Bytes{30, 70, 50, 250}));
  EXPECT_EQ(bands.top.At(20), 400u);
  EXPECT_EQ(bands.allocated.max(), 150u) << "the peak of requested memory";
}

TEST(Bands, OfTheHostAreItsOwn) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kPinned, 0x10000, 64, {.device = -1});
  const TimelineBands bands = BandsOf(log, analysis::kNoDevice);
  ASSERT_EQ(bands.bands.size(), 1u);
  EXPECT_EQ(bands.bands[0].role, BandRole::kPinned);
  EXPECT_EQ(bands.top.max(), 64u);
}

TEST(Bands, OfEveryGroupingHaveANameAndAWordOfHelp) {
  LogBuilder log;
  FillFramework(log);
  const TimelineBands kinds = BandsOf(log);
  for (int i = 0; i < kGroupings; ++i) {
    const auto grouping = static_cast<analysis::TimelineGrouping>(i);
    EXPECT_FALSE(GroupingName(grouping).isEmpty());
    EXPECT_TRUE(GroupingHelp(grouping).endsWith(QLatin1Char('.')) ||
                GroupingHelp(grouping).endsWith(QStringLiteral("…")));
    const auto stack = std::make_shared<const analysis::TimelineStack>(
        *kinds.stack, analysis::FindGroups(*kinds.stack, {grouping, nullptr, nullptr, nullptr}));
    const TimelineBands bands = MakeBands(stack, nullptr);
    ASSERT_FALSE(bands.bands.empty()) << i;
    for (const Band& band : bands.bands) {
      EXPECT_FALSE(band.name.isEmpty()) << i;
      EXPECT_FALSE(band.help.isEmpty()) << i;
    }
  }
}

// The edge of every band in every column, against a loop over all nanoseconds.
void ExpectExactColumns(const TimelineBands& bands, const TimeScale& scale, int columns) {
  const TimelineColumns picture = MakeColumns(bands, scale, columns);
  ASSERT_EQ(picture.columns, columns);
  ASSERT_EQ(picture.low.size(), bands.bands.size());
  const std::vector<TimeNs> edges = ColumnEdges(scale, columns);
  std::vector<Bytes> sums;  // upper edges for each nanosecond of the window
  for (TimeNs t = scale.window.begin; t <= scale.window.end; ++t) {
    Bytes sum = bands.stack->BytesAt(t);
    for (std::size_t b = 1; b < sum.size(); ++b) sum[b] += sum[b - 1];
    sums.push_back(std::move(sum));
  }
  for (std::size_t b = 0; b < bands.bands.size(); ++b) {
    for (std::size_t i = 0; i < picture.high[b].size(); ++i) {
      std::uint64_t low = ~std::uint64_t{0}, high = 0;
      for (TimeNs t = edges[i]; t < std::max(edges[i + 1], edges[i] + 1); ++t) {
        low = std::min(low, sums[t - scale.window.begin][b]);
        high = std::max(high, sums[t - scale.window.begin][b]);
      }
      ASSERT_EQ(picture.low[b][i], low) << "band " << b << " column " << i << " of " << columns;
      ASSERT_EQ(picture.high[b][i], high) << "band " << b << " column " << i << " of " << columns;
    }
  }
}

// Strictly increasing times: the loop would miss several values in one nanosecond.
void FillRandom(LogBuilder& log, std::uint32_t seed, int events) {
  std::mt19937 random(seed);
  log.Device(0, 1 << 30);
  std::vector<std::uint64_t> live;
  TimeNs now = random() % 50 + 1;
  for (int i = 0; i < events; ++i) {
    log.SetTime(now += 1 + random() % 10);
    if (live.size() > 12 || (!live.empty() && random() % 3 == 0)) {
      const std::size_t which = random() % live.size();
      log.Free(live[which]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(which));
    } else {
      const std::uint64_t address = 0x10000u * static_cast<unsigned>(i + 1);
      log.Alloc(random() % 2 == 0 ? Layer::kLinear : Layer::kManaged, address, random() % 5000 + 1);
      live.push_back(address);
    }
  }
}

TEST(Columns, HideNoPeakOfAnyLayer) {
  for (std::uint32_t seed = 11; seed < 14; ++seed) {
    LogBuilder log;
    FillRandom(log, seed, 600);
    const TimelineBands bands = BandsOf(log);
    ASSERT_EQ(bands.bands.size(), 2u);
    for (const int columns : {1, 7, 100, 1000, 5000})
      ExpectExactColumns(bands, {{100, 3100}, 0, 800}, columns);
  }
}

TEST(Columns, OfStepsFollowTheStepClock) {
  LogBuilder log;
  FillRandom(log, 5, 150);
  const TimelineBands bands = BandsOf(log);
  const std::vector<analysis::StepInfo> steps = {
      {0, 50, 60, {}}, {1, 60, 500, {}}, {2, 500, 510, {}}, {3, 510, 900, {}}};
  const StepClock clock(steps, {0, 900});
  for (const int columns : {1, 8, 333}) {
    ExpectExactColumns(bands, {{0, 900}, 0, 800, &clock}, columns);
    ExpectExactColumns(bands, {{55, 505}, 0, 800, &clock}, columns);
  }
}

TEST(Columns, KnowWhatTheyWereMadeForAndWhatIsWhere) {
  LogBuilder log;
  FillFramework(log);
  const TimelineBands bands = BandsOf(log);
  const StepClock clock;
  const TimelineColumns made = MakeColumns(bands, {{0, 300}, 0, 100}, 50);
  EXPECT_TRUE(made.Fit({{0, 300}, 7, 900}, 50)) << "the position of the plot does not matter";
  EXPECT_FALSE(made.Fit({{0, 300}, 0, 100}, 51));
  EXPECT_FALSE(made.Fit({{1, 300}, 0, 100}, 50));
  EXPECT_FALSE(made.Fit({{0, 299}, 0, 100}, 50));
  EXPECT_FALSE(made.Fit({{0, 300}, 0, 100, &clock}, 50));
  const int column = 130 / 6;
  EXPECT_EQ(made.BandAt(column, 0), 0);
  EXPECT_EQ(made.BandAt(column, 499), 0);
  EXPECT_EQ(made.BandAt(column, 500), 1);
  EXPECT_EQ(made.BandAt(column, 1299), 2);
  EXPECT_EQ(made.BandAt(column, 1300), 3);
  EXPECT_EQ(made.BandAt(column, 1500), -1);
  EXPECT_EQ(made.BandAt(-1, 0), -1);
  EXPECT_EQ(made.BandAt(50, 0), -1);
}

// Against the definition: a peak that does not hold for `width` columns is drawn from where it is.
TEST(Columns, AreDrawnSuchThatEverySpikeIsSeen) {
  std::mt19937 random(9);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = 1 + random() % 60;
    const int width = 1 + static_cast<int>(random() % 5);
    TimelineColumns columns;
    columns.columns = static_cast<int>(n);
    columns.low.assign(2, std::vector<std::uint64_t>(n));
    columns.high = columns.low;
    for (std::size_t i = 0; i < n; ++i) {
      std::uint64_t below = 0;
      for (std::size_t b = 0; b < 2; ++b) {
        columns.low[b][i] = below += random() % 4;
        below = columns.high[b][i] = std::max(below, below + (random() % 3 == 0 ? 50 : 0));
      }
    }
    columns.in_use = columns.high[1];
    const TimelineColumns drawn = ForDrawing(columns, width, {0, 1000});
    EXPECT_EQ(drawn.low, columns.low);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_LE(drawn.high[0][i], drawn.high[1][i]);
      // What is drawn is somewhere near, and nothing is drawn lower.
      std::uint64_t near = 0;
      const std::size_t reach = static_cast<std::size_t>(width) - 1;
      for (std::size_t j = i - std::min(i, reach); j <= std::min(n - 1, i + reach); ++j)
        near = std::max(near, columns.high[1][j]);
      ASSERT_GE(drawn.high[1][i], columns.high[1][i]);
      ASSERT_LE(drawn.high[1][i], near);
    }
    // Every value is reached by at least `width` neighbouring columns.
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t from = i, to = i;
      while (from > 0 && drawn.high[1][from - 1] >= columns.high[1][i]) --from;
      while (to + 1 < n && drawn.high[1][to + 1] >= columns.high[1][i]) ++to;
      ASSERT_GE(to - from + 1, std::min<std::size_t>(n, static_cast<std::size_t>(width)));
    }
  }
}

TEST(Columns, ThatAreWideEnoughStayAsTheyAre) {
  TimelineColumns columns;
  columns.columns = 8;
  columns.low = {{0, 0, 0, 0, 0, 0, 0, 0}};
  columns.high = {{1, 9, 9, 1, 1, 1, 9, 1}};
  columns.in_use = columns.high[0];
  const TimelineColumns drawn = ForDrawing(columns, 2, {0, 100});
  EXPECT_EQ(drawn.high[0], (std::vector<std::uint64_t>{1, 9, 9, 1, 1, 1, 9, 9}));
  EXPECT_EQ(drawn.in_use, drawn.high[0]);
  EXPECT_EQ(ForDrawing(columns, 1, {3, 8}).high[0],
            (std::vector<std::uint64_t>{0, 5, 5, 0, 0, 0, 5, 0}));
}

TEST(Columns, FitToWhatVaries) {
  TimelineColumns columns;
  columns.columns = 3;
  columns.low = {{10, 10, 10}, {1000, 1100, 1000}, {1500, 1500, 1500}};
  columns.high = {{10, 10, 10}, {1000, 2000, 1100}, {2500, 2500, 2500}};
  const ByteWindow fit = FitBytes(columns, 2, 3000);
  EXPECT_EQ(fit, (ByteWindow{940, 2060}));
  EXPECT_EQ(FitBytes(columns, 0, 3000), (ByteWindow{0, 3000}));
  EXPECT_EQ(FitBytes({}, 2, 3000), (ByteWindow{0, 3000}));
}

TEST(Columns, OfNoWidthAreNone) {
  LogBuilder log;
  FillFramework(log);
  const TimelineBands bands = BandsOf(log);
  EXPECT_EQ(MakeColumns(bands, {{0, 100}, 0, 10}, 0).columns, 0);
  EXPECT_EQ(MakeColumns(bands, {{100, 100}, 0, 10}, 10).columns, 0);
}

TEST(Axis, ShowsTheCapacityWhereItIsNear) {
  EXPECT_TRUE(ChooseAxis(900, 1000).shows_capacity);
  EXPECT_GE(ChooseAxis(900, 1000).max_bytes, 1000u);
  EXPECT_FALSE(ChooseAxis(100, 1000).shows_capacity);
  EXPECT_LT(ChooseAxis(100, 1000).max_bytes, 150u);
  EXPECT_FALSE(ChooseAxis(100, 0).shows_capacity);
  EXPECT_GE(ChooseAxis(1200, 1000).max_bytes, 1200u) << "more than the capacity is still shown";
}

TEST(Legend, NeverOverlapsNorRunsOut) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const LegendSpace space{50, 50.0 + random() % 900 + 20, 0, 30, 18};
    LegendSpace with = space;
    with.first_right = with.left + random() % static_cast<unsigned>(with.right - with.left);
    std::vector<double> widths;
    for (std::size_t i = random() % 14; i > 0; --i) widths.push_back(10.0 + random() % 400);
    const LegendLayout layout = LayOutLegend(widths, with);
    ASSERT_EQ(layout.boxes.size(), widths.size());
    for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
      const QRectF& box = layout.boxes[i];
      ASSERT_GE(box.left(), with.left);
      ASSERT_LE(box.right(), (box.top() == 0 ? with.first_right : with.right) + 1e-9);
      ASSERT_LE(box.bottom(), layout.height + 1e-9);
      ASSERT_NEAR(box.width(), std::min(widths[i], with.right - with.left), 1e-9);
      for (std::size_t j = 0; j < i; ++j)
        ASSERT_FALSE(box.adjusted(0.01, 0.01, -0.01, -0.01)
                         .intersects(layout.boxes[j].adjusted(0.01, 0.01, -0.01, -0.01)));
    }
  }
  EXPECT_EQ(LayOutLegend({}, {0, 100, 100, 30, 18}).height, 30)
      << "the row of choices is unchanged";
}

std::vector<TimelineMarker> Markers(std::vector<TimeNs> times) {
  std::vector<TimelineMarker> markers;
  for (const TimeNs time : times) markers.push_back({MarkerKind::kSnapshot, time, {}, {}});
  return markers;
}

TEST(Marks, TooCloseToBeShownSeparatelyAreOne) {
  std::vector<TimelineMarker> markers = Markers({5, 100, 104, 108, 300, 301, 900, 2000});
  markers[5].kind = MarkerKind::kFailedRequest;
  const std::vector<MarkerBox> boxes = LayOutMarkers(markers, {{10, 1010}, 0, 1000}, 12);
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_EQ(boxes[0].first, 1u);
  EXPECT_EQ(boxes[0].count, 3u);
  EXPECT_EQ(boxes[0].x, 90);
  EXPECT_LT(boxes[0].label_right, boxes[1].x);
  EXPECT_EQ(boxes[1].count, 2u);
  EXPECT_EQ(boxes[1].kind, MarkerKind::kFailedRequest) << "the worst of them is shown";
  EXPECT_EQ(boxes[2].label_right, 1000);
  const auto wide = [](const MarkerBox&) { return 40.0; };
  EXPECT_EQ(HitMarker(boxes, 95, 6, wide), 0);
  EXPECT_EQ(HitMarker(boxes, 130, 6, wide), 0) << "its label";
  EXPECT_EQ(HitMarker(boxes, 140, 6, wide), -1);
  EXPECT_EQ(HitMarker(boxes, 83, 6, wide), -1);
  EXPECT_EQ(HitMarker(boxes, 287, 6, wide), 1);
  EXPECT_TRUE(LayOutMarkers({}, {{0, 10}, 0, 10}, 12).empty());
}

TEST(Marks, TheLastLabelIsAtTheLeftIfItFitsOnlyThere) {
  const auto wide = [](const MarkerBox&) { return 100.0; };
  const auto label = [&wide](std::vector<TimeNs> times, std::size_t i) {
    const std::vector<MarkerBox> boxes = LayOutMarkers(Markers(times), {{0, 1000}, 0, 1000}, 12);
    const LabelSpan span = LabelOfMarker(boxes, i, 6, wide);
    return std::pair(span.left, span.right);
  };
  EXPECT_EQ(label({500}, 0), std::pair(506.0, 606.0));
  EXPECT_EQ(label({980}, 0), std::pair(874.0, 974.0)) << "a failure at the end of the run";
  EXPECT_EQ(label({500, 980}, 1), std::pair(874.0, 974.0));
  EXPECT_EQ(label({800, 980}, 1), std::pair(986.0, 1000.0)) << "over the other's label: cut";
  EXPECT_EQ(label({800, 850, 980}, 0), std::pair(806.0, 844.0)) << "not the last: cut";
  const std::vector<MarkerBox> boxes = LayOutMarkers(Markers({980}), {{0, 1000}, 0, 1000}, 12);
  EXPECT_EQ(HitMarker(boxes, 900, 6, wide), 0) << "the label at the left can be clicked";
  EXPECT_EQ(HitMarker(boxes, 990, 6, wide), -1);
}

TEST(Marks, AreWalkedInOrderOfTime) {
  const std::vector<TimelineMarker> markers = Markers({10, 20, 20, 30});
  EXPECT_EQ(NextMarker(markers, 5), 0);
  EXPECT_EQ(NextMarker(markers, 10), 1);
  EXPECT_EQ(NextMarker(markers, 20), 3);
  EXPECT_EQ(NextMarker(markers, 30), -1);
  EXPECT_EQ(NextMarker(markers, analysis::kForever), -1);
  EXPECT_EQ(MarkerBefore(markers, 10), -1);
  EXPECT_EQ(MarkerBefore(markers, 25), 2);
  EXPECT_EQ(MarkerBefore({}, 25), -1);
}

}  // namespace
}  // namespace memprof::viewer
