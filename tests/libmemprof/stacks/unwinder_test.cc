// Call stacks of this process, and the modules they lie in.
#include "libmemprof/src/stacks/unwinder.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "libmemprof/src/base/loader_gate.h"
#include "libmemprof/src/loader/next_symbol.h"
#include "libmemprof/src/loader/real_dlsym.h"
#include "libmemprof/src/log/definitions.h"
#include "libmemprof/src/log/ring_buffer.h"
#include "libmemprof/src/stacks/modules.h"
#include "tests/support/paths.h"

namespace memprof::recorder {
namespace {

struct Captured {
  std::vector<void*> frames;
  bool truncated = false;
};

__attribute__((noinline)) Captured Capture(int depth) {
  Captured captured;
  captured.frames.resize(kMaxStackDepth);
  const int count = CaptureStack(captured.frames.data(), depth, &captured.truncated);
  captured.frames.resize(static_cast<std::size_t>(count));
  return captured;
}

__attribute__((noinline)) Captured Deeper(int levels, int depth) {
  Captured captured = levels == 0 ? Capture(depth) : Deeper(levels - 1, depth);
  asm volatile("");  // not a tail call
  return captured;
}

TEST(Unwinder, WalksToTheBottomOfTheStack) {
  ASSERT_TRUE(LoadUnwinder());
  const Captured shallow = Deeper(1, kMaxStackDepth);
  const Captured deep = Deeper(51, kMaxStackDepth);
  EXPECT_FALSE(shallow.truncated);
  EXPECT_GT(shallow.frames.size(), 5u);
  EXPECT_EQ(deep.frames.size(), shallow.frames.size() + 50);
  // The outermost frames are the same.
  EXPECT_EQ(deep.frames.back(), shallow.frames.back());
}

TEST(Unwinder, KeepsTheInnermostFramesOfADeepStack) {
  ASSERT_TRUE(LoadUnwinder());
  const Captured cut = Deeper(100, 10);
  EXPECT_TRUE(cut.truncated);
  EXPECT_EQ(cut.frames.size(), 10u);
}

TEST(Unwinder, ManyThreadsAtOnce) {
  ASSERT_TRUE(LoadUnwinder());
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&right] {
      const std::size_t first = Deeper(20, kMaxStackDepth).frames.size();
      for (int i = 0; i < 500; ++i) right += Deeper(20, kMaxStackDepth).frames.size() == first;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 8 * 500);
}

class ModuleNumbersTest : public ::testing::Test {
 protected:
  ModuleNumbersTest() {
    RingOptions options;
    options.shared_directory = "/nowhere";
    EXPECT_TRUE(ring_.Create(options));
    modules_.Refresh();
  }
  RingBuffer ring_;
  Definitions definitions_{&ring_};
  Modules modules_{&definitions_};
};

TEST_F(ModuleNumbersTest, KnowsWhichModuleAnAddressIsIn) {
  const auto here = reinterpret_cast<std::uint64_t>(&Capture);
  const auto libc = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "getenv"));
  EXPECT_NE(modules_.Find(here), 0u);
  EXPECT_NE(modules_.Find(libc), 0u);
  EXPECT_NE(modules_.Find(here), modules_.Find(libc));
  EXPECT_EQ(modules_.Find(16), 0u);
}

TEST_F(ModuleNumbersTest, KeepsIdsWhenOthersComeAndGo) {
  const auto here = reinterpret_cast<std::uint64_t>(&Capture);
  const std::uint32_t id = modules_.Find(here);
  const std::uint32_t generation = modules_.generation();
  void* library = dlopen(paths::kPlugin, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto inside = reinterpret_cast<std::uint64_t>(dlsym(library, "Chain"));
  EXPECT_EQ(modules_.Find(inside), 0u) << "not checked yet";
  modules_.Refresh();
  const std::uint32_t loaded = modules_.Find(inside);
  EXPECT_NE(loaded, 0u);
  EXPECT_EQ(modules_.Find(here), id);
  EXPECT_EQ(modules_.generation(), generation) << "no module was unloaded";
  ASSERT_EQ(dlclose(library), 0);
  modules_.Refresh();
  EXPECT_EQ(modules_.Find(inside), 0u);
  EXPECT_EQ(modules_.Find(here), id);
  EXPECT_NE(modules_.generation(), generation) << "a module of recorded stacks was unloaded";
}

TEST_F(ModuleNumbersTest, AModuleWithoutReferencesMayGoUnnoticed) {
  void* library = dlopen(paths::kPlugin, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  modules_.Refresh();
  const std::uint32_t generation = modules_.generation();
  dlclose(library);
  modules_.Refresh();
  EXPECT_EQ(modules_.generation(), generation);
}

TEST(NextSymbol, FindsTheRealLookUpFunctions) {
#if defined(__x86_64__)
  constexpr char kFirstVersion[] = "GLIBC_2.2.5";
#else
  constexpr char kFirstVersion[] = "GLIBC_2.17";
#endif
  void* expected = dlsym(RTLD_DEFAULT, "getenv");
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  EXPECT_EQ(RealDlsym(libc, "getenv"), expected);
  EXPECT_EQ(RealDlvsym(libc, "getenv", kFirstVersion), expected);
  EXPECT_EQ(RealDlsym(libc, "no_such_function_anywhere"), nullptr);
  EXPECT_EQ(NextDefinition("no_such_function_anywhere"), nullptr);
}

TEST(NextSymbol, OrderIsThatOfLoading) {
  const void* here = reinterpret_cast<const void*>(&Capture);
  const void* libc = dlsym(RTLD_DEFAULT, "getenv");
  EXPECT_TRUE(Precedes(here, libc));
  EXPECT_FALSE(Precedes(libc, here));
  EXPECT_FALSE(Precedes(here, here));
}

}  // namespace
}  // namespace memprof::recorder
