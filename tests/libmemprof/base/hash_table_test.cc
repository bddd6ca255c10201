// The hash table against a std::map, and without memory.
#include "libmemprof/src/base/hash_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "libmemprof/src/base/hash.h"
#include "tests/libmemprof/base/in_account.h"

namespace memprof::recorder {
namespace {

struct Entry {
  std::uint64_t key;  // 0 = empty
  std::uint64_t value;
  bool empty() const { return key == 0; }
  std::uint64_t hash() const { return Mix(key); }
};
// Hashes differ only in the last bits: long probe sequences, which wrap around the end of the
// table.
struct Crowded : Entry {
  std::uint64_t hash() const { return ~std::uint64_t{0} - key % 3; }
};

template <typename E>
E* Find(HashTable<E>* table, std::uint64_t key) {
  E probe{};
  probe.key = key;
  return table->Find(probe.hash(), [key](const E& entry) { return entry.key == key; });
}

template <typename E>
std::map<std::uint64_t, std::uint64_t> Content(const HashTable<E>& table) {
  std::map<std::uint64_t, std::uint64_t> content;
  table.ForEach([&](const E& entry) {
    EXPECT_TRUE(content.emplace(entry.key, entry.value).second) << "visited twice";
  });
  return content;
}

template <typename E>
class HashTableTest : public ::testing::Test {
 protected:
  HashTableTest() { SetMemoryLimit(256 * kMib, 0); }
};
using Kinds = ::testing::Types<Entry, Crowded>;
TYPED_TEST_SUITE(HashTableTest, Kinds);

// Grows from 4 places to 512, then becomes empty again.
TYPED_TEST(HashTableTest, AgreesWithAMapOnRandomOperations) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    HashTable<TypeParam> table(4, 512);
    std::map<std::uint64_t, std::uint64_t> reference;
    for (int i = 0; i < 4000; ++i) {
      const std::uint64_t key = 1 + random() % (i % 1000 < 500 ? 200 : 20);
      TypeParam* known = Find(&table, key);
      ASSERT_EQ(known != nullptr, reference.count(key) == 1) << seed << ' ' << i;
      if (known != nullptr) {
        ASSERT_EQ(known->value, reference[key]);
      }
      if (i % 997 == 0) {
        table.EraseIf([](const TypeParam& entry) { return entry.value % 2 == 0; });
        std::erase_if(reference, [](const auto& entry) { return entry.second % 2 == 0; });
      } else if (i % 1999 == 0) {
        table.Clear();
        reference.clear();
      } else if (known != nullptr) {
        table.Erase(known);
        reference.erase(key);
      } else {
        TypeParam entry{};
        entry.key = key;
        entry.value = random();
        ASSERT_EQ(table.Insert(entry)->value, entry.value);
        reference[key] = entry.value;
      }
      ASSERT_EQ(table.size(), reference.size());
      if (i % 50 == 0) {
        ASSERT_EQ(Content(table), reference);
      }
    }
    EXPECT_EQ(Content(table), reference);
  }
}

TYPED_TEST(HashTableTest, IsFilledToSevenEighthsWhereItMayNotGrow) {
  HashTable<TypeParam> table(4, 64);
  std::uint64_t key = 0;
  TypeParam entry{};
  do entry.key = ++key;
  while (table.Insert(entry) != nullptr);
  EXPECT_EQ(table.size(), 56u);
  for (std::uint64_t known = 1; known < key; ++known) EXPECT_NE(Find(&table, known), nullptr);
  EXPECT_EQ(Find(&table, key), nullptr);
  table.Erase(Find(&table, 1));
  EXPECT_NE(table.Insert(entry), nullptr) << "there is space for one again";
}

TYPED_TEST(HashTableTest, WithoutMemoryItKeepsWhatItHas) {
  const std::uint64_t charged = ChargedMemory();
  {
    HashTable<TypeParam> table(256, 1 << 20);
    TypeParam entry{};
    entry.key = 1;
    ASSERT_NE(table.Insert(entry), nullptr);
    EXPECT_GT(ChargedMemory(), charged);
    SetMemoryLimit(16 * kMib, 16 * kMib);  // no memory is left
    const std::uint64_t refused = RefusedRequests();
    while (table.Insert(entry) != nullptr) ++entry.key;
    EXPECT_EQ(table.size(), 224u);
    EXPECT_GT(RefusedRequests(), refused);
    EXPECT_NE(Find(&table, 1), nullptr);
    HashTable<TypeParam> other(256, 1 << 20);
    EXPECT_EQ(other.Insert(entry), nullptr);
    EXPECT_EQ(Find(&other, 1), nullptr);
    other.Clear();
    other.EraseIf([](const TypeParam&) { return true; });
    SetMemoryLimit(256 * kMib, 0);
    EXPECT_NE(other.Insert(entry), nullptr);
    EXPECT_NE(table.Insert(entry), nullptr);
  }
  EXPECT_EQ(ChargedMemory(), charged);
}

TEST(HashBytes, DistinguishesKeysAndIsNeverZero) {
  std::set<std::uint64_t> hashes, low;
  char key[64] = {};
  for (std::size_t bytes = 0; bytes < sizeof key; ++bytes)
    EXPECT_TRUE(hashes.insert(HashBytes(key, bytes)).second) << "lengths count";
  for (std::uint64_t value = 1; value < 4096; ++value) {
    const std::uint64_t hash = HashBytes(&value, sizeof value);
    EXPECT_TRUE(hashes.insert(hash).second);
    low.insert(hash & 0xffff);
  }
  EXPECT_EQ(hashes.count(0), 0u);
  EXPECT_GT(low.size(), 3800u) << "the low bits, which select the place, are spread";
}

}  // namespace
}  // namespace memprof::recorder
