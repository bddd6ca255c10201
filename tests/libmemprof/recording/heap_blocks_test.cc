// Blocks of malloc, against what malloc says about them.
#include "libmemprof/src/recording/internal/heap_blocks.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>

#include <barrier>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "tests/libmemprof/recording/sanitized.h"

namespace memprof::recorder {
namespace {

using Place = HeapBlocks::Place;

// The heaps of this process, as a scan finds them.
class Heaps {
 public:
  Heaps() {
    ScanTarget target{0x00005aa5'0000'0000, 1, 0, 1, 1, 0, 0};
    PassNotes notes{nullptr, 0, 0, 0, false, chunks_.get(), chunks_.size(), 0};
    EXPECT_TRUE(CountReferences(&target, 1, ~std::uint64_t{0}, &notes).complete);
    MapsReader maps;
    MapsReader::Line line;
    while (maps.Next(&line)) {
      if (!line.wanted) continue;
      if (std::strcmp(line.path, "[heap]") == 0) blocks.AddMainHeap(line.begin, line.end);
      if (line.path[0] == '\0') blocks.AddArenas(line.begin, line.end);
    }
    blocks.SetMapped(chunks_.get(), notes.chunks_count);
  }
  HeapBlocks blocks{~std::uint64_t{0}};

 private:
  OwnArray<MappedChunk> chunks_{65536};
};

// One thread's allocations. Nothing else is allocated once something is freed.
struct Actor {
  Actor() {
    live.reserve(kMost);
    freed.reserve(kMost);
    blocks.reserve(kMost);
  }
  static constexpr std::size_t kMost = 20'000;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> live;  // begin, usable bytes
  std::vector<std::uint64_t> freed;
  std::vector<char*> blocks;
};

void Act(std::uint32_t seed, Actor* actor) {
  std::mt19937 random(seed);
  std::vector<char*>& blocks = actor->blocks;
  for (std::size_t i = 0; i < Actor::kMost; ++i) {
    const std::uint32_t kind = random() % 1000;
    const std::size_t bytes = kind < 700   ? random() % 100
                              : kind < 960 ? random() % 2000
                              : kind < 998 ? random() % 40'000
                                           : 200'000 + random() % 400'000;
    auto* block = static_cast<char*>(std::malloc(bytes));
    std::memset(block, static_cast<int>(random() % 256), malloc_usable_size(block));
    blocks.push_back(block);
    if (random() % 2 == 0) continue;
    const std::size_t at = random() % blocks.size();
    if (blocks[at] == nullptr) continue;
    actor->freed.push_back(reinterpret_cast<std::uint64_t>(blocks[at]));
    std::free(blocks[at]);
    blocks[at] = nullptr;
  }
  for (char*& block : blocks) {
    if (block == nullptr || random() % 3 != 0) continue;
    actor->freed.push_back(reinterpret_cast<std::uint64_t>(block));
    std::free(block);
    block = nullptr;
  }
  for (char* block : blocks)
    if (block != nullptr)
      actor->live.emplace_back(reinterpret_cast<std::uint64_t>(block), malloc_usable_size(block));
}

TEST(HeapBlocksTest, AreThoseOfMallocInAllArenas) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have a malloc of their own";
  constexpr int kThreads = 4;
  std::vector<Actor> actors(kThreads + 1);
  std::barrier acted(kThreads + 1), checked(kThreads + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      Act(static_cast<std::uint32_t>(i), &actors[static_cast<std::size_t>(i)]);
      acted.arrive_and_wait();
      checked.arrive_and_wait();  // caches of threads are emptied at their end
    });
  Act(kThreads, &actors[kThreads]);
  acted.arrive_and_wait();
  Heaps heaps;
  std::map<std::uint64_t, std::uint64_t> live;
  for (const Actor& actor : actors) live.insert(actor.live.begin(), actor.live.end());
  std::size_t wrong = 0, told_free = 0, freed = 0;
  for (const auto& [begin, bytes] : live)
    for (const std::uint64_t offset : {std::uint64_t{0}, bytes / 2, bytes - 1}) {
      HeapBlock block{};
      const Place place = heaps.blocks.Find(begin + offset, &block);
      if (place == Place::kInUse && block.begin == begin && block.bytes == bytes) continue;
      if (wrong++ == 0)
        ADD_FAILURE() << std::hex << begin << " of " << bytes << " + " << offset << ": "
                      << static_cast<int>(place) << " " << block.begin << " of " << block.bytes;
    }
  EXPECT_EQ(wrong, 0u) << "of " << live.size();
  EXPECT_GT(live.size(), 10'000u);
  // The maps of this test lie in what the main thread has freed.
  actors.pop_back();
  wrong = 0;
  for (const Actor& actor : actors)
    for (const std::uint64_t begin : actor.freed) {
      const auto after = live.upper_bound(begin);
      if (after != live.begin() && begin < std::prev(after)->first + std::prev(after)->second)
        continue;  // allocated again
      ++freed;
      HeapBlock block{};
      const Place place = heaps.blocks.Find(begin, &block);
      told_free += place == Place::kFree;
      wrong += place == Place::kInUse;
    }
  EXPECT_GT(freed, 5'000u);
  EXPECT_GT(told_free, freed * 9 / 10);  // others were mapped on their own
  EXPECT_EQ(wrong, 0u);
  checked.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  for (const auto& [begin, bytes] : live) std::free(reinterpret_cast<void*>(begin));
}

TEST(HeapBlocksTest, FreeBlocksAreNotInUseWhereverMallocKeepsThem) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have a malloc of their own";
  // In the thread's cache, in a fast bin beyond it, in the list of unsorted blocks, at the top.
  for (const std::size_t bytes : {24u, 100u, 1000u, 5000u, 100'000u}) {
    std::vector<void*> blocks(40), fences(40);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i] = std::malloc(bytes);
      fences[i] = std::malloc(bytes);
      std::memset(blocks[i], 1, bytes);
    }
    const std::vector<void*> freed = blocks;
    Heaps before;
    HeapBlock block{};
    for (void* one : freed)
      EXPECT_EQ(before.blocks.Find(reinterpret_cast<std::uint64_t>(one) + 16, &block),
                Place::kInUse);
    for (void* one : blocks) std::free(one);
    Heaps heaps;
    std::size_t in_use = 0;
    for (void* one : freed)
      in_use +=
          heaps.blocks.Find(reinterpret_cast<std::uint64_t>(one) + 16, &block) == Place::kInUse;
    EXPECT_LE(in_use, 2u) << bytes << ": the test's own words may lie there again";
    for (void* one : fences) std::free(one);
  }
}

// A heap in memory of the test, whose words are right or wrong as the test wants it.
class MadeHeap : public ::testing::Test {
 protected:
  static constexpr std::size_t kBytes = 1 << 20;
  void SetUp() override {
    memory_ = static_cast<std::uint64_t*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    // 4 blocks of 0x40 bytes, one of 0x20000, and the top.
    std::uint64_t at = 0;
    for (const std::uint64_t bytes : {0x40u, 0x40u, 0x40u, 0x40u, 0x20000u}) {
      SizeAt(at) = bytes | 1;
      at += bytes;
    }
    SizeAt(at) = (kBytes - at) | 1;
  }
  void TearDown() override { munmap(memory_, kBytes); }
  std::uint64_t& SizeAt(std::uint64_t offset) { return memory_[offset / 8 + 1]; }
  Place At(std::uint64_t offset, HeapBlock* block) {
    const auto base = reinterpret_cast<std::uint64_t>(memory_);
    HeapBlocks heap(deadline_);
    heap.AddMainHeap(base, base + kBytes);
    const Place place = heap.Find(base + offset, block);
    block->begin -= base;
    return place;
  }
  std::uint64_t* memory_ = nullptr;
  std::uint64_t deadline_ = ~std::uint64_t{0};
  HeapBlock block_{};
};

TEST_F(MadeHeap, HasItsBlocks) {
  EXPECT_EQ(At(0x50, &block_), Place::kInUse);
  EXPECT_EQ(block_.begin, 0x50u);
  EXPECT_EQ(block_.bytes, 0x38u);
  EXPECT_EQ(At(0x80, &block_), Place::kInUse) << "the head's first word is the block's last";
  EXPECT_EQ(block_.begin, 0x50u);
  EXPECT_EQ(At(0x88, &block_), Place::kFree) << "a size is malloc's";
  EXPECT_EQ(At(0x1ff00, &block_), Place::kInUse);
  EXPECT_EQ(block_.begin, 0x110u);
  EXPECT_EQ(At(0x30000, &block_), Place::kFree) << "the top";
}

TEST_F(MadeHeap, BehindAWrongSizeNothingIsKnown) {
  for (const std::uint64_t wrong : {0x0u, 0x18u, 0x49u, 0x43u, 0x45u, 0x7fffff01u}) {
    SizeAt(0x80) = wrong;
    EXPECT_EQ(At(0x18, &block_), Place::kInUse) << wrong;
    EXPECT_EQ(At(0x50, &block_), Place::kUnknown) << wrong << ": the size before it is in doubt";
    EXPECT_EQ(At(0x90, &block_), Place::kUnknown) << wrong;
    EXPECT_EQ(At(0x30000, &block_), Place::kUnknown) << wrong;
  }
}

TEST_F(MadeHeap, AFreeBlockSaysItsSizeTwice) {
  SizeAt(0x80) &= ~std::uint64_t{1};
  memory_[0x80 / 8] = 0x40;
  EXPECT_EQ(At(0x60, &block_), Place::kFree);
  memory_[0x80 / 8] = 0x30;
  EXPECT_EQ(At(0x60, &block_), Place::kUnknown);
}

TEST_F(MadeHeap, AScrambledLinkToABlockOfItsSizeIsOfAFreeOne) {
  const auto base = reinterpret_cast<std::uint64_t>(memory_);
  const auto link = [&](std::uint64_t offset, std::uint64_t next) {
    memory_[offset / 8] = next ^ (base + offset) >> 12;
  };
  link(0x50, 0);
  EXPECT_EQ(At(0x60, &block_), Place::kFree) << "the last of its list";
  link(0x50, base + 0x90);
  EXPECT_EQ(At(0x60, &block_), Place::kFree) << "of a cache";
  link(0x50, base + 0x80);
  EXPECT_EQ(At(0x60, &block_), Place::kFree) << "of a fast bin";
  link(0x50, base + 0x110);
  EXPECT_EQ(At(0x60, &block_), Place::kInUse) << "of another size";
  memory_[0x50 / 8] = base + 0x90;
  EXPECT_EQ(At(0x60, &block_), Place::kInUse) << "a list of the program";
}

TEST_F(MadeHeap, ALargerBlockThatCameFromACacheIsInUse) {
  const auto base = reinterpret_cast<std::uint64_t>(memory_);
  memory_[0x110 / 8] = (base + 0x110) >> 12;
  EXPECT_EQ(At(0x200, &block_), Place::kInUse);
  memory_[0x118 / 8] = 0x1234;  // malloc's mark of those that are in it
  EXPECT_EQ(At(0x200, &block_), Place::kFree);
}

TEST_F(MadeHeap, AfterTheDeadlineNothingIsKnown) {
  deadline_ = 0;
  EXPECT_EQ(At(0x50, &block_), Place::kUnknown);
}

TEST_F(MadeHeap, UnmappedMemoryEndsIt) {
  munmap(reinterpret_cast<char*>(memory_) + 0x10000, 0x10000);
  EXPECT_EQ(At(0x50, &block_), Place::kInUse);
  EXPECT_NE(At(0x30000, &block_), Place::kInUse);
}

}  // namespace
}  // namespace memprof::recorder
