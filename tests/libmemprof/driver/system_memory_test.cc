// The file cache in meminfo of the system and of a NUMA node.
#include "libmemprof/src/driver/system_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace memprof::recorder {
namespace {

std::uint64_t Parsed(const std::string& text) { return ParseFileCache(text.data(), text.size()); }

TEST(FileCacheTest, OfTheSystem) {
  EXPECT_EQ(Parsed("MemTotal:       16 kB\nMemFree:  3 kB\nBuffers:   2 kB\nCached:   10 kB\n"
                   "SwapCached:   99 kB\nShmem:   4 kB\nShmemHugePages:   77 kB\n"),
            1 + 8 * 1024u);
}

TEST(FileCacheTest, OfANode) {
  EXPECT_EQ(
      Parsed("\nNode 1 MemTotal:  1000 kB\nNode 1 FilePages:   300 kB\nNode 1 Shmem:   100 kB\n"),
      1 + 200 * 1024u);
}

TEST(FileCacheTest, NoneIsAnAnswerAndUnknownIsNot) {
  EXPECT_EQ(Parsed("Cached: 0 kB\n"), 1u);
  EXPECT_EQ(Parsed("Cached: 1 kB\nShmem: 5 kB"), 1u);
  for (const char* text :
       {"", "\n\n", "MemTotal: 5 kB\n", "Cached:", "Cached: kB", "Cached: -5 kB"})
    EXPECT_EQ(Parsed(text), 0u) << text;
}

TEST(FileCacheTest, AnyTextIsRead) {
  std::mt19937 random(7);
  const std::string alphabet = "Cached: FilePages:Shmem:Buffers:\n 0129";
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    while (text.size() < random() % 200) text += alphabet[random() % alphabet.size()];
    Parsed(text);
  }
  EXPECT_GT(Parsed("Cached: 99999999999999999999999999 kB\n"), 0u);
}

}  // namespace
}  // namespace memprof::recorder
