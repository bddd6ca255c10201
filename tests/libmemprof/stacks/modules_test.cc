// The table of modules, and stacks of a module that is unloaded.
#include "libmemprof/src/stacks/modules.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <set>

#include "libmemprof/src/loader/real_dlsym.h"
#include "libmemprof/src/stacks/stack_table.h"
#include "tests/libmemprof/log/with_ring.h"
#include "tests/support/paths.h"

namespace memprof::recorder {
namespace {

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
    EXPECT_NE(modules_.Find(module.end_address()), id) << "the end is not inside";
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
    void* plugin = dlopen(paths::kPlugin, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    const auto address = reinterpret_cast<std::uint64_t>(dlsym(plugin, "Chain"));
    modules_.Refresh();
    EXPECT_EQ(modules_.generation(), at_first) << "loading does not invalidate stacks";
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
  // It was loaded twice, and recorded as two modules.
  std::set<std::uint32_t> ids;
  for (const auto& [id, module] : PublishedDefinitions(&ring_).modules)
    if (module.path().find("recorder_test_plugin") != std::string::npos) ids.insert(id);
  EXPECT_EQ(ids.size(), 2u);
}

TEST_F(ModulesTest, AStackThroughAnUnloadedModuleIsAnotherStack) {
  StackTable stacks(&definitions_, &modules_);
  ASSERT_TRUE(stacks.Create());
  auto cache = std::make_unique<StackCache>();
  void* plugin = dlopen(paths::kPlugin, RTLD_NOW | RTLD_LOCAL);
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
