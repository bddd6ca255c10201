// Displayed names.
#include <gtest/gtest.h>

#include "analysis/symbols/symbols.h"
#include "analysis/symbols/symbols_module.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

// The site of a stack with these frames, outermost first.
std::string SiteOf(const std::vector<std::string>& frames) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x1000, 64, {.stack = log.Stack(frames)});
  const auto session = LoadLog(log);
  return session ? Symbols::Describe(Symbols(session).Site(session->allocations()[0].stack)) : "";
}

TEST(SiteTest, SkipsAllocatorsContainersAndWrappers) {
  EXPECT_EQ(SiteOf({"main (a.cc:1)", "Train (b.cc:22)", "cudaMalloc"}), "Train (b.cc:22)");
  EXPECT_EQ(SiteOf({"main (a.cc:1)", "Cache::Insert (b.cc:7)", "std::vector<int>::push_back",
                    "app::CachingAllocator::Allocate (alloc.cc:9)"}),
            "Cache::Insert (b.cc:7)");
  EXPECT_EQ(SiteOf({"main (a.cc:1)", "AllocateWorkspace (b.cc:3)"}), "AllocateWorkspace (b.cc:3)");
  EXPECT_EQ(SiteOf({"step (train.py:5)", "forward (/usr/lib/python3/site-packages/torch/nn.py:1)"}),
            "step (train.py:5)");
  // no other frame: the innermost
  EXPECT_EQ(SiteOf({"cudaMalloc", "cuMemAlloc_v2"}), "cuMemAlloc_v2");
  EXPECT_EQ(SiteOf({}), "");
}

TEST(DescribeTest, SaysWhatIsKnown) {
  EXPECT_EQ(Symbols::Describe({.function = "f", .file = "/src/dir/a.cc", .line = 3}), "f (a.cc:3)");
  EXPECT_EQ(Symbols::Describe({.function = "f", .file = "/src/dir/a.cc"}), "f (a.cc)");
  EXPECT_EQ(Symbols::Describe({.function = "f", .module = "liba.so", .symbolised = true}),
            "f (liba.so)");
  EXPECT_EQ(Symbols::Describe({.function = "liba.so+0x10", .module = "liba.so"}), "liba.so+0x10");
}

TEST(ReadableNameTest, DropsParametersReturnTypesAndClones) {
  EXPECT_EQ(ReadableName("_ZN2ai5Layer7ForwardEi"), "ai::Layer::Forward");
  EXPECT_EQ(ReadableName("_ZNK2ai5Layer4SizeEv"), "ai::Layer::Size");
  EXPECT_EQ(ReadableName("_Z3addIiET_S0_S0_"), "add<int>");  // int add<int>(int, int)
  EXPECT_EQ(ReadableName("_ZN1AclEi"), "A::operator()");
  EXPECT_EQ(ReadableName("_ZnwmSt11align_val_t"), "operator new");
  EXPECT_EQ(ReadableName("_ZN1AcvPKcEv"), "A::operator char const*");
  EXPECT_EQ(ReadableName("_ZN1A3runEv.cold"), "A::run");
  EXPECT_EQ(ReadableName("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back");
  EXPECT_EQ(ReadableName("main"), "main");
  EXPECT_EQ(ReadableName("i"), "i");  // not the type int
  EXPECT_EQ(ReadableName("_Znot mangled"), "_Znot mangled");
}

}  // namespace
}  // namespace memprof::analysis
