// Which functions are plumbing, which cannot be a site: by name, and by the stacks that contain
// them.
#include <gtest/gtest.h>

#include "analysis/symbols/site_choice.h"
#include "tests/analysis/symbols/site_choice_fixture.h"

namespace memprof::analysis {
namespace {

using testing::Linear;
using testing::LoadLog;
using testing::LogBuilder;
using testing::NamedStack;
using testing::SiteOf;
using testing::SitesOf;

// The site of a stack that contains only plumbing.
TEST(SiteChoiceTest, OfPlumbingTheMostTellingFrameIsTheSite) {
  const auto native = [](const std::string& function, const std::string& module) {
    return SourceFrame{.function = function, .module = module, .symbolised = true};
  };
  const SourceFrame runtime = native("cudaMalloc_body", "libcudart.so.12"),
                    allocator = native("c10::cuda::Allocator::malloc", "libc10_cuda.so"),
                    kernel = native("at::native::mm", "libtorch_cuda.so"),
                    inner = native("at::_ops::mm::redispatch", "libtorch_cpu.so"),
                    op = native("at::_ops::matmul::call", "libtorch_cpu.so"),
                    unknown = {.function = "libx.so+0x10", .module = "libx.so"},
                    python = {.function = "Linear.forward",
                              .file = "/v/site-packages/torch/nn/linear.py",
                              .line = 9,
                              .module = "python",
                              .python = true,
                              .symbolised = true},
                    outer = native("start_thread", "libc.so.6");
  const auto session = LoadLog(LogBuilder());
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  const SiteChooser chooser(*session, symbols);
  using Frames = std::vector<SourceFrame>;
  const auto chosen = [&chooser](const Frames& frames) {
    return chooser.Choose(StackId(), frames).user;
  };
  EXPECT_EQ(chosen({runtime, allocator, inner, op, python, outer}), 4u);
  EXPECT_EQ(chosen({runtime, allocator, inner, op, outer}), 3u)
      << "the operator that was called first";
  EXPECT_EQ(chosen({runtime, unknown, allocator, kernel, outer}), 3u);
  EXPECT_EQ(chosen({runtime, allocator, outer}), 0u);
  EXPECT_EQ(chosen({unknown, native("f", "a.out"), outer}), 1u)
      << "other frames do not need this rule";
}

TEST(SiteChoiceTest, WhatAlmostAllPassThroughIsPlumbing) {
  const auto stacks = Linear({{"Tensor::Tensor", "Clone", "Keep", "Step", "main"},
                              {"Tensor::Tensor", "Forward", "Step", "main"},
                              {"Tensor::Tensor", "Backward", "Step", "main"},
                              {"Tensor::Tensor", "Clone", "Snapshot", "Step", "main"},
                              {"Tensor::Tensor", "Embed", "Step", "main"}});
  // Two of five stacks clone. That is more than a quarter, so cloning is not specific to either of
  // them.
  EXPECT_EQ(SiteOf(stacks, 0), "Keep");
  EXPECT_EQ(SiteOf(stacks, 1), "Forward");
  EXPECT_EQ(SiteOf(stacks, 3), "Snapshot");
}

// Of eight stacks two clone: rare enough to be a site if Clone were not a member of the tensor
// class.
TEST(SiteChoiceTest, MembersOfAClassThatMakesItselfAreItsDoors) {
  auto stacks = Linear({{"app::Tensor::Storage::Storage", "app::Tensor::Tensor",
                         "app::Tensor::Clone(app::Tensor const&) const", "Remember", "main"},
                        {"app::Tensor::Storage::Storage", "app::Tensor::Tensor",
                         "app::Tensor::Clone(app::Tensor const&) const", "Retain", "main"}});
  for (const char* other : {"A", "B", "C", "D", "E", "F"})
    stacks.push_back(
        {Layer::kLinear, {"app::Tensor::Storage::Storage", "app::Tensor::Tensor", other, "main"}});
  EXPECT_EQ(SiteOf(stacks, 0), "Remember");
  EXPECT_EQ(SiteOf(stacks, 1), "Retain");
  EXPECT_EQ(SiteOf(stacks, 2), "A");
  // A member of another class, or of a class of the same name in another namespace, is a separate
  // place.
  for (const char* place : {"app::Matrix::Clone", "lib::Tensor::Clone", "app::TensorClone"}) {
    stacks[0].functions[2] = place;
    EXPECT_EQ(SiteOf(stacks, 0), place);
  }
  // Only constructors have this effect, not other functions that many stacks contain.
  for (NamedStack& stack : stacks) stack.functions[1] = "app::Tensor::Make";
  stacks[0].functions[2] = "app::Tensor::Clone";
  stacks[1].functions[2] = "Copy";
  EXPECT_EQ(SiteOf(stacks, 0), "app::Tensor::Clone");
}

TEST(SiteChoiceTest, ADoorThatAllUseLeavesTheOthersDoors) {
  std::vector<NamedStack> stacks;
  for (const char* user : {"A", "B", "C", "D", "E", "F", "G", "H"})
    stacks.push_back({Layer::kLinear, {"T::T", "T::Make", user, "main"}});
  stacks[0].functions = {"T::T", "T::Make", "T::Copy", "A", "main"};
  EXPECT_EQ(SiteOf(stacks, 0), "A");
}

TEST(SiteChoiceTest, ADoorIsNamedWhereNothingElseIs) {
  std::vector<NamedStack> stacks;
  for (int i = 0; i < 8; ++i) stacks.push_back({Layer::kLinear, {"T::T", "main"}});
  for (std::size_t i = 0; i < 8; ++i)
    stacks[i].functions.insert(stacks[i].functions.begin() + 1,
                               i == 0 ? "T::Copy" : "f" + std::to_string(i));
  EXPECT_EQ(SiteOf(stacks, 0), "T::Copy");
}

TEST(SiteChoiceTest, ScopesAndConstructors) {
  EXPECT_EQ(ScopeOf("a::B::C"), "a::B");
  EXPECT_EQ(ScopeOf("a::B<x::y>::C<z::w>(q::r) const"), "a::B<x::y>");
  EXPECT_EQ(ScopeOf("a::(anonymous namespace)::B::C(int)"), "a::(anonymous namespace)::B");
  EXPECT_EQ(ScopeOf("main"), "");
  EXPECT_EQ(ScopeOf("f(a::b)"), "");
  EXPECT_EQ(ScopeOf(""), "");
  for (const char* function : {"T::T", "a::T::T(int)", "a::T<b::c>::T(T const&)", "T<int>::T<long>",
                               "a::(anonymous namespace)::T::T()"})
    EXPECT_TRUE(IsConstructor(function)) << function;
  for (const char* function :
       {"T", "T::~T", "T::U", "a::T::T::U", "T(a::T)", "", "::", "a::<b>::<c>"})
    EXPECT_FALSE(IsConstructor(function)) << function;
}

TEST(SiteChoiceTest, ExactlyAQuarterIsStillASite) {
  std::vector<std::vector<std::string>> stacks;
  for (const char* caller : {"a", "b", "c", "d", "e", "f", "g", "h"})
    stacks.push_back({caller, "main"});
  // A function with only one caller is not a wrapper.
  stacks[0] = {"Helper", "a", "main"};
  stacks[1] = {"Helper", "a", "b", "main"};
  EXPECT_EQ(SiteOf(Linear(stacks), 0), "Helper");  // 2 of 8
  stacks[2] = {"Helper", "a", "c", "main"};
  EXPECT_NE(SiteOf(Linear(stacks), 0), "Helper");  // 3 of 8
}

TEST(SiteChoiceTest, FewStacksHaveNoMajority) {
  EXPECT_EQ(SiteOf(Linear({{"Helper", "Train", "main"}}), 0), "Helper");
  // Two of its lines allocate, so it is not a wrapper, and there are too few stacks for a majority.
  const auto sites = SitesOf({{"main (a.cc:1)", "a (a.cc:2)", "Helper (a.cc:30)"},
                              {"main (a.cc:1)", "b (a.cc:3)", "Helper (a.cc:31)"},
                              {"main (a.cc:4)", "Helper (a.cc:31)"}});
  EXPECT_EQ(sites,
            (std::vector<std::string>{"Helper (a.cc:30)", "Helper (a.cc:31)", "Helper (a.cc:31)"}));
}

TEST(SiteChoiceTest, AFunctionThatOnlyWrapsAnAllocationIsPassedOverForItsCallers) {
  using Sites = std::vector<std::string>;
  // main and five buffers.
  std::vector<std::vector<std::string>> stacks;
  Sites expected;
  for (int line = 10; line < 15; ++line) {
    stacks.push_back({"main (a.cc:" + std::to_string(line) + ")", "gpu_get (util.h:5)"});
    expected.push_back("main (a.cc:" + std::to_string(line) + "), in gpu_get (util.h:5)");
  }
  EXPECT_EQ(SitesOf(stacks), expected);
  // The same for a wrapper of a wrapper, and for a template.
  for (auto& stack : stacks) stack.insert(stack.begin() + 1, "make<float> (util.h:9)");
  stacks[1][1] = "make<int> (util.h:9)";
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = stacks[i][0] + ", in make<" + (i == 1 ? "int" : "float") + "> (util.h:9)";
  EXPECT_EQ(SitesOf(stacks), expected);
  // Two callers are sufficient; one is not.
  EXPECT_EQ(SitesOf({{"main (a.cc:1)", "Load (a.cc:5)", "get (u.h:1)"},
                     {"main (a.cc:2)", "Run (a.cc:9)", "get (u.h:1)"}}),
            (Sites{"Load (a.cc:5), in get (u.h:1)", "Run (a.cc:9), in get (u.h:1)"}));
  EXPECT_EQ(SitesOf({{"main (a.cc:1)", "Load (a.cc:5)", "get (u.h:1)"}}), (Sites{"get (u.h:1)"}));
  // A function that calls itself, or has two allocating lines, is not a wrapper.
  EXPECT_EQ(
      SitesOf({{"main (a.cc:1)", "f (a.cc:3)"}, {"main (a.cc:1)", "f (a.cc:3)", "f (a.cc:3)"}}),
      (Sites{"f (a.cc:3)", "f (a.cc:3)"}));
  EXPECT_EQ(SitesOf({{"main (a.cc:1)", "two (a.cc:3)"}, {"main (a.cc:2)", "two (a.cc:4)"}}),
            (Sites{"two (a.cc:3)", "two (a.cc:4)"}));
  // A function between an allocating function and its two callers: the allocating function stays
  // the site.
  EXPECT_EQ(SitesOf({{"main (a.cc:1)", "Step (a.cc:7)", "Forward (a.cc:3)"},
                     {"main (a.cc:2)", "Step (a.cc:7)", "Forward (a.cc:3)"}}),
            (Sites{"Forward (a.cc:3)", "Forward (a.cc:3)"}));
  // A second attempt on another line is not a second place.
  stacks.clear();
  for (int line = 1; line <= 3; ++line)
    stacks.push_back({"main (a.cc:" + std::to_string(line) + ")", "get (u.h:5)"});
  stacks.push_back({"main (a.cc:3)", "get (u.h:8)"});
  EXPECT_EQ(SitesOf(stacks)[0], "main (a.cc:1), in get (u.h:5)");
  // In Python, the innermost line of the user's code is the useful one.
  EXPECT_EQ(SitesOf({{"main (t.py:1)", "f (t.py:9)"}, {"main (t.py:2)", "f (t.py:9)"}}),
            (Sites{"f (t.py:9)", "f (t.py:9)"}));
}

TEST(SiteChoiceTest, AWrapperOfOneLayerIsOneOfOthersToo) {
  std::vector<NamedStack> stacks;
  for (const char* caller : {"a", "b"})
    stacks.push_back({Layer::kBlock, {"Raw", "Tensor::Make", caller, "main"}});
  stacks.push_back({Layer::kBlock, {"Raw", "direct", "main"}});
  stacks.push_back({Layer::kPinned, {"Raw", "Tensor::Make", "c", "main"}});
  EXPECT_EQ(SiteOf(stacks, 3), "c");
}

TEST(PlumbingTest, ByNameModuleAndFile) {
  const auto plumbing = [](SourceFrame frame) {
    frame.symbolised = true;
    return IsPlumbing(frame);
  };
  for (const char* function :
       {"malloc", "CachingAllocator::Malloc", "std::make_shared<int>", "operator new[]",
        "c10::cuda::Raw", "at::empty", "cuMemAllocAsync", "cudaMallocAsync", "memprof_step",
        "my::Arena<std::pair<a::b, c>>::Allocate", "my::Allocator<int>::Refill",
        "my::MemoryPool::Refill", "pmr::memory_resource::anything"})
    EXPECT_TRUE(plumbing({.function = function})) << function;
  for (const char* function :
       {"main", "Train", "AllocateWorkspace", "Reallocate", "app::Allocations::Print", "standard",
        "Tensor<my::Allocator>::Tensor", "Allocator", "atlas::Build", "operator<", "a::operator->"})
    EXPECT_FALSE(plumbing({.function = function})) << function;
  for (const char* module : {"libcudart.so.12", "libc10_cuda.so", "libtorch_cpu.so",
                             "libstdc++.so.6", "libc.so.6", "libmemprof.so", "libnccl.so.2"})
    EXPECT_TRUE(plumbing({.function = "f", .module = module})) << module;
  EXPECT_FALSE(plumbing({.function = "f", .module = "libmodel.so"}));
  EXPECT_FALSE(plumbing({.function = "f", .module = "libcuda_like", .python = true}));
  EXPECT_TRUE(plumbing({.function = "f", .file = "/x/site-packages/torch/nn/linear.py"}));
  EXPECT_TRUE(plumbing({.function = "f", .file = "/usr/include/c++/12/bits/stl_vector.h"}));
  EXPECT_FALSE(plumbing({.function = "f", .file = "/home/me/torch/train.py"}));
  EXPECT_TRUE(IsPlumbing({.function = "a.out+0x12"}));  // without a name there is nothing to show
}

}  // namespace
}  // namespace memprof::analysis
