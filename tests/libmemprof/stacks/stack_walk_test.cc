// The recorder's stack walk against the compiler's unwinder, on random chains of calls with every
// shape of frame.
#include "libmemprof/src/stacks/stack_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "tests/libmemprof/stacks/call_chains.h"

namespace memprof::recorder {
namespace {

class StackWalkTest : public ::testing::Test {
 protected:
  StackWalkTest() { EXPECT_TRUE(rules_.Create()); }

  // Runs both walks here: their innermost frames differ by a few instructions only.
  __attribute__((noinline)) void Take(Frames* ours, Frames* theirs,
                                      int depth = StackWalk::kMaxFrames) {
    const Registers start = CaptureRegisters();
    walked_ = WalkStack(&rules_, FindStackBounds(), {}, start, depth, &walk_);
    ours->assign(walk_.frames, walk_.frames + walk_.frame_count);
    *theirs = UnwindByCompiler();
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

TEST_F(StackWalkTest, CutsAtTheRequestedDepth) {
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
    const Registers start = CaptureRegisters();
    const StackBounds bounds = FindStackBounds();
    ASSERT_TRUE(WalkStack(&rules_, bounds, {}, start, StackWalk::kMaxFrames, &walk_));
    all.assign(walk_.frames, walk_.frames + walk_.frame_count);
    // Only this function is inside `own`; the depth counts the remaining frames.
    const CodeRange own{start.pc - 1, start.pc + 1};
    const int depth = walk_.frame_count - 1;
    ASSERT_TRUE(WalkStack(&rules_, bounds, own, start, depth, &walk_));
    rest.assign(walk_.frames, walk_.frames + walk_.frame_count);
  });
  EXPECT_FALSE(walk_.truncated);
  EXPECT_EQ(rest, Callers(all));
}

// A coroutine runs on a different stack than the one created with its thread.
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
    const Registers start = CaptureRegisters();
    walked_ = WalkStack(&rules_, FindStackBounds(), {}, start, 100, &walk_);
  };
  swapcontext(&g_main_context, &g_coroutine);
  EXPECT_FALSE(walked_);
}

std::function<void()> g_in_handler;
void Handler(int) { g_in_handler(); }

TEST_F(StackWalkTest, RefusesStacksWithASignalFrame) {
  g_in_handler = [this] {
    const Registers start = CaptureRegisters();
    walked_ = WalkStack(&rules_, FindStackBounds(), {}, start, 100, &walk_);
  };
  walked_ = true;
  void (*before)(int) = signal(SIGUSR1, Handler);
  raise(SIGUSR1);
  signal(SIGUSR1, before);
  EXPECT_FALSE(walked_);
}

// Whatever the stack contains, nothing outside its bounds is read and the walk ends.
TEST_F(StackWalkTest, NoiseOnTheStackNeverLeadsOutOfIt) {
  constexpr std::size_t kPage = 4096, kWords = 2 * kPage / 8;
  auto* memory =
      static_cast<char*>(mmap(nullptr, 4 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
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
      case 0:
        return libc - 300000 + random() % 600000;
      case 1:
        return here - 2000 + random() % 8000;
      case 2:
        return low - 64 + random() % (kWords * 8 + 128);
      case 3:
        return low + random() % kWords * 8;
      default:
        return random();
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
  EXPECT_GT(most_frames, 2) << "random words must sometimes look like frames";
  munmap(memory, 4 * kPage);
}

}  // namespace
}  // namespace memprof::recorder
