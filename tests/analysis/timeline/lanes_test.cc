// Lanes of allocations: stable, of the right height, never overlapping; placed by first fit or by
// addresses.
#include "analysis/timeline/lanes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "analysis/base/first_fit.h"
#include "analysis/base/sizes.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::RandomLog;

// The reference has one flag for each unit.
TEST(FirstFitTest, IsTheLowestPlaceThatIsFree) {
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    std::mt19937 random(seed);
    FirstFit fit;
    std::vector<bool> taken;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> live;
    for (int i = 0; i < 6000; ++i) {
      // Fills up, then mostly empties, so that chunks of holes are created and removed.
      const bool filling = (i / 1500) % 2 == 0;
      if (live.empty() || random() % 10 < (filling ? 7u : 3u)) {
        const std::uint32_t size = 1 + random() % (i % 3 == 0 ? 40 : 4);
        std::uint32_t low = 0;
        for (std::uint32_t run = 0;; ++low) {
          if (low == taken.size()) taken.push_back(false);
          run = taken[low] ? 0 : run + 1;
          if (run == size) {
            low = low + 1 - size;
            break;
          }
        }
        ASSERT_EQ(fit.Take(size), low) << "seed " << seed << " operation " << i;
        std::fill_n(taken.begin() + low, size, true);
        live.push_back({low, size});
      } else {
        std::swap(live[random() % live.size()], live.back());
        const auto [low, size] = live.back();
        live.pop_back();
        fit.Give(low, size);
        std::fill_n(taken.begin() + low, size, false);
      }
      if (i % 500 != 0) continue;
      std::size_t holes = 1;  // the unbounded hole at the end
      for (std::size_t u = 0; u + 1 < taken.size(); ++u) holes += !taken[u] && taken[u + 1];
      ASSERT_EQ(fit.holes(), holes) << "adjacent free units are one hole";
    }
    EXPECT_LE(fit.height(), taken.size());
    while (!live.empty()) {
      fit.Give(live.back().first, live.back().second);
      live.pop_back();
    }
    EXPECT_EQ(fit.holes(), 1u);
    EXPECT_EQ(fit.Take(1000), 0u);
  }
}

TEST(FirstFitTest, RefusesWhatHasNoPlace) {
  FirstFit fit;
  EXPECT_EQ(fit.Take(FirstFit::kEnd - 10), 0u);
  EXPECT_EQ(fit.Take(11), FirstFit::kEnd);
  EXPECT_EQ(fit.Take(10), FirstFit::kEnd - 10);
  EXPECT_EQ(fit.Take(1), FirstFit::kEnd);
  fit.Give(0, FirstFit::kEnd - 10);
  EXPECT_EQ(fit.Take(5), 0u);
}

// Allocations that are live at the same time share no unit.
void ExpectDisjoint(const Session& session, const Lanes& lanes) {
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const AllocationRecord& a = session.record(lanes.ids[i]);
    EXPECT_LE(lanes.high[i], lanes.height);
    for (std::size_t j = i + 1; j < lanes.size(); ++j) {
      const AllocationRecord& b = session.record(lanes.ids[j]);
      if (!a.alive() && a.death <= b.birth) continue;  // ended before b begins
      ASSERT_TRUE(lanes.high[i] <= lanes.low[j] || lanes.high[j] <= lanes.low[i])
          << "allocations " << lanes.ids[i].value << " and " << lanes.ids[j].value;
    }
  }
}

TEST(LanesTest, EveryAllocationHasALaneOfItsOwn) {
  for (const std::uint32_t seed : {11u, 12u, 13u}) {
    RandomLog log({.seed = seed, .operations = 900});
    const auto session = LoadLog(log.builder());
    ASSERT_NE(session, nullptr);
    for (const int device : {0, 1, kNoDevice}) {
      const Lanes lanes = PackLanes(*session, device);
      EXPECT_EQ(lanes.ids, ShownAllocations(*session, device));
      EXPECT_GT(lanes.size(), 5u);
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        const std::uint64_t bytes = session->record(lanes.ids[i]).bytes;
        EXPECT_EQ(lanes.high[i] - lanes.low[i], (bytes + lanes.unit - 1) / lanes.unit);
      }
      ExpectDisjoint(*session, lanes);
    }
  }
}

// The reference places each allocation against all before it.
TEST(LanesTest, PacksAsFirstFitDoes) {
  RandomLog log({.seed = 21, .operations = 500});
  const auto session = LoadLog(log.builder());
  const Lanes lanes = PackLanes(*session, 0);
  std::uint32_t height = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    std::map<std::uint32_t, std::uint32_t> used;
    const EventId birth = session->record(lanes.ids[i]).birth;
    for (std::size_t j = 0; j < i; ++j) {
      const AllocationRecord& b = session->record(lanes.ids[j]);
      if (b.alive() || b.death > birth) used[lanes.low[j]] = lanes.high[j];
    }
    std::uint32_t low = 0;
    const std::uint32_t size = lanes.high[i] - lanes.low[i];
    for (const auto& [begin, end] : used) {
      if (begin >= low + size) break;
      low = std::max(low, end);
    }
    ASSERT_EQ(lanes.low[i], low) << "allocation " << lanes.ids[i].value;
    height = std::max(height, lanes.high[i]);
  }
  EXPECT_EQ(lanes.height, height);
}

TEST(LanesTest, ShowsBlocksAndWhatIsNotSuballocated) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x100000, 4 * kMiB);
  log.Alloc(Layer::kSegment, 0x100000, 4 * kMiB);
  log.Alloc(Layer::kBlock, 0x100000, kMiB);
  log.TensorCreate(0x100000, kMiB, log.Tensor("w", "fp32", {4}));
  log.Alloc(Layer::kLinear, 0x9000000, kMiB);
  log.Alloc(Layer::kPinned, 0x7f0000000000, kMiB, {.device = -1});
  const auto session = LoadLog(log);
  const auto layers = [&](int device) {
    std::vector<Layer> found;
    for (const AllocationId id : ShownAllocations(*session, device))
      found.push_back(session->record(id).layer);
    return found;
  };
  EXPECT_EQ(layers(0), (std::vector<Layer>{Layer::kBlock, Layer::kLinear}));
  EXPECT_EQ(layers(kNoDevice), std::vector<Layer>{Layer::kPinned});
  EXPECT_TRUE(layers(7).empty());
}

TEST(LanesTest, HugeMemoryHasLargerUnits) {
  LogBuilder log;
  log.Device(0, 1);
  for (std::uint64_t i = 0; i < 4; ++i) log.Alloc(Layer::kLinear, i << 44, 1ull << 44);
  const auto session = LoadLog(log);
  const Lanes lanes = PackLanes(*session, 0);
  EXPECT_GT(lanes.unit, 256u);
  EXPECT_DOUBLE_EQ(lanes.bytes(), static_cast<double>(4ull << 44));
  ExpectDisjoint(*session, lanes);
}

TEST(LanesTest, StopsWhenAsked) {
  RandomLog log({.seed = 5});
  const auto session = LoadLog(log.builder());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(PackLanes(*session, 0, stop.get_token()).size(), 0u);
  EXPECT_EQ(LayOutAddresses(*session, 0, stop.get_token()).lanes.size(), 0u);
}

TEST(AddressLanesTest, EveryByteIsWhereItsAddressSays) {
  for (const std::uint32_t seed : {31u, 32u}) {
    RandomLog log({.seed = seed, .operations = 700});
    const auto session = LoadLog(log.builder());
    const AddressLanes found = LayOutAddresses(*session, 0);
    ASSERT_GT(found.lanes.size(), 10u);
    ASSERT_GT(found.segments.size(), 1u);
    ExpectDisjoint(*session, found.lanes);
    ASSERT_EQ(found.lanes.unit, 1u);
    const auto check = [&](const Lanes& lanes) {
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        const AllocationRecord& a = session->record(lanes.ids[i]);
        EXPECT_EQ(found.AddressAt(lanes.low[i]), a.address);
        EXPECT_EQ(found.AddressAt(lanes.high[i] - 1), a.address + a.bytes - 1);
        EXPECT_LE(lanes.high[i], lanes.height);
      }
    };
    check(found.lanes);
    check(found.segments);
  }
}

TEST(AddressLanesTest, LeavesOutWhereNothingEverWas) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x10000000, kMiB);
  log.Alloc(Layer::kLinear, 0x10000000 + kMiB + 1024, kMiB);  // a small gap is kept
  log.Free(0x10000000);
  log.Alloc(Layer::kLinear, 0x10000000, 512);  // reuses the address of another
  // A gap of a thirtieth of the total is removed, too.
  log.Alloc(Layer::kLinear, 0x10000000 + 2 * kMiB + 1024 + (128 << 10), kMiB);
  log.Alloc(Layer::kLinear, 0x7f0000000000, kMiB);
  log.Alloc(Layer::kArray, 0x5000, kMiB);  // no address
  const auto session = LoadLog(log);
  const AddressLanes found = LayOutAddresses(*session, 0);
  ASSERT_EQ(found.spans.size(), 3u);
  EXPECT_EQ(found.spans[0].address, 0x10000000u);
  EXPECT_EQ(found.spans[0].bytes, 2 * kMiB + 1024);
  EXPECT_EQ(found.spans[1].address, 0x10000000u + 2 * kMiB + 1024 + (128 << 10));
  EXPECT_EQ(found.spans[1].offset, 2 * kMiB + 1024);
  EXPECT_EQ(found.spans[2].address, 0x7f0000000000u);
  EXPECT_EQ(found.spans[2].offset, 3 * kMiB + 1024);
  EXPECT_EQ(found.lanes.height, 4 * kMiB + 1024);
  EXPECT_EQ(found.lanes.size(), 5u);
  EXPECT_EQ(found.AddressAt(1e18), 0x7f0000000000u + kMiB);
  EXPECT_EQ(found.AddressAt(-5), 0x10000000u);
  EXPECT_EQ(LayOutAddresses(*session, 3).AddressAt(0), 0u);
}

}  // namespace
}  // namespace memprof::analysis
