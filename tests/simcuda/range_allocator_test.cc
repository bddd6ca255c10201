// The range allocator against a reference that keeps one flag per unit.
#include "simcuda/driver/range_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace memprof::simcuda {
namespace {

constexpr uint64_t kUnits = 512;

// Free units as flags; best fit by a search over all units.
class ReferenceRanges {
 public:
  explicit ReferenceRanges(uint64_t barrier) : free_(kUnits, false), barrier_(barrier) {}

  void Add(uint64_t address, uint64_t units) { Set(address, units, true); }
  bool Take(uint64_t units, uint64_t* address) {
    uint64_t best = UINT64_MAX;
    for (const auto& [start, length] : Ranges()) {
      if (length >= units && length < best) {
        best = length;
        *address = start;
      }
    }
    if (best == UINT64_MAX) return false;
    Set(*address, units, false);
    return true;
  }
  std::map<uint64_t, uint64_t> Ranges() const {
    std::map<uint64_t, uint64_t> ranges;
    uint64_t start = 0;
    for (uint64_t at = 0; at < kUnits; ++at) {
      if (!free_[at]) continue;
      const bool continues = at > 0 && free_[at - 1] && (barrier_ == 0 || at % barrier_ != 0);
      if (!continues) start = at;
      ranges[start] = at + 1 - start;
    }
    return ranges;
  }

 private:
  void Set(uint64_t address, uint64_t units, bool value) {
    for (uint64_t i = 0; i < units; ++i) {
      EXPECT_NE(free_[address + i], value);
      free_[address + i] = value;
    }
  }
  std::vector<bool> free_;
  const uint64_t barrier_;
};

void RunAgainstReference(uint64_t barrier, uint64_t largest, unsigned seed) {
  RangeAllocator allocator(barrier);
  ReferenceRanges reference(barrier);
  const uint64_t piece = barrier == 0 ? kUnits : barrier;
  for (uint64_t at = 0; at < kUnits; at += piece) {
    allocator.Add(at, piece);
    reference.Add(at, piece);
  }
  std::mt19937 random(seed);
  std::vector<std::pair<uint64_t, uint64_t>> taken;
  for (int round = 0; round < 3000; ++round) {
    if (taken.empty() || random() % 5 < 3) {
      const uint64_t units = 1 + random() % largest;
      uint64_t address = 0;
      uint64_t expected = 0;
      const bool found = allocator.Take(units, &address);
      ASSERT_EQ(found, reference.Take(units, &expected));
      if (!found) continue;
      ASSERT_EQ(address, expected);
      taken.emplace_back(address, units);
    } else {
      const size_t index = random() % taken.size();
      const auto [address, units] = taken[index];
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(index));
      const auto [start, length] = allocator.Add(address, units);
      reference.Add(address, units);
      ASSERT_EQ(reference.Ranges().at(start), length);
    }
    ASSERT_EQ(allocator.ranges(), reference.Ranges());
  }
}

TEST(RangeAllocator, AgreesWithReference) {
  for (unsigned seed = 1; seed <= 5; ++seed) RunAgainstReference(0, 60, seed);
}

TEST(RangeAllocator, AgreesWithReferenceAcrossBarriers) {
  for (unsigned seed = 1; seed <= 5; ++seed) RunAgainstReference(64, 64, seed);
}

// Allocations at exact addresses, as reservations at a wanted address make them.
TEST(RangeAllocator, TakesExactlyWhatIsFree) {
  RangeAllocator allocator;
  allocator.Add(0, kUnits);
  std::vector<bool> free(kUnits, true);
  std::mt19937 random(21);
  for (int round = 0; round < 4000; ++round) {
    const uint64_t start = random() % (kUnits + 8);
    const uint64_t units = random() % 40;
    const uint64_t end = std::min(start + units, kUnits);
    const auto begin = free.begin() + static_cast<std::ptrdiff_t>(std::min(start, kUnits));
    const auto stop =
        free.begin() + static_cast<std::ptrdiff_t>(std::max(end, std::min(start, kUnits)));
    if (round % 3 != 0) {
      const bool all = units > 0 && start + units <= kUnits &&
                       std::all_of(begin, stop, [](bool one) { return one; });
      ASSERT_EQ(allocator.TakeAt(start, units), all) << start << ", " << units;
      if (all) std::fill(begin, stop, false);
    } else if (begin != stop && std::none_of(begin, stop, [](bool one) { return one; })) {
      allocator.Add(start, static_cast<uint64_t>(stop - begin));
      std::fill(begin, stop, true);
    }
    ASSERT_EQ(allocator.free_bytes(),
              static_cast<uint64_t>(std::count(free.begin(), free.end(), true)));
    uint64_t largest = 0;
    uint64_t run = 0;
    for (const bool one : free) {
      run = one ? run + 1 : 0;
      largest = std::max(largest, run);
    }
    ASSERT_EQ(allocator.largest(), largest);
  }
  // Sizes whose end overflows 64 bits.
  EXPECT_FALSE(allocator.TakeAt(5, UINT64_MAX));
  EXPECT_FALSE(allocator.TakeAt(UINT64_MAX, 2));
}

TEST(RangeAllocator, KeepsSingleBarriers) {
  RangeAllocator allocator;
  allocator.SetBarrier(100);
  allocator.Add(0, 100);
  allocator.Add(100, 100);
  EXPECT_EQ(allocator.ranges().size(), 2u);
  EXPECT_EQ(allocator.largest(), 100u);
  EXPECT_TRUE(allocator.TakeAt(100, 100));
  allocator.ClearBarrier(100);
  allocator.Add(100, 100);
  EXPECT_EQ(allocator.largest(), 200u);
}

TEST(RangeAllocator, RefusesWhatIsNotFree) {
  RangeAllocator allocator;
  allocator.Add(1000, 100);
  EXPECT_FALSE(allocator.TakeAt(999, 10));
  EXPECT_FALSE(allocator.TakeAt(1050, 51));
  EXPECT_FALSE(allocator.TakeAt(1050, 0));
  EXPECT_TRUE(allocator.TakeAt(1050, 50));
  EXPECT_EQ(allocator.free_bytes(), 50u);
}

}  // namespace
}  // namespace memprof::simcuda
