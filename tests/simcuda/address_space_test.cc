// Addresses of allocations: what public recordings show, and against a reference with a flag per
// unit.
#include "simcuda/driver/address_space.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace memprof::simcuda {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;
constexpr uint64_t kSpace = uint64_t{1} << 40;
constexpr uint64_t kSpaceEnd = kSpace + 4096 * kMebibyte;

// Requests and frees in MiB; addresses in MiB from the first one, as in the recordings.
class RecordedSpace {
 public:
  RecordedSpace() { space_.Add(kSpace, kSpaceEnd - kSpace); }
  int64_t Take(uint64_t mib) {
    uint64_t address = 0;
    EXPECT_TRUE(space_.Take(mib * kMebibyte, &address));
    if (first_ == 0) first_ = address;
    return (static_cast<int64_t>(address) - static_cast<int64_t>(first_)) /
           static_cast<int64_t>(kMebibyte);
  }
  void Free(int64_t at, uint64_t mib) {
    space_.Free(first_ + static_cast<uint64_t>(at * static_cast<int64_t>(kMebibyte)),
                mib * kMebibyte);
  }

 private:
  AddressSpace space_;
  uint64_t first_ = 0;
};

TEST(AddressSpace, NewRangesGoDown) {
  RecordedSpace space;
  const std::vector<std::pair<uint64_t, int64_t>> segments = {
      {20, 0},      {20, -32},    {2, -12},     {20, -64},   {512, -576},
      {512, -1088}, {954, -2048}, {250, -2304}, {192, -2496}};
  for (const auto& [mib, at] : segments) EXPECT_EQ(space.Take(mib), at) << mib;
}

TEST(AddressSpace, HolesAreFilledFromTheLowest) {
  RecordedSpace space;
  const std::vector<std::pair<uint64_t, int64_t>> segments = {
      {44, 0},    {44, -64},  {44, -128}, {20, -84},  {16, -20},
      {22, -160}, {44, -224}, {2, -180},  {16, -178}, {10, -138}};
  for (const auto& [mib, at] : segments) EXPECT_EQ(space.Take(mib), at) << mib;
}

TEST(AddressSpace, RangesAreGivenBackWhenTheyAreEmpty) {
  RecordedSpace space;
  EXPECT_EQ(space.Take(20), 0);
  EXPECT_EQ(space.Take(10), 20);
  EXPECT_EQ(space.Take(20), -32);
  space.Free(0, 20);
  EXPECT_EQ(space.Take(40), -96);  // 10 MiB keep the first range
  space.Free(20, 10);
  EXPECT_EQ(space.Take(32), 0);
  space.Free(-96, 40);
  EXPECT_EQ(space.Take(64), -96);
}

TEST(AddressSpace, OneRangeIsFilledUpwards) {
  AddressSpace space;
  space.AddUpward(kSpace, 4096 * kMebibyte);
  uint64_t address = 0;
  for (const uint64_t at : {0, 20, 40}) {
    EXPECT_TRUE(space.Take(20 * kMebibyte, &address));
    EXPECT_EQ(address, kSpace + at * kMebibyte);
  }
  space.Free(kSpace, 20 * kMebibyte);
  space.Free(kSpace + 20 * kMebibyte, 20 * kMebibyte);
  EXPECT_TRUE(space.Take(512 * kMebibyte, &address));
  EXPECT_EQ(address, kSpace + 60 * kMebibyte);
  EXPECT_TRUE(space.Take(30 * kMebibyte, &address));
  EXPECT_EQ(address, kSpace);
}

TEST(AddressSpace, NoRoom) {
  AddressSpace space;
  uint64_t address = 0;
  EXPECT_FALSE(space.Take(kMebibyte, &address));
  space.Add(kSpace, 10 * kMebibyte);  // less than a range
  EXPECT_TRUE(space.Take(6 * kMebibyte, &address));
  EXPECT_EQ(address, kSpace + 4 * kMebibyte);
  EXPECT_FALSE(space.Take(6 * kMebibyte, &address));
  EXPECT_TRUE(space.Take(4 * kMebibyte, &address));
  EXPECT_EQ(address, kSpace);
  space.Free(kSpace + 4 * kMebibyte, 6 * kMebibyte);
  space.Free(kSpace, 4 * kMebibyte);
  EXPECT_TRUE(space.Take(10 * kMebibyte, &address));
}

// One entry for each unit of 2 MiB: free, or the range that it belongs to, and whether it is taken.
class ReferenceSpace {
 public:
  static constexpr uint64_t kUnit = 2 * kMebibyte;
  static constexpr uint64_t kRange = AddressSpace::kRangeBytes / kUnit;

  explicit ReferenceSpace(uint64_t units) : range_(units, 0), taken_(units, false) {}

  bool Take(uint64_t units, uint64_t* at) {
    if (Hole(units, at)) return true;
    const uint64_t whole = (units + kRange - 1) / kRange * kRange;
    if (!NewRange(whole, true) && !NewRange(units, units % kRange == 0)) return false;
    return Hole(units, at);
  }
  void Free(uint64_t at, uint64_t units) {
    const uint64_t range = range_[at];
    for (uint64_t i = at; i < at + units; ++i) taken_[i] = false;
    bool empty = true;
    for (uint64_t i = 0; i < range_.size(); ++i) empty &= range_[i] != range || !taken_[i];
    for (uint64_t& one : range_) {
      if (empty && one == range) one = 0;
    }
  }

 private:
  bool All(uint64_t at, uint64_t units, uint64_t range) const {
    if (at + units > range_.size()) return false;
    for (uint64_t i = at; i < at + units; ++i) {
      if (range_[i] != range || taken_[i]) return false;
    }
    return true;
  }
  bool Hole(uint64_t units, uint64_t* at) {
    for (*at = 0; *at < range_.size(); ++*at) {
      if (range_[*at] == 0 || !All(*at, units, range_[*at])) continue;
      for (uint64_t i = *at; i < *at + units; ++i) taken_[i] = true;
      return true;
    }
    return false;
  }
  // In the highest gap that is large enough, aligned if there is room for that.
  bool NewRange(uint64_t units, bool aligned) {
    for (uint64_t top = range_.size(); top-- > 0;) {
      if (!All(top, units, 0)) continue;
      uint64_t at = top;
      while (aligned && at % kRange != 0 && at > 0 && range_[at - 1] == 0) --at;
      if (aligned && at % kRange != 0) at = top;
      for (uint64_t i = at; i < at + units; ++i) range_[i] = next_;
      ++next_;
      return true;
    }
    return false;
  }

  std::vector<uint64_t> range_;
  std::vector<bool> taken_;
  uint64_t next_ = 1;
};

TEST(AddressSpace, AsTheReference) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const uint64_t units = 6 * ReferenceSpace::kRange + seed;
    AddressSpace space;
    space.Add(kSpace, units * ReferenceSpace::kUnit);
    ReferenceSpace reference(units);
    std::vector<std::pair<uint64_t, uint64_t>> live;
    for (int step = 0; step < 600; ++step) {
      if (random() % 5 < 3 || live.empty()) {
        const uint64_t wanted = 1 + random() % (random() % 4 == 0 ? 40 : 9);
        uint64_t address = 0;
        uint64_t at = 0;
        const bool good = reference.Take(wanted, &at);
        ASSERT_EQ(space.Take(wanted * ReferenceSpace::kUnit, &address), good)
            << seed << " " << step;
        if (!good) continue;
        ASSERT_EQ(address, kSpace + at * ReferenceSpace::kUnit) << seed << " " << step;
        live.emplace_back(at, wanted);
      } else {
        std::swap(live[random() % live.size()], live.back());
        const auto [at, taken] = live.back();
        live.pop_back();
        space.Free(kSpace + at * ReferenceSpace::kUnit, taken * ReferenceSpace::kUnit);
        reference.Free(at, taken);
      }
    }
  }
}

}  // namespace
}  // namespace memprof::simcuda
