// The map of device memory against a set of granules.
#include "cupti_hooks/src/address_map.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>
#include <vector>

namespace memprof::cupti {
namespace {

constexpr std::uint64_t kGranule = 2 << 20;

TEST(AddressMap, KnowsNothingBeforeItIsMarked) {
  ASSERT_TRUE(OpenAddressMap());
  EXPECT_FALSE(IsMarked(0x7f0012345678));
  EXPECT_FALSE(IsMarked(0));
}

TEST(AddressMap, AgreesWithASetOfGranules) {
  ASSERT_TRUE(OpenAddressMap());
  std::mt19937_64 random(7);
  std::set<std::uint64_t> granules;
  constexpr std::uint64_t kBase = 0x100000000000;
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t address = kBase + random() % (std::uint64_t{1} << 36);
    const std::uint64_t bytes = 1 + random() % (i % 10 == 0 ? 1 << 28 : 1 << 16);
    MarkAddresses(MemorySide::kDevice, address, bytes);
    for (std::uint64_t g = address / kGranule; g <= (address + bytes - 1) / kGranule; ++g) {
      granules.insert(g);
    }
  }
  for (int i = 0; i < 200000; ++i) {
    const std::uint64_t address = kBase + random() % (std::uint64_t{1} << 36);
    ASSERT_EQ(IsMarked(MemorySide::kDevice, address), granules.contains(address / kGranule))
        << std::hex << address;
    ASSERT_FALSE(IsMarked(MemorySide::kHost, address));
  }
}

TEST(AddressMap, TakesTheWholeOfALargeRangeAndNothingBeside) {
  ASSERT_TRUE(OpenAddressMap());
  const std::uint64_t address = 0x200000000000;
  const std::uint64_t bytes = std::uint64_t{80} << 30;
  MarkAddresses(MemorySide::kHost, address, bytes);
  EXPECT_TRUE(IsMarked(MemorySide::kHost, address));
  EXPECT_TRUE(IsMarked(MemorySide::kHost, address + bytes / 2));
  EXPECT_TRUE(IsMarked(MemorySide::kHost, address + bytes - 1));
  EXPECT_FALSE(IsMarked(MemorySide::kHost, address - 1));
  EXPECT_FALSE(IsMarked(MemorySide::kHost, address + bytes));
  EXPECT_TRUE(IsMarked(address));
}

TEST(AddressMap, IgnoresWhatLiesOutsideTheAddressSpace) {
  ASSERT_TRUE(OpenAddressMap());
  MarkAddresses(MemorySide::kDevice, ~std::uint64_t{0} - 100, 1000);  // wraps around
  MarkAddresses(MemorySide::kDevice, std::uint64_t{1} << 50, 1);
  MarkAddresses(MemorySide::kDevice, 0x300000000000, 0);
  EXPECT_FALSE(IsMarked(~std::uint64_t{0}));
  EXPECT_FALSE(IsMarked(std::uint64_t{1} << 50));
  EXPECT_FALSE(IsMarked(0x300000000000));
  // longer than the address space
  MarkAddresses(MemorySide::kDevice, 0x7fffffe00000, ~std::uint64_t{0});
  EXPECT_TRUE(IsMarked(0x7fffffffffff));
  EXPECT_FALSE(IsMarked(0));
}

TEST(AddressMap, MarksOfManyThreadsAllArrive) {
  ASSERT_TRUE(OpenAddressMap());
  constexpr std::uint64_t kBase = 0x400000000000;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (std::uint64_t i = t; i < 4096; i += 4) {
        MarkAddresses(MemorySide::kDevice, kBase + i * kGranule, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t i = 0; i < 4096; ++i) {
    ASSERT_TRUE(IsMarked(MemorySide::kDevice, kBase + i * kGranule)) << i;
  }
}

}  // namespace
}  // namespace memprof::cupti
