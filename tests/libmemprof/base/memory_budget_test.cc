// The account of the recorder's memory: which requests are refused first, what a child inherits,
// and that nothing is charged twice or never returned.
#include "libmemprof/src/base/memory_budget.h"

#include <gtest/gtest.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "libmemprof/src/base/byte_buffer.h"
#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/log/live_table.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/stacks/stack_memo.h"
#include "libmemprof/src/stacks/stack_table.h"
#include "tests/libmemprof/base/in_account.h"
#include "tests/libmemprof/log/with_ring.h"

namespace memprof::recorder {
namespace {

// How much `need` can still charge, in pieces of 64 KiB. Everything is returned before the end.
std::uint64_t Room(Need need, InChild in_child = InChild::kUnmapped) {
  constexpr std::uint64_t kPiece = 65536;
  std::uint64_t room = 0;
  while (ChargeMemory(kPiece, need, in_child)) room += kPiece;
  ReturnMemory(room, need, in_child);
  return room;
}

class MemoryBudget : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(MemoryBudget, KeepsTheLastPartsForThoseWhoCanLeastDoWithout) {
  const std::uint64_t all = GetParam() * kMib;
  const std::uint64_t ring = RingShare(all);
  SetMemoryLimit(all, ring);
  const std::uint64_t before = ChargedMemory();
  const std::uint64_t writer = Room(Need::kWriter), thread = Room(Need::kThread),
                      table = Room(Need::kTable), memo = Room(Need::kMemo);
  EXPECT_EQ(ChargedMemory(), before);
  EXPECT_LT(writer + ring, all);
  EXPECT_GE(writer, thread + 4 * kMib);
  EXPECT_GT(thread, table + kMib / 2);
  EXPECT_GE(table, 3 * kMib);
  EXPECT_GT(memo, 0u);
  EXPECT_LE(memo, table / 2);
  // When tables take all they can, memory remains for threads; when threads do, memory remains for
  // the writer.
  ASSERT_TRUE(ChargeMemory(table, Need::kTable));
  EXPECT_EQ(Room(Need::kTable), 0u);
  EXPECT_NEAR(Room(Need::kThread, InChild::kKept), thread - table, 65536);
  ASSERT_TRUE(ChargeMemory(thread - table, Need::kThread, InChild::kKept));
  EXPECT_EQ(Room(Need::kThread), 0u);
  EXPECT_EQ(Room(Need::kMemo), 0u);
  EXPECT_NEAR(Room(Need::kWriter), writer - thread, 65536);
  ReturnMemory(thread - table, Need::kThread, InChild::kKept);
  ReturnMemory(table, Need::kTable);
  EXPECT_EQ(ChargedMemory(), before);
}

INSTANTIATE_TEST_SUITE_P(Sizes, MemoryBudget,
                         ::testing::Values(kMinMemoryMib, 64, kDefaultMemoryMib, 4096));

TEST(MemoryBudget, ARingThatTakesAllLeavesNothingAndDoesNotWrap) {
  SetMemoryLimit(32 * kMib, 40 * kMib);
  for (const Need need : {Need::kMemo, Need::kTable, Need::kThread, Need::kWriter})
    EXPECT_EQ(Room(need), 0u);
  EXPECT_FALSE(ChargeMemory(~std::uint64_t{0}, Need::kWriter));
  EXPECT_EQ(MapMemory(4096), nullptr);
}

TEST(MemoryBudget, RefusalsAreCountedButThoseForMemos) {
  SetMemoryLimit(64 * kMib, 0);
  const std::uint64_t before = RefusedRequests();
  EXPECT_FALSE(ChargeMemory(kMib << 10, Need::kMemo));
  EXPECT_EQ(RefusedRequests(), before);
  EXPECT_FALSE(ChargeMemory(kMib << 10, Need::kTable));
  EXPECT_EQ(MapMemory(kMib << 10, Need::kWriter), nullptr);
  EXPECT_EQ(RefusedRequests(), before + 2);
}

TEST(MemoryBudget, ThreadsTogetherKeepToIt) {
  SetMemoryLimit(64 * kMib, 0);
  const std::uint64_t before = ChargedMemory();
  const std::uint64_t room = Room(Need::kTable);
  std::atomic<std::uint64_t> got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&got] {
      while (ChargeMemory(4096, Need::kTable)) got += 4096;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(got, room);
  EXPECT_LT(got, room + 65536);
  ReturnMemory(got, Need::kTable);
  EXPECT_EQ(ChargedMemory(), before);
}

TEST(MemoryBudget, ABufferThatMayNotGrowKeepsWhatItHas) {
  SetMemoryLimit(32 * kMib, 0);
  ByteBuffer buffer;
  const std::string block(kMib, 'x');
  while (!buffer.failed()) buffer.Append(block.data(), block.size());
  EXPECT_GE(buffer.size(), kMib);
  EXPECT_LT(buffer.size(), 32 * kMib);
  EXPECT_EQ(buffer.data()[buffer.size() - 1], 'x');
  const std::size_t size = buffer.size();
  buffer.Clear();
  EXPECT_TRUE(buffer.TryReserve(size));
  EXPECT_FALSE(buffer.TryReserve(64 * kMib));
  EXPECT_FALSE(buffer.failed());
}

TEST(MemoryBudget, BlocksBeyondItAreCounted) {
  SetMemoryLimit(32 * kMib, 8 * kMib);
  LiveTable table;
  const std::uint64_t blocks = 400'000;
  for (std::uint64_t i = 1; i <= blocks; ++i) {
    ring::RingEvent event{};
    event.op = kOpAlloc;
    event.layer = kLayerLinear;
    event.address = i * 512;
    event.bytes = 1;
    table.Apply(event);
  }
  EXPECT_GT(table.not_followed(), 0u);
  EXPECT_EQ(table.totals().live_bytes + table.not_followed(), blocks);
  EXPECT_EQ(table.totals().allocations, blocks);
}

class BudgetWithRing : public WithRing {};

TEST_F(BudgetWithRing, StacksBeyondItAreCountedAndTheOthersStay) {
  Modules modules(&definitions_);
  modules.Refresh();
  const std::uint64_t before = ChargedMemory();
  {
    StackTable table(&definitions_, &modules);
    ASSERT_TRUE(table.Create());
    const std::uint64_t empty = ChargedMemory();
    auto cache = std::make_unique<StackCache>();
    void* frames[2] = {nullptr, reinterpret_cast<void*>(0x1000)};
    const auto intern = [&](std::uint64_t i) {
      frames[0] = reinterpret_cast<void*>(0x10000 + i * 16);
      return table.Intern(frames, 2, cache.get());
    };
    EXPECT_EQ(intern(0), 2u);
    EXPECT_EQ(ChargedMemory(), empty + 65536) << "address space is not charged, pages are";
    // The ring is not drained, so it limits the number of definitions.
    const std::uint64_t room = Room(Need::kTable);
    ASSERT_TRUE(ChargeMemory(room - 65536, Need::kTable));
    std::uint64_t last = 0;
    while (intern(last + 1) != 0) ++last;
    EXPECT_EQ(table.nodes(), 2 * 4096u - 1);
    EXPECT_EQ(ring_.AnomalyCount(log::Anomaly::kDefinitionsLost), 1u);
    EXPECT_EQ(intern(0), 2u);
    EXPECT_EQ(intern(last), table.nodes());
    ReturnMemory(room - 65536, Need::kTable);
    EXPECT_NE(intern(last + 1), 0u) << "space again";
  }
  EXPECT_EQ(ChargedMemory(), before);
}

// Fills a memo with synthetic stacks until it stops growing; returns its size.
std::uint64_t Fill(StackMemo* memo) {
  static const std::uint64_t kWords[512] = {};
  const std::uint64_t before = ChargedMemory();
  StackWalk walk;
  memset(static_cast<void*>(&walk), 0, sizeof walk);
  walk.word_count = 500;
  for (std::uint64_t i = 1; i < 400; ++i)
    memo->Store({.pc = i, .sp = reinterpret_cast<std::uint64_t>(kWords), .fp = 0}, walk,
                {1, false});
  return ChargedMemory() - before;
}

struct Memos {
  explicit Memos(std::size_t count) : all(count) {
    for (auto& memo : all) {
      memo.reset(static_cast<StackMemo*>(MapAddressSpace(sizeof(StackMemo))));
      memo->Reset(1);
    }
  }
  struct Unmap {
    void operator()(StackMemo* memo) const {
      memo->Release();
      UnmapMemory(memo, 0);
    }
  };
  std::vector<std::unique_ptr<StackMemo, Unmap>> all;
};

TEST(MemoryBudget, TheEndOfAThreadReturnsItsMemosShare) {
  SetMemoryLimit(kDefaultMemoryMib * kMib, 0);
  const std::uint64_t before = ChargedMemory();
  const std::uint64_t room = Room(Need::kMemo);
  // Far more threads than fit at the same time, one after another: each gets the full size.
  Memos memos(1);
  const std::uint64_t most = Fill(memos.all[0].get());
  ASSERT_GT(most, std::uint64_t{700} << 10);
  for (std::uint64_t ended = 0; ended < 3 * room; ended += most) {
    memos.all[0]->Release();
    ASSERT_EQ(ChargedMemory(), before);
    ASSERT_EQ(Fill(memos.all[0].get()), most);
  }
  memos.all[0]->Release();
  // Threads at the same time share the limit.
  Memos many(room / most + 10);
  for (auto& memo : many.all) Fill(memo.get());
  EXPECT_LE(ChargedMemory(), before + room);
  EXPECT_GE(ChargedMemory(), before + room - most);
}

// Runs in a child. Returns 0 if the child's account holds only `kept` and has the expected room.
int LookInChild(std::uint64_t kept, std::uint64_t room, std::uint64_t memo_room) {
  if (ChargedMemory() != kept) return 1;
  if (Room(Need::kTable) < room) return 2;
  return Room(Need::kMemo) < memo_room ? 3 : 0;
}

TEST(MemoryBudget, AForkedChildBeginsWithAnEmptyAccount) {
  SetMemoryLimit(kDefaultMemoryMib * kMib, 0);
  const std::uint64_t kept = ChargedMemory();
  const std::uint64_t room = Room(Need::kTable), memo_room = Room(Need::kMemo);
  Memos many(memo_room / (std::uint64_t{700} << 10) + 10);
  for (auto& memo : many.all) Fill(memo.get());
  ASSERT_TRUE(ChargeMemory(room / 2, Need::kTable));
  ASSERT_TRUE(ChargeMemory(4096, Need::kThread, InChild::kKept));
  // A raw clone runs no fork handlers: the kernel wipes the account.
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (child == 0) _exit(LookInChild(kept + 4096, room - 65536, memo_room));
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ForgetParentsMemory();  // for kernels that cannot wipe it
  EXPECT_EQ(LookInChild(kept + 4096, room - 65536, memo_room), 0);
  ReturnMemory(4096, Need::kThread, InChild::kKept);
  // Returning memory that the parent charged does no harm.
  ReturnMemory(room / 2, Need::kTable);
  EXPECT_EQ(ChargedMemory(), kept);
}

}  // namespace
}  // namespace memprof::recorder
