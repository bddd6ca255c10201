// Offline placement against an exhaustive search, and its check against arrangements with one
// error.
#include "analysis/placement/placement.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using Buffers = std::vector<PlacementBuffer>;

bool Overlap(const PlacementBuffer& a, const PlacementBuffer& b) {
  return a.begin < b.end && b.begin < a.end;
}

// The minimal height of all arrangements. It is found by trying all orders and placing each buffer
// in the lowest gap: the order of addresses of an optimal arrangement gives an optimal result.
std::uint64_t LowestHeight(const Buffers& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  std::uint64_t lowest = ~std::uint64_t{0};
  do {
    std::vector<std::uint64_t> address(buffers.size());
    std::uint64_t height = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::size_t i = order[k];
      std::uint64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t m = 0; m < k; ++m) {
          const std::size_t j = order[m];
          if (!Overlap(buffers[i], buffers[j])) continue;
          if (at >= address[j] + buffers[j].bytes || address[j] >= at + buffers[i].bytes) continue;
          at = address[j] + buffers[j].bytes;
          moved = true;
        }
      }
      address[i] = at;
      height = std::max(height, at + buffers[i].bytes);
    }
    lowest = std::min(lowest, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return lowest;
}

// The maximum of live bytes, by a check of every time.
std::uint64_t MostAlive(const Buffers& buffers) {
  std::uint64_t most = 0;
  for (const PlacementBuffer& at : buffers) {
    std::uint64_t live = 0;
    for (const PlacementBuffer& b : buffers) {
      if (b.begin <= at.begin && at.begin < b.end) live += b.bytes;
    }
    most = std::max(most, live);
  }
  return most;
}

Buffers Random(std::mt19937_64& random, std::size_t count, std::uint64_t times,
               std::uint64_t bytes) {
  Buffers buffers(count);
  for (PlacementBuffer& b : buffers) {
    b.begin = 100 + random() % times;
    b.end = b.begin + 1 + random() % times;
    b.bytes = 1 + random() % bytes;
  }
  return buffers;
}

PlacementOptions Quick(double seconds) {
  PlacementOptions options;
  options.seconds = seconds;
  return options;
}

TEST(PlacementTest, FindsTheBestOfSmallProblems) {
  std::mt19937_64 random(1);
  int best = 0, cases = 0;
  for (int round = 0; round < 60; ++round) {
    const Buffers buffers = Random(random, 2 + random() % 6, 6, 9);
    const PlacementResult result = PlaceBuffers(buffers, Quick(0.02));
    EXPECT_EQ(PlacementConflict(buffers, result.addresses, result.height), "");
    EXPECT_EQ(result.bound, MostAlive(buffers));
    const std::uint64_t lowest = LowestHeight(buffers);
    EXPECT_GE(result.height, lowest);
    best += result.height == lowest;
    ++cases;
  }
  // The search is random and its time is short, so a few results are not optimal.
  EXPECT_GE(best, cases - 3);
}

TEST(PlacementTest, ArrangesManyBuffersWithoutConflict) {
  std::mt19937_64 random(2);
  for (const std::size_t count : {1u, 63u, 64u, 65u, 400u, 3000u}) {
    const Buffers buffers = Random(random, count, 500, 1 << 20);
    for (const int threads : {1, 2}) {
      PlacementOptions options = Quick(0.05);
      options.threads = threads;
      const PlacementResult result = PlaceBuffers(buffers, options);
      EXPECT_EQ(PlacementConflict(buffers, result.addresses, result.height), "");
      EXPECT_EQ(result.bound, MostAlive(buffers));
      EXPECT_GE(result.height, result.bound);
      EXPECT_GE(result.arrangements, count == 1 ? 0u : 1u);
      std::uint64_t top = 0;
      for (std::size_t i = 0; i < count; ++i) {
        top = std::max(top, result.addresses[i] + buffers[i].bytes);
      }
      EXPECT_EQ(result.height, top);
    }
  }
}

TEST(PlacementTest, OneOrderIsTriedEvenWithoutTime) {
  std::mt19937_64 random(3);
  const Buffers buffers = Random(random, 200, 50, 1000);
  const PlacementResult result = PlaceBuffers(buffers, Quick(0));
  EXPECT_EQ(PlacementConflict(buffers, result.addresses, result.height), "");
  EXPECT_EQ(result.arrangements, 1u);
  EXPECT_EQ(result.found_by, "by size, tightest gap");
  EXPECT_LT(result.gap(), 1);
}

TEST(PlacementTest, SearchImproves) {
  std::mt19937_64 random(4);
  const Buffers buffers = Random(random, 300, 40, 1000);
  const PlacementResult first = PlaceBuffers(buffers, Quick(0));
  const PlacementResult searched = PlaceBuffers(buffers, Quick(0.3));
  EXPECT_LE(searched.height, first.height);
  EXPECT_GT(searched.arrangements, first.arrangements);
}

TEST(PlacementTest, PutsWhatIsAlwaysThereAtTheBottom) {
  const Buffers buffers = {{0, 10, 5}, {2, 4, 7}, {0, 10, 3}, {5, 9, 6}};
  const PlacementResult result = PlaceBuffers(buffers);
  EXPECT_EQ(result.addresses, (std::vector<std::uint64_t>{0, 8, 5, 8}));
  EXPECT_EQ(result.height, 15u);
  EXPECT_EQ(result.bound, 15u);
  EXPECT_EQ(result.gap(), 0);
}

TEST(PlacementTest, KeepsExactSizesThatFillGaps) {
  // 4100 + 4100 fill the gap of 8200 exactly; rounding to coarse units would prevent that.
  const Buffers buffers = {{0, 5, 8200}, {5, 9, 4100}, {5, 9, 4100}, {0, 9, 999'983}, {0, 9, 1}};
  EXPECT_EQ(PlaceBuffers(buffers).height, 8200u + 999'984u);
}

TEST(PlacementTest, NothingAndNonsenseTakeNoRoom) {
  EXPECT_EQ(PlaceBuffers({}).height, 0u);
  EXPECT_EQ(PlaceBuffers({}).gap(), 0);
  const Buffers buffers = {{5, 5, 100}, {7, 3, 100}, {1, 9, 0}, {1, 2, 8}, {2, 3, 8}};
  const PlacementResult result = PlaceBuffers(buffers);
  EXPECT_EQ(result.height, 8u);
  EXPECT_EQ(result.bound, 8u);
  EXPECT_EQ(PlacementConflict(buffers, result.addresses, result.height), "");
}

TEST(PlacementTest, HugeSizesKeepTheirPlaces) {
  const std::uint64_t tera = std::uint64_t{1} << 40;
  const Buffers buffers = {{0, 2, 5 * tera + 1}, {1, 3, 7 * tera + 3}, {2, 4, 5 * tera}};
  const PlacementResult result = PlaceBuffers(buffers, Quick(0.01));
  EXPECT_EQ(PlacementConflict(buffers, result.addresses, result.height), "");
  EXPECT_LT(result.gap(), 1e-6);
}

TEST(PlacementTest, SameSeedSameArrangement) {
  std::mt19937_64 random(6);
  const Buffers buffers = Random(random, 100, 60, 1000);
  EXPECT_EQ(PlaceBuffers(buffers, Quick(0)).addresses, PlaceBuffers(buffers, Quick(0)).addresses);
}

TEST(PlacementConflictTest, FindsWhatIsWrong) {
  const Buffers buffers = {{0, 5, 10}, {4, 8, 10}, {5, 9, 10}};
  EXPECT_EQ(PlacementConflict(buffers, {0, 10, 0}, 20), "");
  EXPECT_EQ(PlacementConflict(buffers, {0, 10}, 20), "a buffer has no address");
  EXPECT_THAT(PlacementConflict(buffers, {0, 9, 20}, 30), HasSubstr("0 and 1 overlap"));
  EXPECT_THAT(PlacementConflict(buffers, {10, 1, 20}, 30), HasSubstr("overlap"));
  EXPECT_THAT(PlacementConflict(buffers, {0, 10, 10}, 30), HasSubstr("overlap"));
  EXPECT_EQ(PlacementConflict(buffers, {0, 10, 0}, 19), "buffer 1 lies too high");
  EXPECT_EQ(PlacementConflict(buffers, {0, ~std::uint64_t{0}, 0}, 30), "buffer 1 lies too high");
}

TEST(PlacementBoundTest, EndsComeBeforeBeginnings) {
  EXPECT_EQ(PlacementBound({{0, 5, 10}, {5, 9, 12}}), 12u);
  EXPECT_EQ(PlacementBound({{0, 6, 10}, {5, 9, 12}}), 22u);
  EXPECT_EQ(PlacementBound({}), 0u);
}

}  // namespace
}  // namespace memprof::analysis
