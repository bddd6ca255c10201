// Memory mapped to parts of sparse arrays, against a table of single elements.
#include "libmemprof/src/driver/tile_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {
namespace {

TileMap::Region Box(std::uint64_t x, std::uint64_t y, std::uint64_t z, std::uint64_t width,
                    std::uint64_t height, std::uint64_t depth, std::uint32_t level = 0,
                    std::uint32_t layer = 0) {
  return {false, level, layer, {x, y, z}, {x + width, y + height, z + depth}};
}

std::set<std::uint64_t> Handles(const TileMap::Freed& freed) {
  std::set<std::uint64_t> handles;
  for (const VmmLedger::Physical& physical : freed)
    EXPECT_TRUE(handles.insert(physical.handle).second) << "reported once";
  return handles;
}

// Memory ends exactly when the last element mapped to it is unmapped.
TEST(TileMap, AgreesWithATableOfElements) {
  constexpr unsigned kSide = 6;
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    TileMap tiles;
    VmmLedger memory;
    using Element = std::tuple<unsigned, unsigned, unsigned, unsigned, unsigned>;
    std::map<Element, std::uint64_t> reference;
    std::set<std::uint64_t> held;
    std::uint64_t next = 1;
    for (int round = 0; round < 150; ++round) {
      const std::uint64_t array = 1 + random() % 2;
      const unsigned level = random() % 2;
      unsigned from[3], extent[3];
      for (int axis = 0; axis < 3; ++axis) {
        from[axis] = random() % kSide;
        extent[axis] = 1 + random() % (kSide - from[axis]);
      }
      const TileMap::Region region =
          Box(from[0], from[1], from[2], extent[0], extent[1], extent[2], level);
      std::uint64_t handle = 0;
      TileMap::Freed freed;
      if (random() % 3 != 0) {
        // New memory, whose handle is released at once, or memory that is still mapped to some
        // tile.
        handle = held.empty() || random() % 2 == 0 ? next++ : *held.begin();
        const bool fresh = held.insert(handle).second;
        if (fresh) memory.Create(handle, 64, 0, kLayerVmmPhysical);
        tiles.Map(array, 1, region, handle, &memory, &freed);
        if (fresh) {
          EXPECT_FALSE(memory.Release(handle).last);
        }
      } else {
        tiles.Unmap(array, region, &memory, &freed);
      }
      for (unsigned x = from[0]; x < from[0] + extent[0]; ++x)
        for (unsigned y = from[1]; y < from[1] + extent[1]; ++y)
          for (unsigned z = from[2]; z < from[2] + extent[2]; ++z) {
            const Element element{static_cast<unsigned>(array), level, x, y, z};
            if (handle != 0)
              reference[element] = handle;
            else
              reference.erase(element);
          }
      std::set<std::uint64_t> used, ended;
      for (const auto& [element, under] : reference) used.insert(under);
      for (const std::uint64_t known : held)
        if (!used.contains(known)) ended.insert(known);
      ASSERT_EQ(Handles(freed), ended) << "seed " << seed << " round " << round;
      held = used;
    }
  }
}

class Tiles : public ::testing::Test {
 protected:
  void Map(std::uint64_t array, std::uint32_t context, const TileMap::Region& region,
           std::uint64_t handle) {
    memory_.Create(handle, 64, 0, kLayerVmmPhysical);
    tiles_.Map(array, context, region, handle, &memory_, &freed_);
    memory_.Release(handle);
  }
  TileMap tiles_;
  VmmLedger memory_;
  TileMap::Freed freed_;
};

TEST_F(Tiles, LevelsLayersAndTailsAreApart) {
  Map(1, 1, Box(0, 0, 0, 4, 4, 1), 10);
  Map(1, 1, Box(0, 0, 0, 4, 4, 1, 1), 11);
  Map(1, 1, Box(0, 0, 0, 4, 4, 1, 0, 1), 12);
  TileMap::Region tail = Box(0, 0, 0, 4, 1, 1);
  tail.is_tail = true;
  Map(1, 1, tail, 13);
  EXPECT_EQ(freed_.size(), 0u);
  tiles_.Unmap(1, tail, &memory_, &freed_);
  EXPECT_EQ(Handles(freed_), std::set<std::uint64_t>{13});
  freed_.Clear();
  tiles_.Unmap(1, Box(0, 0, 0, 4, 4, 1, 0, 1), &memory_, &freed_);
  EXPECT_EQ(Handles(freed_), std::set<std::uint64_t>{12});
}

TEST_F(Tiles, TheSameMemoryInItsOwnPlaceStays) {
  Map(1, 1, Box(0, 0, 0, 4, 4, 1), 10);
  tiles_.Map(1, 1, Box(0, 0, 0, 4, 4, 1), 10, &memory_, &freed_);
  EXPECT_EQ(freed_.size(), 0u);
}

TEST_F(Tiles, MemoryThatIsNotKnownTakesThePlaceAllTheSame) {
  Map(1, 1, Box(0, 0, 0, 4, 4, 1), 10);
  tiles_.Map(1, 1, Box(0, 0, 0, 4, 4, 1), 999, &memory_, &freed_);
  EXPECT_EQ(Handles(freed_), std::set<std::uint64_t>{10});
}

TEST_F(Tiles, ArraysAndContextsEnd) {
  Map(1, 5, Box(0, 0, 0, 4, 4, 1), 10);
  Map(2, 5, Box(0, 0, 0, 4, 4, 1), 11);
  Map(3, 6, Box(0, 0, 0, 4, 4, 1), 12);
  tiles_.EndArray(1, &memory_, &freed_);
  EXPECT_EQ(Handles(freed_), std::set<std::uint64_t>{10});
  freed_.Clear();
  tiles_.EndContext(0, &memory_, &freed_);
  EXPECT_EQ(freed_.size(), 0u) << "no context";
  tiles_.EndContext(5, &memory_, &freed_);
  EXPECT_EQ(Handles(freed_), std::set<std::uint64_t>{11});
}

}  // namespace
}  // namespace memprof::recorder
