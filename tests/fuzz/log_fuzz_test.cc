// A bounded fuzz run with fixed seeds: valid logs, mutated in many ways, must never cause a crash,
// a hang or inconsistent results. Mutated payloads get valid checksums, so that decoders are
// reached.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "proto/framing.h"
#include "tests/fuzz/mutations.h"
#include "tests/fuzz/one_log.h"
#include "tests/fuzz/rich_log.h"
#include "tests/fuzz/signing.h"

namespace memprof::fuzz {
namespace {

TEST(LogFuzzTest, SoundLogsLoad) {
  std::mt19937 random(1);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(ReadOneLog(RichLog(random, 200)));
}

TEST(LogFuzzTest, MutatedPayloadsWithGoodChecksums) {
  std::mt19937 random(2);
  int loaded = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string bytes = RichLog(random, 60, {.events_per_chunk = 20, .compress = false});
    const std::vector<Place> chunks = Chunks(bytes);
    const Place& place = chunks[random() % chunks.size()];
    Scribble(random, &bytes, place.offset + sizeof(log::ChunkFrame),
             place.size - sizeof(log::ChunkFrame));
    Sign(&bytes, place);
    loaded += ReadOneLog(bytes);
  }
  EXPECT_GT(loaded, 1000);  // one bad chunk must not make the others unreadable
}

TEST(LogFuzzTest, MutatedFramesWithGoodChecksums) {
  std::mt19937 random(3);
  int loaded = 0;
  for (int round = 0; round < 700; ++round) {
    std::string bytes = RichLog(random, 40, {.events_per_chunk = 10});
    const std::vector<Place> chunks = Chunks(bytes);
    const Place& place = chunks[random() % chunks.size()];
    Scribble(random, &bytes, place.offset, sizeof(log::ChunkFrame));
    if (random() % 2) Sign(&bytes, place);
    loaded += ReadOneLog(bytes);
  }
  EXPECT_GT(loaded, 300);
}

TEST(LogFuzzTest, MutatedAnywhereCutAndSpliced) {
  std::mt19937 random(4);
  for (int round = 0; round < 1200; ++round) {
    std::string bytes = RichLog(
        random, 40,
        {.events_per_chunk = 10, .compress = random() % 2 == 0, .trailer = random() % 2 == 0});
    const std::size_t at = random() % bytes.size(), size = random() % (bytes.size() - at);
    switch (random() % 5) {
      case 0:
        Scribble(random, &bytes, 0, bytes.size());
        break;
      case 1:
        bytes.resize(at);
        break;
      case 2:
        bytes.erase(at, size);
        break;
      case 3:
        bytes.insert(at, bytes.substr(random() % bytes.size(), size));
        break;
      case 4:
        std::fill_n(bytes.begin() + at, size, static_cast<char>(random()));
        break;
    }
    ReadOneLog(bytes);
  }
  SUCCEED();  // ReadOneLog aborts on inconsistent results
}

TEST(LogFuzzTest, RandomBytesBehindAGoodBeginning) {
  std::mt19937 random(5);
  const std::string sound = RichLog(random, 10, {.trailer = false});
  int refused = 0;
  for (int round = 0; round < 500; ++round) {
    std::string bytes = sound.substr(0, random() % 3 == 0 ? sound.size() : 16 * (random() % 2));
    for (int i = static_cast<int>(random() % 3000); i > 0; --i)
      bytes += static_cast<char>(random());
    refused += !ReadOneLog(bytes);
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace memprof::fuzz
