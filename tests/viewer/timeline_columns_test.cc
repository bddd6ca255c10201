// Columns that a moved window has in common with the one before are not made again.
#include "viewer/geometry/timeline_columns.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <algorithm>
#include <random>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "viewer/geometry/timeline_bands.h"
#include "viewer/geometry/window_math.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;
using analysis::TimeNs;
using analysis::TimeWindow;

// Two layers, with bursts of thousands of events and pauses.
class MovedColumnsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::mt19937 random(3);
    analysis::testing::LogBuilder log;
    log.Device(0, 1 << 30);
    std::vector<std::uint64_t> live;
    TimeNs now = 1;
    for (std::uint32_t i = 0; i < 60'000; ++i) {
      log.SetTime(now += i / 5000 % 3 == 0 ? random() % 3 : random() % 60);
      if (live.size() > 12 || (!live.empty() && random() % 3 == 0)) {
        std::swap(live[random() % live.size()], live.back());
        log.Free(live.back());
        live.pop_back();
      } else {
        live.push_back(0x10000u * (i + 1));
        log.Alloc(random() % 2 == 0 ? Layer::kLinear : Layer::kManaged, live.back(),
                  random() % 5000 + 1);
      }
    }
    QTemporaryDir directory;
    const std::string path = directory.filePath(QStringLiteral("log.mprof")).toStdString();
    ASSERT_TRUE(log.WriteTo(path).ok());
    const auto session = analysis::LoadLogs({path}, {.find_steps = false});
    ASSERT_TRUE(session.ok());
    for (const auto& stack : analysis::BuildKindStacks(*session))
      if (stack->device() == 0) bands_ = new TimelineBands(MakeBands(stack, nullptr));
    ASSERT_NE(bands_, nullptr);
    end_ = now;
  }
  static void TearDownTestSuite() { delete bands_; }

  static void ExpectSame(const TimelineColumns& made, const TimelineColumns& anew) {
    EXPECT_EQ(made.edges, anew.edges);
    EXPECT_EQ(made.low, anew.low);
    EXPECT_EQ(made.high, anew.high);
    EXPECT_EQ(made.in_use, anew.in_use);
  }

  static inline TimelineBands* bands_ = nullptr;
  static inline TimeNs end_ = 0;
};

TEST_F(MovedColumnsTest, AreThoseThatAreMadeAnew) {
  std::mt19937_64 random(5);
  // With thousands of events in a column, and with none in many.
  for (const int columns : {3, 9, 14, 40, 211, 1500}) {
    for (const TimeNs divisor : {2, 31, 500}) {
      SCOPED_TRACE(columns);
      SCOPED_TRACE(divisor);
      TimeWindow window{end_ / 3, end_ / 3 + end_ / divisor};
      TimelineColumns before;
      for (int move = 0; move < 60; ++move) {
        const TimeScale scale{window, 0, static_cast<double>(columns)};
        TimelineColumns made = MakeColumns(*bands_, scale, columns, before);
        ExpectSame(made, MakeColumns(*bands_, scale, columns));
        before = std::move(made);
        // Now and then a zoom, a few nanoseconds or far away.
        const double pixels = static_cast<double>(random() % 2000) / 1000 * columns - columns;
        window = move % 9 == 8
                     ? ZoomAt(window, window.begin, 0.9, {0, end_})
                     : PanBy(scale, move % 5 == 4 ? pixels / 1000 : pixels / 4, {0, end_});
      }
    }
  }
}

TEST_F(MovedColumnsTest, OfStepsAreToo) {
  const std::vector<analysis::StepInfo> steps = {
      {0, 50, end_ / 5, {}}, {1, end_ / 5, end_ / 4, {}}, {2, end_ / 4, end_, {}}};
  const StepClock clock(steps, {0, end_});
  TimelineColumns before;
  TimeScale scale{{0, end_ / 3}, 0, 100, &clock};
  for (int move = 0; move < 20; ++move) {
    TimelineColumns made = MakeColumns(*bands_, scale, 100, before);
    ExpectSame(made, MakeColumns(*bands_, scale, 100));
    before = std::move(made);
    scale.window = PanBy(scale, 7, {0, end_});
  }
}

// Otherwise nothing would be saved.
TEST_F(MovedColumnsTest, AreAllButThoseAtTheEnds) {
  std::mt19937_64 random(7);
  for (const TimeNs origin : {TimeNs{0}, TimeNs{1'700'000'000'000'000'123}}) {
    for (int round = 0; round < 200; ++round) {
      const TimeNs span = 5000 + random() % 1'000'000'000;
      const TimeNs begin = origin + random() % 10'000'000'000, by = random() % span;
      const std::vector<TimeNs> from = ColumnEdges({{begin, begin + span}, 0, 1}, 1000);
      const std::vector<TimeNs> to = ColumnEdges({{begin + by, begin + by + span}, 0, 1}, 1000);
      std::vector<TimeNs> both;
      std::set_intersection(from.begin(), from.end(), to.begin(), to.end(),
                            std::back_inserter(both));
      EXPECT_GE(static_cast<double>(both.size()) + 3,
                1000 * (1 - static_cast<double>(by) / static_cast<double>(span)));
    }
  }
}

}  // namespace
}  // namespace memprof::viewer
