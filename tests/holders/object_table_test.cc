// Compared with the standard's hash table.
#include "holders/src/object_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <unordered_map>
#include <vector>

namespace memprof::holders {
namespace {

PyObject* At(std::uint64_t number) { return reinterpret_cast<PyObject*>(number * 16); }

TEST(ObjectTable, NumbersObjectsAsTheStandardsTableDoes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t most = 1 + random() % 40;
    ObjectTable table;
    ASSERT_TRUE(table.Create(most));
    std::unordered_map<const PyObject*, std::uint32_t> twin;
    for (int i = 0; i < 200; ++i) {
      PyObject* object = At(1 + random() % 80);
      table.Prefetch(object);
      const auto known = twin.find(object);
      ASSERT_EQ(table.Find(object), known == twin.end() ? kNone : known->second);
      if (random() % 2 == 0) continue;
      if (known == twin.end() && twin.size() < most)
        twin.emplace(object, static_cast<std::uint32_t>(twin.size()));
      const auto expected = twin.find(object);
      ASSERT_EQ(table.Add(object), expected == twin.end() ? kNone : expected->second);
      ASSERT_EQ(table.size(), twin.size());
    }
    for (const auto& [object, id] : twin) EXPECT_EQ(table[id], object);
  }
}

TEST(ObjectTable, AFullOneIsFilledToItsLastPlace) {
  constexpr std::size_t kMost = 1000;
  ObjectTable table;
  ASSERT_TRUE(table.Create(kMost));
  for (std::uint64_t i = 1; i <= kMost; ++i) ASSERT_EQ(table.Add(At(i)), i - 1);
  EXPECT_EQ(table.Add(At(kMost + 1)), kNone);
  for (std::uint64_t i = 1; i <= kMost; ++i) ASSERT_EQ(table.Find(At(i)), i - 1);
}

// As many as its smallest size takes: entries whose first place is the last are among the first.
TEST(ObjectTable, ThePlacesAfterTheLastAreTheFirst) {
  constexpr std::size_t kMost = (1 << 17) * 2 / 3 - 64;
  std::mt19937_64 random(2);
  for (int round = 0; round < 8; ++round) {
    ObjectTable table;
    ASSERT_TRUE(table.Create(kMost));
    std::vector<PyObject*> objects;
    for (std::size_t i = 0; i < kMost; ++i) objects.push_back(At(1 + (random() >> 20) + i));
    std::sort(objects.begin(), objects.end());
    objects.erase(std::unique(objects.begin(), objects.end()), objects.end());
    for (std::size_t i = 0; i < objects.size(); ++i) ASSERT_EQ(table.Add(objects[i]), i);
    for (std::size_t i = 0; i < objects.size(); ++i) ASSERT_EQ(table.Find(objects[i]), i);
    EXPECT_EQ(table.bytes(), (8 << 17) + objects.size() * 8);
  }
}

// Addresses that differ by multiples of 2^39 have the same bits in an entry.
TEST(ObjectTable, AddressesThatLookAlikeAreToldApart) {
  ObjectTable table;
  ASSERT_TRUE(table.Create(1 << 16));
  const auto alike = [](std::uint64_t i) { return At((7 << 20) + (i << 35)); };
  for (std::uint64_t i = 0; i < 512; ++i) ASSERT_EQ(table.Find(alike(i)), kNone);
  for (std::uint64_t i = 0; i < 512; i += 2) ASSERT_EQ(table.Add(alike(i)), i / 2);
  for (std::uint64_t i = 0; i < 512; ++i)
    ASSERT_EQ(table.Find(alike(i)), i % 2 == 0 ? i / 2 : kNone);
}

// A chain of entries with one first place ends before the first place of addresses that look alike.
TEST(ObjectTable, AChainIsNoLongerThanAddressesThatLookAlikeAreApart) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15, kPlaces = 1 << 17,
                          kReach = kPlaces / 512 - 2;
  std::uint64_t inverse = kFactor;  // modulo 2^64, by Newton
  for (int i = 0; i < 6; ++i) inverse *= 2 - kFactor * inverse;
  const auto mixed_to = [inverse](std::uint64_t mixed) {
    return reinterpret_cast<PyObject*>(((mixed * inverse) & ((std::uint64_t{1} << 45) - 1)) << 3);
  };
  ObjectTable table;
  ASSERT_TRUE(table.Create(1 << 16));
  constexpr std::uint64_t kFirst = std::uint64_t{3} << 40;
  for (std::uint64_t i = 0; i < 400; ++i)
    EXPECT_EQ(table.Add(mixed_to(kFirst + i)), i <= kReach ? i : kNone) << i;
  for (std::uint64_t i = 0; i < 400; ++i) {
    EXPECT_EQ(table.Find(mixed_to(kFirst + i)), i <= kReach ? i : kNone) << i;
    EXPECT_EQ(table.Find(mixed_to(kFirst + i + (std::uint64_t{1} << 36))), kNone) << i;
  }
}

TEST(ObjectTable, WhereNoObjectCanBeNoneIsAdded) {
  ObjectTable table;
  ASSERT_TRUE(table.Create(10));
  EXPECT_EQ(table.Add(At(std::uint64_t{1} << 44)), kNone);
  EXPECT_EQ(table.Add(reinterpret_cast<PyObject*>(0x1001)), kNone);
  EXPECT_EQ(table.size(), 0u);
}

TEST(ObjectTable, MoreThanItsNumbersAreRefused) {
  ObjectTable table;
  EXPECT_FALSE(table.Create(std::size_t{1} << 28));
}

}  // namespace
}  // namespace memprof::holders
