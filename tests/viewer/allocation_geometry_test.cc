// The index of allocations' rectangles against a loop over all of them, and the coverage grid
// against exact areas.
#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <random>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "viewer/geometry/allocation_index.h"
#include "viewer/geometry/coverage_grid.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;
using analysis::TimeNs;
using analysis::TimeWindow;

// Random lifetimes; `spread` ns between events on average.
std::shared_ptr<const analysis::Session> RandomSession(std::uint32_t seed, TimeNs spread) {
  static QTemporaryDir directory;
  std::mt19937 random(seed);
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  std::vector<std::uint64_t> live;
  std::uint64_t next = 0x100000;
  for (int i = 0; i < 1500; ++i) {
    log.AdvanceTime(random() % spread);
    if (live.empty() || random() % 20 < 11) {
      log.Alloc(Layer::kLinear, next, 256 * (1 + random() % 50));
      live.push_back(next);
      next += 1 << 20;
    } else {
      std::swap(live[random() % live.size()], live.back());
      log.Free(live.back());
      live.pop_back();
    }
  }
  const std::string path = directory.filePath(QStringLiteral("%1.mprof").arg(seed)).toStdString();
  EXPECT_TRUE(log.WriteTo(path).ok());
  return *analysis::LoadLogs({path}, {.find_steps = false});
}

AllocationIndex MakeIndex(const std::shared_ptr<const analysis::Session>& session) {
  return AllocationIndex(session, analysis::PackLanes(*session, 0),
                         {session->events().first_time(), session->events().last_time() + 1});
}

TEST(AllocationIndexTest, FindsAllThatLivesInAWindow) {
  // Also with times stored at reduced resolution: 5 hours are more than 2^32 ns.
  for (const TimeNs spread : {TimeNs{2'000}, TimeNs{24'000'000'000}}) {
    const auto session = RandomSession(static_cast<std::uint32_t>(spread % 1000 + 7), spread);
    const AllocationIndex index = MakeIndex(session);
    EXPECT_EQ(index.quantum() > 1, spread > 1'000'000);
    ASSERT_GT(index.size(), 700u);
    std::mt19937_64 random(3);
    const TimeWindow bounds = index.bounds();
    const TimeNs all = bounds.end - bounds.begin;
    for (int i = 0; i < 300; ++i) {
      const TimeNs begin = bounds.begin + random() % all;
      const TimeWindow window{begin, begin + random() % (all / (1 + random() % 200))};
      std::vector<bool> found(index.size());
      std::size_t last = 0, count = 0;
      index.ForEachAlive(window, [&](std::size_t row) {
        EXPECT_TRUE(count == 0 || row > last) << "in order";
        last = row;
        ++count;
        found[row] = true;
        return true;
      });
      for (std::size_t row = 0; row < index.size(); ++row) {
        const TimeNs birth = index.Birth(row), death = index.Death(row);
        const bool lives = birth <= window.end && death >= window.begin;
        if (lives) {
          ASSERT_TRUE(found[row]) << "row " << row;
        }
        const TimeNs q = index.quantum();
        if (found[row]) {
          ASSERT_TRUE(birth <= window.end + q &&
                      (death >= window.begin || window.begin - death <= q));
        }
        ASSERT_LE(index.CoarseBirth(row), birth);
        ASSERT_GT(index.CoarseBirth(row) + q, birth);
        if (death != analysis::kForever) {
          ASSERT_GT(index.CoarseDeath(row) + q, death);
        }
      }
    }
  }
}

TEST(AllocationIndexTest, StopsWhenRequested) {
  const AllocationIndex index = MakeIndex(RandomSession(9, 1000));
  int visited = 0;
  index.ForEachAlive(index.bounds(), [&](std::size_t) { return ++visited < 5; });
  EXPECT_EQ(visited, 5);
}

TEST(AllocationIndexTest, HitsWhatLiesAtAPoint) {
  const AllocationIndex index = MakeIndex(RandomSession(4, 2000));
  std::mt19937_64 random(8);
  const TimeWindow bounds = index.bounds();
  int hits = 0;
  for (int i = 0; i < 2000; ++i) {
    const TimeNs time = bounds.begin + random() % (bounds.end - bounds.begin);
    const double bytes = static_cast<double>(random() % static_cast<std::uint64_t>(index.bytes()));
    const PictureBox around{{time, time}, bytes, bytes};
    std::optional<std::size_t> want;
    for (std::size_t row = 0; row < index.size(); ++row) {
      if (index.Birth(row) <= time && time < index.Death(row) && index.low(row) <= bytes &&
          bytes < index.high(row)) {
        EXPECT_FALSE(want.has_value()) << "no two overlap";
        want = row;
      }
    }
    const auto hit = index.HitTest(time, bytes, around);
    // At an edge only the bounding box may touch a neighbour.
    if (want.has_value()) {
      ASSERT_EQ(hit, want);
      ++hits;
    } else if (hit.has_value()) {
      EXPECT_TRUE(index.high(*hit) == bytes || index.Death(*hit) == time);
    }
  }
  EXPECT_GT(hits, 300);
}

TEST(AllocationIndexTest, HitsTheLargestNearby) {
  const AllocationIndex index = MakeIndex(RandomSession(5, 2000));
  const PictureBox everything{index.bounds(), 0, index.bytes()};
  const auto hit = index.HitTest(index.bounds().begin, index.bytes() * 2, everything);
  ASSERT_TRUE(hit.has_value());
  const auto area = [&](std::size_t row) {
    return (index.high(row) - index.low(row)) *
           static_cast<double>(std::min(index.Death(row), index.bounds().end) - index.Birth(row));
  };
  for (std::size_t row = 0; row < index.size(); ++row) EXPECT_LE(area(row), area(*hit));
}

TEST(AllocationIndexTest, IsSmallAndKnowsItsRows) {
  const auto session = RandomSession(6, 2000);
  const AllocationIndex index = MakeIndex(session);
  EXPECT_LE(index.memory_bytes(), 24 * index.size() + 64);
  for (std::size_t row = 0; row < index.size(); ++row) EXPECT_EQ(index.Row(index.id(row)), row);
  EXPECT_FALSE(index.Row(analysis::AllocationId()).has_value());
}

TEST(AllocationIndexTest, MayBeEmpty) {
  const auto session = RandomSession(6, 2000);
  const AllocationIndex index(session, analysis::PackLanes(*session, 3), {0, 1000});
  EXPECT_EQ(index.size(), 0u);
  index.ForEachAlive({0, 1000}, [](std::size_t) {
    ADD_FAILURE();
    return true;
  });
  EXPECT_FALSE(index.HitTest(5, 5, {{0, 10}, 0, 10}).has_value());
}

TEST(CoverageGridTest, CoversWhatAreasSay) {
  std::mt19937 random(12);
  const int size = 24;
  CoverageGrid grid(size, size);
  std::vector<double> want(size * size, 0);
  // Strips that do not overlap, each divided in two.
  double y = 0;
  while (y < size) {
    const double next = std::min<double>(size, y + (1 + random() % 150) / 64.0);
    const double cut = (random() % (64 * size)) / 64.0;
    const double begin = (random() % 64) / 64.0 - 0.5;
    for (const auto& [x0, x1] : {std::pair{begin, cut}, std::pair{cut, size + 2.0}}) {
      if (x0 > x1) continue;
      grid.Add(x0, x1, y, next, qRgb(10, 20, 30));
      for (int py = 0; py < size; ++py) {
        for (int px = 0; px < size; ++px) {
          const double w = std::min<double>(px + 1, x1) - std::max<double>(px, x0);
          const double h = std::min<double>(py + 1, next) - std::max<double>(py, y);
          if (w > 0 && h > 0) want[static_cast<std::size_t>(py * size + px)] += w * h;
        }
      }
    }
    y = next + (random() % 3) / 64.0;
  }
  for (int py = 0; py < size; ++py)
    for (int px = 0; px < size; ++px)
      ASSERT_NEAR(grid.Coverage(px, py), want[static_cast<std::size_t>(py * size + px)], 2e-3)
          << px << ", " << py;
}

TEST(CoverageGridTest, ShowsWhatIsTooSmallToBeSeen) {
  const QRgb red = qRgb(200, 0, 0);
  CoverageGrid grid(10, 10);
  grid.Add(3.5, 3.5, 4.5, 4.5, red);        // a point
  grid.Add(5.1, 5.1001, 1.2, 8.7, red);     // narrow and high
  grid.Add(1.2, 8.6, 9.5001, 9.5002, red);  // wide and flat
  const QImage image = grid.Compose();
  const auto seen = [&](int x, int y) { return qAlpha(image.pixel(x, y)) > 60; };
  EXPECT_TRUE(seen(3, 4));
  for (int y = 1; y <= 8; ++y) EXPECT_TRUE(seen(5, y)) << y;
  for (int x = 1; x <= 8; ++x) EXPECT_TRUE(seen(x, 9)) << x;
  int count = 0;
  for (int y = 0; y < 10; ++y)
    for (int x = 0; x < 10; ++x) count += image.pixel(x, y) != 0;
  EXPECT_EQ(count, 1 + 8 + 8) << "and nothing else";
}

TEST(CoverageGridTest, MixesColoursByArea) {
  CoverageGrid grid(1, 1);
  grid.Add(0, 0.75, 0, 1, qRgb(200, 0, 0));
  grid.Add(0.75, 1, 0, 1, qRgb(0, 0, 200));
  const QColor mean = grid.Compose().pixelColor(0, 0);
  EXPECT_NEAR(mean.red(), 150, 2);
  EXPECT_NEAR(mean.blue(), 50, 2);
  EXPECT_EQ(mean.alpha(), 255);
}

TEST(CoverageGridTest, LiesOverAnother) {
  CoverageGrid below(4, 1), above(4, 1);
  below.Add(0, 2, 0, 1, qRgb(0, 100, 0));
  above.Add(1, 3, 0, 1, qRgb(100, 0, 0));
  const QImage image = above.Compose(below.Compose(QImage(), 0, 1));
  EXPECT_EQ(image.pixel(0, 0), qRgb(0, 100, 0));
  EXPECT_EQ(image.pixel(1, 0), qRgb(100, 0, 0));
  EXPECT_EQ(image.pixel(2, 0), qRgb(100, 0, 0));
  EXPECT_EQ(image.pixel(3, 0), 0u);
  EXPECT_EQ(above.Compose(QImage(9, 9, QImage::Format_RGB32)).pixel(0, 0), 0u)
      << "another size: nothing";
}

TEST(CoverageGridTest, CutsOffWhatIsOutside) {
  CoverageGrid grid(5, 5);
  grid.Add(-100, 100, -100, 100, qRgb(1, 2, 3));
  for (int i = 0; i < 5; ++i) EXPECT_DOUBLE_EQ(grid.Coverage(i, i), 1);
  CoverageGrid empty(5, 5);
  empty.Add(-3, -1, 0, 5, qRgb(1, 2, 3));
  empty.Add(5, 9, 0, 5, qRgb(1, 2, 3));
  empty.Add(0, 5, 5.5, 7, qRgb(1, 2, 3));
  for (int y = 0; y < 5; ++y)
    for (int x = 0; x < 5; ++x) EXPECT_EQ(empty.Coverage(x, y), 0);
  CoverageGrid(0, 0).Add(0, 1, 0, 1, qRgb(1, 1, 1));
}

}  // namespace
}  // namespace memprof::viewer
