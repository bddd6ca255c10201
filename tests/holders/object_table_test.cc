// Compared with the standard's hash table.
#include "holders/src/object_table.h"

#include <gtest/gtest.h>

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

// 512 places of 8 bytes are one page: what follows is not the table's.
TEST(ObjectTable, ThePlacesAfterTheLastAreTheFirst) {
  constexpr std::size_t kMost = 299;
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    ObjectTable table;
    ASSERT_TRUE(table.Create(kMost));
    const std::uint64_t base = random() >> 20;
    for (std::uint64_t i = 1; i <= kMost; ++i) ASSERT_EQ(table.Add(At(base + i * 5)), i - 1);
    for (std::uint64_t i = 1; i <= kMost; ++i) ASSERT_EQ(table.Find(At(base + i * 5)), i - 1);
    EXPECT_EQ(table.bytes(), 512 * 12 + kMost * 8);
  }
}

TEST(ObjectTable, MoreThanItsNumbersAreRefused) {
  ObjectTable table;
  EXPECT_FALSE(table.Create(std::size_t{1} << 32));
}

}  // namespace
}  // namespace memprof::holders
