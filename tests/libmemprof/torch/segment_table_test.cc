// The table of segments, against a plain list.
#include "libmemprof/src/torch/internal/segment_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace memprof::recorder {
namespace {

using Segment = SegmentTable::Segment;

struct Reference {
  std::vector<Segment> segments;
  bool Add(const Segment& segment) {
    for (const Segment& other : segments)
      if (other.address < segment.address + segment.bytes &&
          segment.address < other.address + other.bytes)
        return false;
    segments.push_back(segment);
    return true;
  }
  template <typename Wanted>
  const Segment* First(Wanted wanted) const {
    const Segment* best = nullptr;
    for (const Segment& segment : segments)
      if (wanted(segment) && (best == nullptr || segment.address < best->address)) best = &segment;
    return best;
  }
  void Erase(std::uint64_t address) {
    std::erase_if(segments, [=](const Segment& segment) { return segment.address == address; });
  }
};

// The results are equal, and refer to the same segment.
void ExpectSegment(bool found, const Segment& segment, const Segment* expected) {
  ASSERT_EQ(found, expected != nullptr);
  if (!found) return;
  EXPECT_EQ(segment.address, expected->address);
  EXPECT_EQ(segment.bytes, expected->bytes);
  EXPECT_EQ(segment.device, expected->device);
  EXPECT_EQ(segment.time_ns, expected->time_ns);
}

TEST(SegmentTable, AgreesWithAPlainList) {
  std::mt19937 random(7);
  SegmentTable table;
  Reference reference;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const std::uint64_t from = random() % 1000, length = random() % 20;
    Segment segment;
    switch (random() % 6) {
      case 0:
      case 1: {
        const Segment fresh{from, length, i, static_cast<std::int32_t>(random() % 3)};
        ASSERT_EQ(table.Add(fresh), length > 0 && reference.Add(fresh)) << i;
        break;
      }
      case 2:
        ExpectSegment(table.Find(from, &segment), segment, reference.First([=](const Segment& s) {
          return s.address <= from && from < s.address + s.bytes;
        }));
        break;
      case 3: {
        const bool taken = table.TakeAt(from, &segment);
        ExpectSegment(taken, segment,
                      reference.First([=](const Segment& s) { return s.address == from; }));
        if (taken) reference.Erase(from);
        break;
      }
      case 4: {
        const bool taken = table.TakeWithin(from, from + length, &segment);
        ExpectSegment(taken, segment, reference.First([=](const Segment& s) {
          return s.address < from + length && from < s.address + s.bytes;
        }));
        if (taken) reference.Erase(segment.address);
        break;
      }
      default: {
        if (random() % 10 != 0) break;
        const auto device = static_cast<std::int32_t>(random() % 4);
        const bool taken = table.TakeOf(device, &segment);
        ExpectSegment(taken, segment,
                      reference.First([=](const Segment& s) { return s.device == device; }));
        if (taken) reference.Erase(segment.address);
      }
    }
    ASSERT_EQ(table.empty(), reference.segments.empty());
  }
}

TEST(SegmentTable, TakesNoNonsense) {
  SegmentTable table;
  EXPECT_FALSE(table.Add({100, 0, 0, 0}));
  EXPECT_FALSE(table.Add({~std::uint64_t{0}, 2, 0, 0})) << "wraps around";
  EXPECT_FALSE(table.Add({2, ~std::uint64_t{0}, 0, 0}));
  EXPECT_TRUE(table.empty());
  EXPECT_TRUE(table.Add({~std::uint64_t{0} - 10, 5, 0, 0}));
  EXPECT_FALSE(table.empty());
}

}  // namespace
}  // namespace memprof::recorder
