// What stands between the recorder and the dynamic loader: the gate that keeps forks apart from
// unwinding, symbols behind this library, and the table of modules.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "libmemprof/src/base/loader_gate.h"
#include "libmemprof/src/loader/next_symbol.h"
#include "libmemprof/src/loader/real_dlsym.h"
#include "libmemprof/src/stacks/modules.h"
#include "libmemprof/src/stacks/stack_table.h"
#include "tests/libmemprof/log/with_ring.h"

namespace memprof::recorder {
namespace {

TEST(LoaderGate, NobodyIsInsideWhileItIsClosed) {
  constexpr int kThreads = 4;
  std::vector<std::unique_ptr<LoaderFlag>> flags;
  std::atomic<int> inside{0};
  std::atomic<bool> stop{false}, closed{false};
  std::atomic<int> violations{0};  // of the round
  int all_violations = 0;
  std::atomic<long> entered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    flags.push_back(std::make_unique<LoaderFlag>());
    RegisterLoaderFlag(flags.back().get());
    threads.emplace_back([&, flag = flags.back().get()] {
      while (!stop) {
        const std::uint64_t came = NowNs();
        const LoaderSection section(flag);
        ++entered;
        // It waits for 500 ms at most, also where the gate closed anew while it was off the
        // processor.
        if (NowNs() - came > 400'000'000) continue;
        ++inside;
        if (closed) ++violations;
        --inside;
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const long before = entered;
    violations = 0;
    const std::uint64_t start = NowNs();
    CloseLoaderGate();
    // It gives up on a thread that is off the processor for 50 ms.
    const bool gave_up = NowNs() - start > 40'000'000;
    closed = !gave_up;
    for (int look = 0; look < 100 && !gave_up; ++look) {
      std::this_thread::yield();  // they come, and wait
      if (inside != 0) ++violations;
    }
    closed = false;
    // Threads wait for at most 500 ms: on a busy machine this one may be away for longer than that.
    if (NowNs() - start < 400'000'000) all_violations += violations;
    OpenLoaderGate();
    while (entered == before) std::this_thread::yield();  // they go on
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  ResetLoaderGate();
  EXPECT_EQ(all_violations, 0);
}

TEST(LoaderGate, AThreadThatStaysInsideDelaysAForkButDoesNotPreventIt) {
  LoaderFlag flag;
  RegisterLoaderFlag(&flag);
  {
    const LoaderSection stays(&flag);
    CloseLoaderGate();  // returns all the same
    OpenLoaderGate();
    EXPECT_EQ(flag.inside.load(), 1u);
  }
  EXPECT_EQ(flag.inside.load(), 0u);
  ResetLoaderGate();
}

TEST(LoaderGate, AChildForgetsItsParentsThreads) {
  auto flag = std::make_unique<LoaderFlag>();
  RegisterLoaderFlag(flag.get());
  flag->inside = 1;  // a thread that the child does not have
  CloseLoaderGate();
  ResetLoaderGate();
  LoaderFlag own;
  RegisterLoaderFlag(&own);
  const LoaderSection section(&own);  // the gate is open, and no list leads to the other flag
  EXPECT_EQ(own.next, nullptr);
  ResetLoaderGate();
}

TEST(NextSymbol, FindsWhatComesBehindInTheOrderOfLoading) {
  void* libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(NextDefinition("gnu_get_libc_version"), libc);
  EXPECT_EQ(NextDefinition("gnu_get_libc_version", libc), nullptr) << "behind libc there is none";
  EXPECT_EQ(FirstDefinition("gnu_get_libc_version"), libc);
  EXPECT_EQ(FirstDefinition("main"), nullptr) << "only this program has one";
  EXPECT_EQ(NextDefinition("memprof_no_such_function"), nullptr);
  EXPECT_EQ(NextDefinition(""), nullptr);
  EXPECT_NE(NextDefinition("dlsym"), nullptr);
}

TEST(NextSymbol, TellsWhichOfTwoLibrariesComesFirst) {
  const void* here = reinterpret_cast<void*>(&RealDlsym);
  const void* libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  EXPECT_TRUE(Precedes(here, libc));
  EXPECT_FALSE(Precedes(libc, here));
  EXPECT_FALSE(Precedes(here, here));
  EXPECT_FALSE(Precedes(nullptr, libc)) << "below every library";
}

TEST(RealDlsym, IsTheLoadersOwn) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(RealDlsym(libc, "gnu_get_libc_version"), dlsym(libc, "gnu_get_libc_version"));
  EXPECT_EQ(RealDlsym(libc, "memprof_no_such_function"), nullptr);
  EXPECT_NE(dlerror(), nullptr);
}

class ModulesTest : public WithRing {
 protected:
  Modules modules_{&definitions_};
};

TEST_F(ModulesTest, EveryAddressOfCodeLiesInItsModule) {
  modules_.Refresh();
  const auto here = reinterpret_cast<std::uint64_t>(&RealDlsym);
  const auto libc = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  const std::uint32_t own = modules_.Find(here), other = modules_.Find(libc);
  EXPECT_NE(own, 0u);
  EXPECT_NE(other, 0u);
  EXPECT_NE(own, other);
  EXPECT_EQ(modules_.Find(0), 0u);
  EXPECT_EQ(modules_.Find(~std::uint64_t{0}), 0u);
  const testing::Log log = PublishedDefinitions(&ring_);
  EXPECT_TRUE(log.modules.at(own).path().ends_with("recorder_stacks_test"))
      << log.modules.at(own).path();
  EXPECT_EQ(log.modules.at(own).path()[0], '/');
  EXPECT_NE(log.modules.at(other).path().find("libc.so"), std::string::npos);
  for (const auto& [id, module] : log.modules) {
    EXPECT_LT(module.first_address(), module.end_address());
    EXPECT_EQ(modules_.Find(module.first_address()), id);
    EXPECT_NE(modules_.Find(module.end_address()), id) << "the end lies outside";
  }
}

TEST_F(ModulesTest, ARefreshWithoutChangePublishesNothing) {
  modules_.Refresh();
  const std::size_t count = PublishedDefinitions(&ring_).modules.size();
  for (int i = 0; i < 5; ++i) modules_.Refresh();
  EXPECT_EQ(PublishedDefinitions(&ring_).modules.size(), count);
}

TEST_F(ModulesTest, AddressesMeanSomethingElseOnceAUsedModuleHasGone) {
  modules_.Refresh();
  const std::uint32_t at_first = modules_.generation();
  for (const bool used : {false, true}) {
    void* plugin = dlopen(MEMPROF_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    const auto address = reinterpret_cast<std::uint64_t>(dlsym(plugin, "Chain"));
    modules_.Refresh();
    EXPECT_EQ(modules_.generation(), at_first) << "loading changes no meaning";
    if (used) {
      EXPECT_NE(modules_.Find(address), 0u);
    }
    dlclose(plugin);
    modules_.Refresh();
    EXPECT_EQ(modules_.generation() != at_first, used);
    if (used) {
      EXPECT_EQ(modules_.Find(address), 0u);
    }
  }
  // It came twice, and was two modules.
  std::set<std::uint32_t> ids;
  for (const auto& [id, module] : PublishedDefinitions(&ring_).modules)
    if (module.path().find("recorder_test_plugin") != std::string::npos) ids.insert(id);
  EXPECT_EQ(ids.size(), 2u);
}

TEST_F(ModulesTest, AStackThroughAnUnloadedModuleIsAnotherStack) {
  StackTable stacks(&definitions_, &modules_);
  ASSERT_TRUE(stacks.Create());
  auto cache = std::make_unique<StackCache>();
  void* plugin = dlopen(MEMPROF_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  void* frames[] = {static_cast<char*>(dlsym(plugin, "Chain")) + 1,
                    reinterpret_cast<void*>(&RealDlsym)};
  const std::uint32_t before = stacks.Intern(frames, 2, cache.get());
  EXPECT_EQ(stacks.Intern(frames, 2, cache.get()), before);
  dlclose(plugin);
  modules_.Refresh();
  const std::uint32_t after = stacks.Intern(frames, 2, cache.get());
  EXPECT_NE(after, before) << "not the cached one, nor the old node";
  const testing::Log log = PublishedDefinitions(&ring_);
  EXPECT_NE(log.Stack(before)[0].module, 0u);
  EXPECT_EQ(log.Stack(after)[0].module, 0u) << "nothing is mapped there any more";
}

}  // namespace
}  // namespace memprof::recorder
