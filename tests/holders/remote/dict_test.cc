// Dictionaries of each version: entries, and damage.
#include "holders/remote/dict.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/holders/remote/fake_python.h"

namespace memprof::holders::test {
namespace {

// With values of 0 in between: entries that were removed.
Entries SomeEntries(std::size_t count) {
  Entries entries;
  for (std::size_t i = 0; i < count; ++i)
    entries.emplace_back(0x1000 + 8 * i, i % 5 == 3 ? 0 : 0x500000 + 16 * i);
  return entries;
}

Entries WithValues(const Entries& entries) {
  Entries with;
  for (const auto& entry : entries)
    if (entry.second != 0) with.push_back(entry);
  return with;
}

Entries ReadAll(DictReader reader) {
  Entries entries;
  for (DictEntry entry; reader.Next(&entry);) entries.emplace_back(entry.key, entry.value);
  return entries;
}

Entries ReadDict(const FakePython& fake, std::uint64_t dict) {
  Memory memory(getpid(), Mine());
  return ReadAll(DictReader(memory, fake.python.layout, dict));
}

// The width of indices and of entries depends on the size, the kind and the version.
TEST(Dict, EntriesOfEachLayout) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    for (const Keys kind : {Keys::kGeneral, Keys::kText, Keys::kSplit}) {
      const std::pair<int, std::size_t> sizes[] = {{3, 0},    {3, 5},      {7, 80},  {8, 170},
                                                   {15, 300}, {16, 40000}, {17, 128}};
      for (const auto& [log_size, count] : sizes) {
        const Entries entries = SomeEntries(count);
        const std::uint64_t dict = fake.Dict(entries, kind, log_size);
        EXPECT_EQ(ReadDict(fake, dict), WithValues(entries)) << minor << " " << log_size;
      }
    }
  }
}

// The attributes of an instance, whose keys its class keeps.
TEST(Dict, ValuesBesideKeys) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const Entries entries = SomeEntries(200);
    const std::uint64_t keys = fake.KeysOf(entries, Keys::kSplit, 8);
    const std::uint64_t before = minor >= 13 ? 8 : 0, values = fake.Make(before + 8 * 200);
    for (std::size_t i = 0; i < 200; ++i)
      FakePython::Set(values + before + 8 * i, entries[i].second);
    Memory memory(getpid(), Mine());
    EXPECT_EQ(ReadAll(DictReader(memory, fake.python.layout, keys, values)), WithValues(entries));
    EXPECT_EQ(ReadAll(DictReader(memory, fake.python.layout, 0, values)), Entries());
    EXPECT_EQ(ReadAll(DictReader(memory, fake.python.layout, keys, 0)), Entries());
  }
}

// Each byte of the head of keys: whatever it says, what is read ends, and stays within a bound.
TEST(Dict, DamagedHeadsEnd) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const std::uint64_t dict = fake.Dict(SomeEntries(20));
    const std::uint64_t keys = *reinterpret_cast<std::uint64_t*>(dict + at::kDictKeys);
    const std::vector<Mapping> mappings = Mine();
    for (std::uint64_t byte = 8; byte < 40; ++byte) {
      auto* const place = reinterpret_cast<unsigned char*>(keys + byte);
      const unsigned char before = *place;
      for (const unsigned value : {0, 1, 7, 33, 63, 64, 127, 128, 255}) {
        *place = static_cast<unsigned char>(value);
        Memory memory(getpid(), mappings);
        DictReader reader(memory, fake.python.layout, dict);
        std::size_t read = 0;
        for (DictEntry entry; read < 100000 && reader.Next(&entry);) ++read;
        EXPECT_LT(read, 100000u) << minor << " " << byte << " " << value;
      }
      *place = before;
    }
    EXPECT_EQ(ReadDict(fake, dict), WithValues(SomeEntries(20)));
  }
}

TEST(Dict, KeysOfAnUnknownKindHaveNoEntries) {
  for (const int minor : {11, 12, 13, 14}) {
    FakePython fake(minor);
    const std::uint64_t dict = fake.Dict(SomeEntries(5)), unused = fake.Dict(SomeEntries(5));
    const std::uint64_t keys = *reinterpret_cast<std::uint64_t*>(dict + at::kDictKeys);
    FakePython::Set<std::uint8_t>(keys + 10, 3);
    FakePython::Set(unused + at::kDictUsed, std::uint64_t{0});
    EXPECT_EQ(ReadDict(fake, dict), Entries());
    EXPECT_EQ(ReadDict(fake, unused), Entries());
  }
}

TEST(Dict, DamagedKeysHaveNoEntries) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    std::uint64_t keys[64];
    for (const std::uint64_t word : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{0}}) {
      std::fill(std::begin(keys), std::end(keys), word);
      for (const std::uint64_t where :
           {Address(keys), std::uint64_t{0}, ~std::uint64_t{7}, std::uint64_t{1} << 63}) {
        const std::uint64_t dict = fake.Object("dict", {5, 0, where, 0});
        EXPECT_EQ(ReadDict(fake, dict), Entries()) << minor << " " << word << " " << where;
      }
    }
  }
}

// Keys at the end of a mapping, which say that they have more entries than there is memory.
TEST(Dict, EndsWithItsMapping) {
  constexpr std::size_t kBytes = 16384;
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const std::uint64_t keys = fake.KeysOf(SomeEntries(300), Keys::kGeneral, 9);
    char* const pages = static_cast<char*>(
        mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(pages + kBytes, kBytes, PROT_NONE);
    // 40 or 32 bytes, 512 indices of 2 bytes, and 200 entries of 24 bytes; then nothing.
    const std::size_t bytes = (minor <= 10 ? 40 : 32) + 1024 + 200 * 24;
    std::memcpy(pages + kBytes - bytes, reinterpret_cast<void*>(keys), bytes);
    const std::uint64_t dict = fake.Object("dict", {300, 0, Address(pages) + kBytes - bytes, 0});
    const Entries read = ReadDict(fake, dict);
    const Entries expected = WithValues(SomeEntries(128));  // are read at a time
    EXPECT_EQ(read, expected) << minor;
    munmap(pages, 2 * kBytes);
  }
}

}  // namespace
}  // namespace memprof::holders::test
