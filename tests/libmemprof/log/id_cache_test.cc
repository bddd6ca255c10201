// The cache of names: exact under collisions, and without an answer for names that it does not
// hold.
#include "libmemprof/src/log/id_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

namespace memprof::recorder {
namespace {

IdCacheKey Key(const std::string& text) {
  IdCacheKey key;
  key.AddText(text.c_str());
  return key;
}

TEST(IdCacheKey, DistinguishesParts) {
  IdCacheKey one, other;
  one.AddText("ab");
  one.AddText("c");
  other.AddText("a");
  other.AddText("bc");
  EXPECT_EQ(one.bytes(), other.bytes());
  EXPECT_NE(one.Hash(), other.Hash());
  EXPECT_NE(std::string(one.data(), one.bytes()), std::string(other.data(), other.bytes()));
}

TEST(IdCacheKey, IsVoidOnceSomethingDidNotFit) {
  IdCacheKey key;
  key.Add(nullptr, 0);
  key.AddText(std::string(IdCacheKey::kMaxBytes - 1, 'x').c_str());
  EXPECT_TRUE(key.fits());
  EXPECT_EQ(key.bytes(), IdCacheKey::kMaxBytes);
  key.Add("y", 1);
  EXPECT_FALSE(key.fits());
  IdCacheKey longer = Key(std::string(500, 'x'));
  EXPECT_FALSE(longer.fits());
  longer.AddText("short");
  EXPECT_FALSE(longer.fits()) << "an incomplete key is not valid";
}

TEST(IdCache, FindsWhatWasStored) {
  auto cache = std::make_unique<IdCache>();
  const IdCacheKey key = Key("weight");
  EXPECT_EQ(cache->Find(key, key.Hash()), 0u);
  cache->Store(key, key.Hash(), 7);
  EXPECT_EQ(cache->Find(key, key.Hash()), 7u);
}

TEST(IdCache, TheSameHashIsNotTheSameKey) {
  auto cache = std::make_unique<IdCache>();
  cache->Store(Key("weight"), 5, 7);
  EXPECT_EQ(cache->Find(Key("weighs"), 5), 0u);
  EXPECT_EQ(cache->Find(Key("weights"), 5), 0u);
  EXPECT_EQ(cache->Find(Key("weight"), 5 + 128), 0u) << "the same slot";
  cache->Store(Key("bias"), 5, 8);
  EXPECT_EQ(cache->Find(Key("weight"), 5), 0u);
  EXPECT_EQ(cache->Find(Key("bias"), 5), 8u);
}

TEST(IdCache, KeepsNothingThatHasNoIdOrIsTooLong) {
  auto cache = std::make_unique<IdCache>();
  cache->Store(Key("lost"), 3, 0);
  EXPECT_EQ(cache->Find(Key("lost"), 3), 0u);
  const IdCacheKey longer = Key(std::string(500, 'x'));
  cache->Store(longer, 4, 9);
  EXPECT_EQ(cache->Find(longer, 4), 0u);
}

TEST(IdCache, NeverTakesOneForAnother) {
  auto cache = std::make_unique<IdCache>();
  std::mt19937 random(3);
  std::map<std::string, std::uint32_t> truth;
  int found = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text(1 + random() % 3, static_cast<char>('a' + random() % 26));
    const std::string name = text + std::to_string(random() % 4);
    const IdCacheKey key = Key(name);
    const std::uint32_t id =
        truth.try_emplace(name, static_cast<std::uint32_t>(truth.size()) + 1).first->second;
    const std::uint32_t known = cache->Find(key, key.Hash());
    if (known != 0) {
      ASSERT_EQ(known, id);
      ++found;
    } else {
      cache->Store(key, key.Hash(), id);
    }
  }
  EXPECT_GT(found, 1000);
  EXPECT_GT(truth.size(), 200u);
}

}  // namespace
}  // namespace memprof::recorder
