// The memo of stacks: correct on real chains of calls, and exact on synthetic memory.
#include "libmemprof/src/stacks/stack_memo.h"

#include <execinfo.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "libmemprof/src/base/memory_budget.h"
#include "tests/libmemprof/stacks/call_chains.h"
#include "tests/libmemprof/stacks/new_memo.h"

namespace memprof::recorder {
namespace {

class StackMemoTest : public ::testing::Test {
 protected:
  StackMemoTest() {
    SetMemoryLimit(kDefaultMemoryMib << 20, 0);
    EXPECT_TRUE(rules_.Create());
    memo_->Reset(1);
  }

  // Uses the memo as the recorder does. The compiler's unwinder determines the expected id, so that
  // wrong results are detected.
  __attribute__((noinline)) void Take() {
    const Registers start = CaptureRegisters();
    StackMemo::Result known{0, false};
    hit_ = memo_->Find(start, &known);
    Frames truth = UnwindByCompiler();
    if (truth.size() > 1) truth[0] = nullptr;
    const std::uint32_t id = ids_.try_emplace(truth, ids_.size() + 1).first->second;
    if (hit_) {
      ++hits_;
      EXPECT_EQ(known.stack, id);
    } else if (WalkStack(&rules_, FindStackBounds(), {}, start, StackWalk::kMaxFrames, &walk_)) {
      memo_->Store(start, walk_, {id, walk_.truncated});
    }
  }

  FrameRules rules_;
  StackWalk walk_;
  MemoPointer memo_ = NewMemo();
  std::map<Frames, std::uint32_t> ids_;
  bool hit_ = false;
  int hits_ = 0;
};

TEST_F(StackMemoTest, KnowsAStackAgain) {
  const std::function<void()> take = [this] { Take(); };
  // One call site, even if a loop is unrolled.
  const std::function<void(std::vector<int>)> run = [&](const std::vector<int>& shapes) {
    RunChain(shapes, 8, take);
  };
  for (int shape = 0; shape < kShapeCount; ++shape) {
    const std::vector<int> shapes(4, shape);
    for (int i = 0; i < 2; ++i) run(shapes);
    EXPECT_TRUE(hit_) << "shape " << shape;
  }
}

// Saved registers that unwinding does not use must not prevent a hit.
TEST_F(StackMemoTest, OtherValuesOnTheStackDoNotMatter) {
  const std::function<void()> take = [this] { Take(); };
  for (std::uint64_t seed = 0; seed < 50; ++seed) RunChain({1, 0, 2, 1}, seed * 977, take);
  EXPECT_EQ(hits_, 49);
}

TEST_F(StackMemoTest, NeverTakesOneStackForAnother) {
  std::mt19937_64 random(6);
  const std::function<void()> take = [this] { Take(); };
  // A few shapes of equal size: wrong results are most likely where the stack pointer is equal but
  // the frames differ.
  for (int round = 0; round < 4000; ++round) {
    std::vector<int> shapes = RandomShapes(&random, 6);
    for (int& shape : shapes) shape %= 4;
    RunChain(shapes, random() % 4, take);
  }
  EXPECT_GT(hits_, 1000);
  EXPECT_GT(ids_.size(), 500u);
}

TEST_F(StackMemoTest, ForgetsAtAReset) {
  const std::function<void()> take = [this] { Take(); };
  // A vector, so that the loop is not unrolled: another call site would be another stack.
  const std::vector<bool> expected = {false, true, true, false, true};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (i == 3) memo_->Reset(2);
    RunChain({0, 0}, 1, take);
    EXPECT_EQ(hit_, expected[i]) << i;
  }
  EXPECT_EQ(memo_->generation(), 2u);
}

// More distinct stacks than the memo can hold: overwritten entries must not be used.
TEST_F(StackMemoTest, OverwrittenEntriesAreVoid) {
  std::mt19937_64 random(8);
  const std::function<void()> take = [this] { Take(); };
  std::vector<std::vector<int>> chains;
  for (int i = 0; i < 400; ++i) chains.push_back(RandomShapes(&random, 30));
  for (int round = 0; round < 3; ++round)
    for (const std::vector<int>& chain : chains) RunChain(chain, 1, take);
  EXPECT_GT(ids_.size(), 300u);
}

// A synthetic stack, and a walk that depends on every other word of it.
class MadeUpStack {
 public:
  explicit MadeUpStack(bool uses_frame_pointer) {
    for (std::uint64_t i = 0; i < kWords; ++i) words_[i] = i * 1000;
    walk_.uses_frame_pointer = uses_frame_pointer;
  }
  static constexpr std::uint32_t kWords = 64;
  Registers start() const { return {0x1234, reinterpret_cast<std::uint64_t>(words_), 77}; }
  std::uint64_t& operator[](std::uint32_t i) { return words_[i]; }
  const StackWalk& WalkNow() {
    walk_.word_count = 0;
    for (std::uint32_t i = 0; i < kWords; i += 2)
      walk_.words[walk_.word_count++] = {i * 8, words_[i]};
    return walk_;
  }

 private:
  std::uint64_t words_[kWords];
  StackWalk walk_;
};

TEST(StackMemo, OfStacksThatNeverComeAgainOnlySomeAreStored) {
  SetMemoryLimit(kDefaultMemoryMib << 20, 0);
  auto memo = NewMemo();
  memo->Reset(1);
  MadeUpStack stack(false);
  const auto find = [&](std::uint32_t pc) {
    Registers start = stack.start();
    start.pc = pc;
    StackMemo::Result known;
    return memo->Find(start, &known) && known.stack == pc;
  };
  const auto store = [&](std::uint32_t pc) {
    Registers start = stack.start();
    start.pc = pc;
    memo->Store(start, stack.WalkNow(), {pc, false});
  };
  for (std::uint32_t pc = 1; pc <= 3000; ++pc) {
    EXPECT_FALSE(find(pc));
    store(pc);
  }
  int found = 0;
  for (std::uint32_t pc = 2001; pc <= 3000; ++pc) found += find(pc) ? 1 : 0;
  EXPECT_GT(found, 30);
  EXPECT_LT(found, 100);
  // Stores are worthwhile again after hits, until hits become rare again.
  found = 0;
  for (std::uint32_t pc = 5001; pc <= 5200; ++pc) store(pc);
  for (std::uint32_t pc = 5001; pc <= 5200; ++pc) found += find(pc) ? 1 : 0;
  EXPECT_GT(found, 190);
}

TEST(StackMemo, EveryWordOfTheWalkCountsAndNoOther) {
  auto memo = NewMemo();
  StackMemo::Result result{0, false};
  MadeUpStack stack(false);
  EXPECT_FALSE(memo->Find(stack.start(), &result));
  memo->Store(stack.start(), stack.WalkNow(), {5, true});
  EXPECT_FALSE(memo->Find(stack.start(), &result)) << "nothing is kept before the first Reset";
  memo->Reset(1);
  memo->Store(stack.start(), stack.WalkNow(), {5, true});
  ASSERT_TRUE(memo->Find(stack.start(), &result));
  EXPECT_EQ(result.stack, 5u);
  EXPECT_TRUE(result.truncated);
  for (std::uint32_t i = 0; i < MadeUpStack::kWords; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i % std::bit_width(arch::kWordMask);
    stack[i] ^= bit;
    EXPECT_EQ(memo->Find(stack.start(), &result), i % 2 != 0) << i;
    stack[i] ^= bit;
  }
}

// The same place and stack pointer, with hundreds of different callers.
TEST(StackMemo, StacksThatShareTheirPlaceAreKeptApart) {
  auto memo = NewMemo();
  memo->Reset(1);
  MadeUpStack stack(false);
  const auto set = [&stack](std::uint32_t id) {
    stack[10] = 5000 + id % 16;
    stack[20] = 7000 + id / 16;
    stack[62] = id % 3;
  };
  constexpr std::uint32_t kIds = 256;
  // When the memo grows it drops its entries, so the first ones may have to be stored again.
  for (std::uint32_t i = 0; i < 4 * kIds; ++i) {
    const std::uint32_t id = i % kIds;
    set(id);
    StackMemo::Result result{0, false};
    if (memo->Find(stack.start(), &result))
      ASSERT_EQ(result.stack, id);
    else
      memo->Store(stack.start(), stack.WalkNow(), {id, false});
  }
  std::uint32_t found = 0;
  for (std::uint32_t id = 0; id < kIds; ++id) {
    set(id);
    StackMemo::Result result{0, false};
    if (!memo->Find(stack.start(), &result)) continue;  // two entries may need the same slot
    ++found;
    EXPECT_EQ(result.stack, id);
  }
  EXPECT_GT(found, kIds * 95 / 100);
}

// More stacks than the ring of words can hold, so that words of one stack are overwritten by those
// of another: an expected next stack must be checked against the current words.
TEST(StackMemo, AnExpectedStackWhoseWordsAreGoneIsNotBelieved) {
  auto memo = NewMemo();
  memo->Reset(1);
  MadeUpStack stack(false);
  int found = 0;
  std::mt19937 random(11);
  for (std::uint32_t i = 0; i < 20000; ++i) {
    // Mostly in the expected order, sometimes not.
    const std::uint32_t id = random() % 8 == 0 ? random() % 4000 : i % 4000;
    stack[10] = 5000 + id % 64;
    stack[20] = 7000 + id / 64;
    for (int again = 0; again < 2; ++again) {
      StackMemo::Result result{0, false};
      if (memo->Find(stack.start(), &result)) {
        ASSERT_EQ(result.stack, id + 1) << i;
        ++found;
      } else {
        memo->Store(stack.start(), stack.WalkNow(), {id + 1, false});
      }
    }
  }
  EXPECT_GT(found, 10000);
}

TEST(StackMemo, StacksInTurnAreFoundWhateverTheOrder) {
  auto memo = NewMemo();
  memo->Reset(1);
  MadeUpStack stack(false);
  std::mt19937 random(12);
  const auto find = [&](std::uint32_t id) {
    stack[10] = 5000 + id;
    StackMemo::Result result{0, false};
    if (!memo->Find(stack.start(), &result)) return false;
    EXPECT_EQ(result.stack, id + 1);
    return true;
  };
  for (std::uint32_t round = 0; round < 3; ++round)
    for (std::uint32_t id = 0; id < 20; ++id)
      if (!find(id)) memo->Store(stack.start(), stack.WalkNow(), {id + 1, false});
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(find(static_cast<std::uint32_t>(i) % 20));
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(find(random() % 20));
}

TEST(StackMemo, WhatDoesNotFitIsNotKept) {
  auto memo = NewMemo();
  memo->Reset(1);
  MadeUpStack stack(false);
  StackMemo::Result result{0, false};
  stack[4] = std::uint64_t{1} << 48;
  memo->Store(stack.start(), stack.WalkNow(), {1, false});
  EXPECT_FALSE(memo->Find(stack.start(), &result));
  stack[4] = (std::uint64_t{1} << 48) - 1;
  memo->Store(stack.start(), stack.WalkNow(), {1, false});
  EXPECT_TRUE(memo->Find(stack.start(), &result));
}

TEST(StackMemo, RegistersCountAsFarAsTheWalkUsedThem) {
  for (bool uses_frame_pointer : {false, true}) {
    auto memo = NewMemo();
    memo->Reset(1);
    MadeUpStack stack(uses_frame_pointer);
    memo->Store(stack.start(), stack.WalkNow(), {5, false});
    StackMemo::Result result{0, false};
    Registers other = stack.start();
    other.fp = 78;
    EXPECT_EQ(memo->Find(other, &result), !uses_frame_pointer);
    other = stack.start();
    other.pc = 0x1235;
    EXPECT_FALSE(memo->Find(other, &result));
  }
}

TEST(StackMemo, WordsThatWereOverwrittenAreNotBelieved) {
  auto memo = NewMemo();
  memo->Reset(1);
  MadeUpStack stack(false);
  memo->Store(stack.start(), stack.WalkNow(), {5, false});
  StackMemo::Result result{0, false};
  MadeUpStack other(false);
  // Enough stores at another place to overwrite the whole ring of words, whatever its size.
  bool kept = true;
  for (int i = 0; i < 10000 && kept; ++i) {
    memo->Store(other.start(), other.WalkNow(), {6, false});
    kept = memo->Find(stack.start(), &result);
    ASSERT_TRUE(memo->Find(other.start(), &result));
    ASSERT_EQ(result.stack, 6u);
  }
  EXPECT_FALSE(kept);
}

}  // namespace
}  // namespace memprof::recorder
