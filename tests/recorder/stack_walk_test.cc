// Our walk of the stack, and the memo that saves it, against the compiler's unwinder over random
// chains of calls of every shape of frame.
#include "libmemprof/src/stack_walk.h"

#include <alloca.h>
#include <execinfo.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "libmemprof/src/stack_memo.h"

namespace memprof::recorder {
namespace {

using Frames = std::vector<void*>;

// A chain of calls: one digit a frame.
struct Chain {
  const std::vector<int>* shapes = nullptr;
  std::size_t at = 0;
  std::function<void()> bottom;
  volatile std::uint64_t sink = 0;
};

void Continue(Chain* chain);

#define SHAPE __attribute__((noinline, noclone))

SHAPE void Plain(Chain* chain) {
  Continue(chain);
  chain->sink = chain->sink + 1;
}

SHAPE void ManyRegisters(Chain* chain) {
  std::uint64_t a = chain->sink, b = a + 1, c = b * 3, d = c ^ 5, e = d + 7, f = e * 11;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  Continue(chain);
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  chain->sink = a + b + c + d + e + f;
}

SHAPE void BigFrame(Chain* chain) {
  volatile char room[3000];
  room[chain->at % sizeof room] = 1;
  Continue(chain);
  chain->sink = chain->sink + static_cast<std::uint64_t>(room[0]);
}

SHAPE void VariableFrame(Chain* chain) {
  const std::size_t bytes = 16 + chain->sink % 512;
  auto* room = static_cast<volatile char*>(alloca(bytes));
  room[0] = 1;
  Continue(chain);
  chain->sink = chain->sink + static_cast<std::uint64_t>(room[0]);
}

SHAPE void RealignedFrame(Chain* chain) {
  alignas(128) volatile char room[256];
  room[0] = 1;
  Continue(chain);
  chain->sink = chain->sink + static_cast<std::uint64_t>(room[0]);
}

SHAPE void RealignedVariableFrame(Chain* chain) {
  alignas(64) volatile char room[64];
  auto* more = static_cast<volatile char*>(alloca(16 + chain->sink % 256));
  room[0] = 1;
  more[0] = 1;
  Continue(chain);
  chain->sink = chain->sink + static_cast<std::uint64_t>(room[0] + more[0]);
}

Chain* g_sorted_chain = nullptr;
int Compare(const void*, const void*) {
  Chain* chain = g_sorted_chain;
  if (chain != nullptr) {
    g_sorted_chain = nullptr;
    Continue(chain);
  }
  return 0;
}
SHAPE void ThroughTheCLibrary(Chain* chain) {
  g_sorted_chain = chain;
  int numbers[2] = {2, 1};
  qsort(numbers, 2, sizeof numbers[0], Compare);
  chain->sink = chain->sink + 1;
}

SHAPE void ThroughAnObject(Chain* chain) {
  const std::function<void()> call = [chain] { Continue(chain); };
  call();
  chain->sink = chain->sink + 1;
}

SHAPE void InACatchBlock(Chain* chain) {
  try {
    throw chain;
  } catch (Chain* caught) {
    Continue(caught);
  }
  chain->sink = chain->sink + 1;
}

using Shape = void (*)(Chain*);
constexpr Shape kShapes[] = {Plain,          ManyRegisters,          BigFrame,
                             VariableFrame,  RealignedFrame,         RealignedVariableFrame,
                             ThroughTheCLibrary, ThroughAnObject, InACatchBlock};
constexpr int kShapeCount = static_cast<int>(std::size(kShapes));

SHAPE void Continue(Chain* chain) {
  if (chain->at == chain->shapes->size())
    chain->bottom();
  else
    kShapes[(*chain->shapes)[chain->at++]](chain);
  chain->sink = chain->sink + 1;
}

SHAPE void RunChain(const std::vector<int>& shapes, std::uint64_t seed,
                    const std::function<void()>& bottom) {
  Chain chain;
  chain.shapes = &shapes;
  chain.bottom = bottom;
  chain.sink = seed;
  Continue(&chain);
  asm volatile("");
}

std::vector<int> RandomShapes(std::mt19937_64* random, int most) {
  std::vector<int> shapes((*random)() % static_cast<unsigned>(most));
  for (int& shape : shapes) shape = static_cast<int>((*random)() % kShapeCount);
  return shapes;
}

class StackWalkTest : public ::testing::Test {
 protected:
  StackWalkTest() { EXPECT_TRUE(rules_.Create()); }

  // Both walks from the same place: the innermost frame differs by a few instructions only.
  SHAPE void Take(Frames* ours, Frames* theirs, int depth = StackWalk::kMostFrames) {
    Registers start;
    memprof_capture_registers(&start);
    walked_ = WalkStack(&rules_, FindStackBounds(), {}, start, depth, &walk_);
    ours->assign(walk_.frames, walk_.frames + walk_.frame_count);
    theirs->resize(1000);
    theirs->resize(static_cast<std::size_t>(backtrace(theirs->data(), 1000)));
    while (!theirs->empty() && theirs->back() == nullptr) theirs->pop_back();
  }
  static Frames Callers(Frames frames) {
    if (!frames.empty()) frames.erase(frames.begin());
    return frames;
  }

  FrameRules rules_;
  StackWalk walk_;
  bool walked_ = false;
};

TEST_F(StackWalkTest, EveryShapeOfFrame) {
  for (int shape = 0; shape < kShapeCount; ++shape) {
    Frames ours, theirs;
    RunChain({shape, shape}, 40, [&] { Take(&ours, &theirs); });
    EXPECT_TRUE(walked_) << "shape " << shape;
    EXPECT_GT(ours.size(), 6u);
    EXPECT_EQ(Callers(ours), Callers(theirs)) << "shape " << shape;
  }
}

TEST_F(StackWalkTest, RandomChains) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    Frames ours, theirs;
    RunChain(RandomShapes(&random, 40), random(), [&] { Take(&ours, &theirs); });
    ASSERT_TRUE(walked_) << "round " << round;
    ASSERT_EQ(Callers(ours), Callers(theirs)) << "round " << round;
  }
}

TEST_F(StackWalkTest, OnThreadsWithSmallStacks) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 20; ++round) {
    const std::vector<int> shapes = RandomShapes(&random, 12);
    Frames ours, theirs;
    std::thread([&] { RunChain(shapes, 1, [&] { Take(&ours, &theirs); }); }).join();
    ASSERT_TRUE(walked_);
    ASSERT_EQ(Callers(ours), Callers(theirs));
  }
}

TEST_F(StackWalkTest, CutsAtTheDepthAskedFor) {
  Frames ours, theirs;
  RunChain(std::vector<int>(30, 0), 1, [&] { Take(&ours, &theirs, 10); });
  ASSERT_TRUE(walked_);
  EXPECT_TRUE(walk_.truncated);
  theirs.resize(10);
  EXPECT_EQ(Callers(ours), Callers(theirs));

  RunChain({0}, 1, [&] { Take(&ours, &theirs); });
  EXPECT_FALSE(walk_.truncated);
}

TEST_F(StackWalkTest, LeavesOutOurOwnInnermostFrames) {
  Frames all, rest;
  RunChain({0, 1, 2}, 1, [&] {
    Registers start;
    memprof_capture_registers(&start);
    const StackBounds bounds = FindStackBounds();
    ASSERT_TRUE(WalkStack(&rules_, bounds, {}, start, StackWalk::kMostFrames, &walk_));
    all.assign(walk_.frames, walk_.frames + walk_.frame_count);
    // Only the function right here is "ours"; the depth counts what is left.
    const CodeRange own{start.pc - 1, start.pc + 1};
    const int depth = walk_.frame_count - 1;
    ASSERT_TRUE(WalkStack(&rules_, bounds, own, start, depth, &walk_));
    rest.assign(walk_.frames, walk_.frames + walk_.frame_count);
  });
  EXPECT_FALSE(walk_.truncated);
  EXPECT_EQ(rest, Callers(all));
}

// A coroutine's stack is not the one that the thread was created with.
ucontext_t g_main_context, g_coroutine;
std::function<void()> g_in_coroutine;
void CoroutineBody() {
  g_in_coroutine();
  swapcontext(&g_coroutine, &g_main_context);
}

TEST_F(StackWalkTest, RefusesForeignStacks) {
  std::vector<char> memory(256 * 1024);
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = memory.data();
  g_coroutine.uc_stack.ss_size = memory.size();
  g_coroutine.uc_link = nullptr;
  makecontext(&g_coroutine, CoroutineBody, 0);
  walked_ = true;
  g_in_coroutine = [this] {
    Registers start;
    memprof_capture_registers(&start);
    walked_ = WalkStack(&rules_, FindStackBounds(), {}, start, 100, &walk_);
  };
  swapcontext(&g_main_context, &g_coroutine);
  EXPECT_FALSE(walked_);
}

std::function<void()> g_in_handler;
void Handler(int) { g_in_handler(); }

TEST_F(StackWalkTest, RefusesStacksWithASignalFrame) {
  g_in_handler = [this] {
    Registers start;
    memprof_capture_registers(&start);
    walked_ = WalkStack(&rules_, FindStackBounds(), {}, start, 100, &walk_);
  };
  walked_ = true;
  void (*before)(int) = signal(SIGUSR1, Handler);
  raise(SIGUSR1);
  signal(SIGUSR1, before);
  EXPECT_FALSE(walked_);
}

// Whatever lies on a stack, nothing outside its bounds is read and the walk ends.
TEST_F(StackWalkTest, NoiseOnTheStackNeverLeadsOutOfIt) {
  constexpr std::size_t kPage = 4096, kWords = 2 * kPage / 8;
  auto* memory = static_cast<char*>(
      mmap(nullptr, 4 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  mprotect(memory + kPage, 2 * kPage, PROT_READ | PROT_WRITE);
  auto* words = reinterpret_cast<std::uint64_t*>(memory + kPage);
  const auto low = reinterpret_cast<std::uint64_t>(words);
  const StackBounds bounds{low, low + kWords * 8};
  std::mt19937_64 random(5);
  const auto libc = reinterpret_cast<std::uint64_t>(&qsort);
  const auto here = reinterpret_cast<std::uint64_t>(&RunChain);
  const auto anything = [&]() -> std::uint64_t {
    switch (random() % 5) {
      case 0: return libc - 300000 + random() % 600000;
      case 1: return here - 2000 + random() % 8000;
      case 2: return low - 64 + random() % (kWords * 8 + 128);
      case 3: return low + random() % kWords * 8;
      default: return random();
    }
  };
  int most_frames = 0;
  for (int round = 0; round < 20000; ++round) {
    for (int i = 0; i < 40; ++i) words[random() % kWords] = anything();
    Registers start{anything(), low + random() % kWords * 8, anything()};
    if (round % 3 == 0) start.sp = anything();
    WalkStack(&rules_, bounds, {}, start, 100, &walk_);
    most_frames = std::max(most_frames, walk_.frame_count);
    for (int i = 0; i < walk_.word_count; ++i) {
      ASSERT_LE(start.sp + walk_.words[i].offset, bounds.high - 8);
      ASSERT_GE(start.sp + walk_.words[i].offset, bounds.low);
    }
  }
  EXPECT_GT(most_frames, 5) << "the noise must look like frames at times";
  munmap(memory, 4 * kPage);
}

class StackMemoTest : public StackWalkTest {
 protected:
  StackMemoTest() { memo_->Reset(1); }

  // As the recorder does it. Ids are given by the compiler's unwinder, so that a wrong memo shows.
  SHAPE void Take() {
    Registers start;
    memprof_capture_registers(&start);
    StackMemo::Result known{0, false};
    hit_ = memo_->Find(start, &known);
    Frames truth(1000);
    truth.resize(static_cast<std::size_t>(backtrace(truth.data(), 1000)));
    if (truth.size() > 1) truth[0] = nullptr;
    const std::uint32_t id = ids_.try_emplace(truth, ids_.size() + 1).first->second;
    if (hit_) {
      ++hits_;
      EXPECT_EQ(known.stack, id);
    } else if (WalkStack(&rules_, FindStackBounds(), {}, start, StackWalk::kMostFrames, &walk_)) {
      memo_->Store(start, walk_, {id, walk_.truncated});
    }
  }

  std::unique_ptr<StackMemo> memo_ = std::make_unique<StackMemo>();
  std::map<Frames, std::uint32_t> ids_;
  bool hit_ = false;
  int hits_ = 0;
};

TEST_F(StackMemoTest, KnowsAStackAgain) {
  const std::function<void()> take = [this] { Take(); };
  // One place of call, also where a loop is unrolled.
  const std::function<void(std::vector<int>)> run = [&](const std::vector<int>& shapes) {
    RunChain(shapes, 8, take);
  };
  for (int shape = 0; shape < kShapeCount; ++shape) {
    const std::vector<int> shapes(4, shape);
    for (int i = 0; i < 2; ++i) run(shapes);
    EXPECT_TRUE(hit_) << "shape " << shape;
  }
}

// Registers that functions save but nobody walks by must not spoil it.
TEST_F(StackMemoTest, OtherValuesOnTheStackDoNotMatter) {
  const std::function<void()> take = [this] { Take(); };
  for (std::uint64_t seed = 0; seed < 50; ++seed) RunChain({1, 0, 2, 1}, seed * 977, take);
  EXPECT_EQ(hits_, 49);
}

TEST_F(StackMemoTest, NeverTakesOneStackForAnother) {
  std::mt19937_64 random(6);
  const std::function<void()> take = [this] { Take(); };
  // Few shapes of equal size: the same stack pointer with other frames is what could go wrong.
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
  const auto run = [&] { RunChain({0, 0}, 1, take); };
  for (int i = 0; i < 3; ++i) {
    run();
    EXPECT_EQ(hit_, i > 0);
  }
  memo_->Reset(2);
  EXPECT_EQ(memo_->generation(), 2u);
  for (int i = 0; i < 2; ++i) {
    run();
    EXPECT_EQ(hit_, i > 0);
  }
}

// More distinct stacks than the memo holds: what was overwritten is not believed.
TEST_F(StackMemoTest, OverwrittenEntriesAreVoid) {
  std::mt19937_64 random(8);
  const std::function<void()> take = [this] { Take(); };
  std::vector<std::vector<int>> chains;
  for (int i = 0; i < 400; ++i) chains.push_back(RandomShapes(&random, 30));
  for (int round = 0; round < 3; ++round)
    for (const std::vector<int>& chain : chains) RunChain(chain, 1, take);
  EXPECT_GT(ids_.size(), 300u);
}

}  // namespace
}  // namespace memprof::recorder
