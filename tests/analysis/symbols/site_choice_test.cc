// The place that a person would name: case by case, and against a brute-force reference that counts
// with plain loops.
#include "analysis/symbols/site_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

struct NamedStack {
  Layer layer;
  std::vector<std::string> functions;  // innermost first
};

std::string Frame(const std::string& function) { return function + " (a.cc:1)"; }

// A log with one allocation by each stack, in that order.
std::shared_ptr<const Session> SessionOf(const std::vector<NamedStack>& stacks) {
  LogBuilder log;
  std::uint64_t address = 0x1000;
  for (const NamedStack& stack : stacks) {
    std::vector<std::string> frames;
    for (const std::string& function : stack.functions)
      frames.insert(frames.begin(), Frame(function));
    log.Alloc(stack.layer, address += 0x1000, 64, {.stack = log.Stack(frames)});
  }
  return LoadLog(log);
}

// The site of the `i`-th stack.
std::string SiteOf(const std::vector<NamedStack>& stacks, std::size_t i) {
  const auto session = SessionOf(stacks);
  return session ? Symbols(session).Site(session->allocations()[i].stack).function : "no log";
}

std::string Told(const SourceFrame& frame) {
  return frame.function + " (" + frame.shown_file + ":" + std::to_string(frame.line) + ")";
}

// The sites of allocations with these stacks, outermost first, as they are told.
std::vector<std::string> SitesOf(const std::vector<std::vector<std::string>>& stacks) {
  LogBuilder log;
  std::uint64_t address = 0x1000;
  for (const auto& stack : stacks)
    log.Alloc(Layer::kLinear, address += 0x1000, 64, {.stack = log.Stack(stack)});
  const auto session = LoadLog(log);
  if (session == nullptr) return {};
  Symbols symbols(session);
  std::vector<std::string> sites;
  for (const AllocationRecord& record : session->records()) {
    const CallSite site = symbols.SiteOf(record.stack);
    sites.push_back(Told(site.user) + (site.in_library() ? ", in " + Told(site.library) : ""));
  }
  return sites;
}

std::vector<NamedStack> Linear(const std::vector<std::vector<std::string>>& stacks) {
  std::vector<NamedStack> linear;
  for (const auto& functions : stacks) linear.push_back({Layer::kLinear, functions});
  return linear;
}

// A script is one function, and its lines are places.
TEST(SiteChoiceTest, LinesOfAPythonFunctionAreToldApart) {
  LogBuilder log;
  std::uint64_t address = 0x1000;
  const auto alloc = [&](std::vector<std::string> frames) {
    log.Alloc(Layer::kLinear, address += 0x1000, 64, {.stack = log.Stack(frames)});
  };
  for (int line = 1; line <= 8; ++line)
    alloc({"<module> (train.py:" + std::to_string(line) + ")", "forward (net.py:5)",
           "Linear.forward (/x/lib/python3.11/site-packages/torch/nn/linear.py:9)"});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  for (std::size_t i = 0; i < 8; ++i) {
    const SourceFrame site = symbols.Site(session->allocations()[i].stack);
    EXPECT_EQ(site.function, "<module>");
    EXPECT_EQ(site.line, static_cast<int>(i) + 1);
  }
}

TEST(SiteChoiceTest, TheInterpreterAndItsLibraryAreNoPlace) {
  const auto native = [](const std::string& module) {
    return SourceFrame{
        .function = "f", .file = "f.c", .line = 1, .module = module, .symbolised = true};
  };
  for (const char* module : {"libpython3.11.so.1.0", "python3.12", "python", "libffi.so.8",
                             "_ctypes.cpython-311-x86_64-linux-gnu.so", "libtorch_python.so"})
    EXPECT_TRUE(IsPlumbing(native(module))) << module;
  for (const char* module : {"pythonic", "my_ops.cpython-311-x86_64-linux-gnu.so", "a.out"})
    EXPECT_FALSE(IsPlumbing(native(module))) << module;
  const auto python = [](const std::string& file) {
    return SourceFrame{.function = "f",
                       .file = file,
                       .line = 1,
                       .module = "python",
                       .python = true,
                       .symbolised = true};
  };
  for (const char* file : {"/usr/lib/python3.11/contextlib.py", "<frozen importlib._bootstrap>",
                           "/v/lib/python3.11/site-packages/torch/nn/modules/linear.py"})
    EXPECT_TRUE(IsPlumbing(python(file))) << file;
  for (const char* file : {"train.py", "<string>", "/v/lib/python3.11/site-packages/mine/net.py",
                           "/usr/lib/python3/dist-packages/mine.py"})
    EXPECT_FALSE(IsPlumbing(python(file))) << file;
}

// What is told where a stack has nothing but plumbing.
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
      << "what is no plumbing needs no such choice";
}

TEST(SiteChoiceTest, WhatAlmostAllPassThroughIsPlumbing) {
  const auto stacks = Linear({{"Tensor::Tensor", "Clone", "Keep", "Step", "main"},
                              {"Tensor::Tensor", "Forward", "Step", "main"},
                              {"Tensor::Tensor", "Backward", "Step", "main"},
                              {"Tensor::Tensor", "Clone", "Snapshot", "Step", "main"},
                              {"Tensor::Tensor", "Embed", "Step", "main"}});
  // Two of five clone: more than a quarter, so cloning is particular to neither of them.
  EXPECT_EQ(SiteOf(stacks, 0), "Keep");
  EXPECT_EQ(SiteOf(stacks, 1), "Forward");
  EXPECT_EQ(SiteOf(stacks, 3), "Snapshot");
}

// Eight stacks, of which two clone: seldom enough to be a site, were it not the tensor's own door.
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
  // A member of another class, or of the same name in another namespace, is a place of its own.
  for (const char* place : {"app::Matrix::Clone", "lib::Tensor::Clone", "app::TensorClone"}) {
    stacks[0].functions[2] = place;
    EXPECT_EQ(SiteOf(stacks, 0), place);
  }
  // What is no constructor opens no door, however often it is passed.
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
  // By one caller, so that it is no wrapper.
  stacks[0] = {"Helper", "a", "main"};
  stacks[1] = {"Helper", "a", "b", "main"};
  EXPECT_EQ(SiteOf(Linear(stacks), 0), "Helper");  // 2 of 8
  stacks[2] = {"Helper", "a", "c", "main"};
  EXPECT_NE(SiteOf(Linear(stacks), 0), "Helper");  // 3 of 8
}

TEST(SiteChoiceTest, FewStacksHaveNoMajority) {
  EXPECT_EQ(SiteOf(Linear({{"Helper", "Train", "main"}}), 0), "Helper");
  // Two lines of it allocate: no wrapper, and too few stacks for a majority.
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
  // The same of a wrapper of a wrapper, and of a template.
  for (auto& stack : stacks) stack.insert(stack.begin() + 1, "make<float> (util.h:9)");
  stacks[1][1] = "make<int> (util.h:9)";
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = stacks[i][0] + ", in make<" + (i == 1 ? "int" : "float") + "> (util.h:9)";
  EXPECT_EQ(SitesOf(stacks), expected);
  // Two callers are enough; one is not.
  EXPECT_EQ(SitesOf({{"main (a.cc:1)", "Load (a.cc:5)", "get (u.h:1)"},
                     {"main (a.cc:2)", "Run (a.cc:9)", "get (u.h:1)"}}),
            (Sites{"Load (a.cc:5), in get (u.h:1)", "Run (a.cc:9), in get (u.h:1)"}));
  EXPECT_EQ(SitesOf({{"main (a.cc:1)", "Load (a.cc:5)", "get (u.h:1)"}}), (Sites{"get (u.h:1)"}));
  // Neither is what calls itself, nor what has two lines of its own.
  EXPECT_EQ(
      SitesOf({{"main (a.cc:1)", "f (a.cc:3)"}, {"main (a.cc:1)", "f (a.cc:3)", "f (a.cc:3)"}}),
      (Sites{"f (a.cc:3)", "f (a.cc:3)"}));
  EXPECT_EQ(SitesOf({{"main (a.cc:1)", "two (a.cc:3)"}, {"main (a.cc:2)", "two (a.cc:4)"}}),
            (Sites{"two (a.cc:3)", "two (a.cc:4)"}));
  // A function between a worker and its two callers: the worker stays.
  EXPECT_EQ(SitesOf({{"main (a.cc:1)", "Step (a.cc:7)", "Forward (a.cc:3)"},
                     {"main (a.cc:2)", "Step (a.cc:7)", "Forward (a.cc:3)"}}),
            (Sites{"Forward (a.cc:3)", "Forward (a.cc:3)"}));
  // A second attempt by another line is no second place.
  stacks.clear();
  for (int line = 1; line <= 3; ++line)
    stacks.push_back({"main (a.cc:" + std::to_string(line) + ")", "get (u.h:5)"});
  stacks.push_back({"main (a.cc:3)", "get (u.h:8)"});
  EXPECT_EQ(SitesOf(stacks)[0], "main (a.cc:1), in get (u.h:5)");
  // In Python it is the user's innermost line that people look for.
  EXPECT_EQ(SitesOf({{"main (t.py:1)", "f (t.py:9)"}, {"main (t.py:2)", "f (t.py:9)"}}),
            (Sites{"f (t.py:9)", "f (t.py:9)"}));
}

TEST(SiteChoiceTest, TheUsersLineComesBeforeThatOfAPackage) {
  using Sites = std::vector<std::string>;
  const std::string packages = "/v/lib/python3.11/site-packages/";
  EXPECT_EQ(SitesOf({{"<module> (/p/train.py:80)", "main (/p/train.py:51)",
                      "Trainer.train (" + packages + "transformers/trainer.py:9)",
                      "Model.forward (" + packages + "transformers/models/gpt2/modeling.py:123)",
                      "Linear.forward (" + packages + "torch/nn/linear.py:9)"}}),
            (Sites{"main (train.py:51), in Model.forward (transformers/…/modeling.py:123)"}));
  // A line of the user's that a package called is nearer.
  EXPECT_EQ(SitesOf({{"main (/p/train.py:51)", "train (" + packages + "lightning/loop.py:9)",
                      "step (/p/model.py:7)"}}),
            (Sites{"step (model.py:7)"}));
  // What an installer put into bin/ is not the user's, nor is what a compiler generated.
  EXPECT_EQ(SitesOf({{"<module> (/v/bin/serve:8)", "run (" + packages + "serve/a.py:3)"}}),
            (Sites{"run (serve/a.py:3)"}));
  EXPECT_EQ(SitesOf({{"main (/p/train.py:5)", "call (/tmp/torchinductor_me/ab/cd.py:30)"}}),
            (Sites{"main (train.py:5), in call (cd.py:30)"}));
  EXPECT_EQ(SitesOf({{"main (C:\\p\\t.py:5)", "f (C:\\v\\Lib\\site-packages\\diffusers\\unet.py:3)",
                      "g (C:\\v\\lib\\site-packages\\torch\\nn\\x.py:4)"}}),
            (Sites{"main (t.py:5), in f (diffusers/unet.py:3)"}));
  EXPECT_EQ(SitesOf({{"main (C:\\p\\t.py:5)", "run (C:\\Python311\\Lib\\threading.py:9)"}}),
            (Sites{"main (t.py:5)"}));
}

// Snapshots that PyTorch made with C++ stacks name frames of the interpreter and of bindings.
TEST(SiteChoiceTest, InAPythonProgramFramesOfCAreNoSites) {
  using Sites = std::vector<std::string>;
  EXPECT_EQ(
      SitesOf({{"_start (?\?)", "main (train.py:51)", "_PyEval_EvalFrameDefault (ceval.c:5945)",
                "forward (net.py:9)", "type_call (typeobject.c:8588)",
                "dispatch_to (python_variable_methods.cpp:0)", "gather_with_cpp (x.cpp:3)"}}),
      (Sites{"forward (net.py:9)"}));
  // With nothing but PyTorch's own Python it is that.
  EXPECT_EQ(SitesOf({{"backward (/v/site-packages/torch/_tensor.py:3)", "call (call.c:305)"}}),
            (Sites{"backward (torch/_tensor.py:3)"}));
  // A program of C++ has no other lines.
  EXPECT_EQ(SitesOf({{"main (main.cpp:5)", "Run (run.cpp:305)"}}), (Sites{"Run (run.cpp:305)"}));
}

TEST(SiteChoiceTest, FilesOfOneNameAreToldApartWhereNothingElseDoes) {
  using Sites = std::vector<std::string>;
  EXPECT_EQ(
      SitesOf({{"main (/p/main.cc:1)", "f (/p/one/util.cc:10)"},
               {"main (/p/main.cc:1)", "f (/p/two/util.cc:10)"},
               {"main (/p/main.cc:1)", "g (/p/two/util.cc:10)"},
               {"main (/p/main.cc:1)", "g (/p/./two/../two/util.cc:10)"}}),
      (Sites{"f (one/util.cc:10)", "f (two/util.cc:10)", "g (util.cc:10)", "g (util.cc:10)"}));
  const std::string packages = "/v/lib/python3.11/site-packages/";
  EXPECT_EQ(SitesOf({{"f (" + packages + "hub/models/gpt2/net.py:10)"},
                     {"f (" + packages + "hub/models/bert/net.py:10)"}}),
            (Sites{"f (hub/…/gpt2/net.py:10)", "f (hub/…/bert/net.py:10)"}));
}

TEST(SiteChoiceTest, WhenAllIsSharedTheRarestIsNamed) {
  // One path, told apart only by how deep the recursion went: nothing is particular.
  const auto stacks = Linear({{"f", "main"},
                              {"f", "f", "main"},
                              {"f", "g", "main"},
                              {"f", "g", "g", "main"},
                              {"f", "f", "f", "main"}});
  EXPECT_EQ(SiteOf(stacks, 2), "g");     // in 2 of 5
  EXPECT_EQ(SiteOf(stacks, 0), "main");  // f, which g calls as well, is a wrapper
}

TEST(SiteChoiceTest, RecursionCountsOnce) {
  auto stacks = Linear({{"r", "r", "r", "r", "main"}});
  for (const char* caller : {"a", "b", "c"}) stacks.push_back({Layer::kLinear, {caller, "main"}});
  EXPECT_EQ(SiteOf(stacks, 0), "r");  // one stack of four, however often it is on it
}

TEST(SiteChoiceTest, DriverMemoryBlocksAndTensorsVoteApart) {
  std::vector<NamedStack> stacks;
  for (const char* caller : {"a", "b", "c", "d"}) {
    stacks.push_back({Layer::kLinear, {"Grow", caller, "main"}});
    stacks.push_back({Layer::kBlock, {"Tensor::New", caller, caller, "main"}});
  }
  stacks.push_back({Layer::kBlock, {"Tensor::New", "Grow", "once", "main"}});
  // All that asks the driver goes through Grow, but only one of the five stacks of blocks does.
  EXPECT_EQ(SiteOf(stacks, 0), "a");
  EXPECT_EQ(SiteOf(stacks, 8), "Grow");
  EXPECT_EQ(SiteOf(stacks, 1), "a");
}

TEST(SiteChoiceTest, AWrapperOfOneLayerIsOneOfOthersToo) {
  std::vector<NamedStack> stacks;
  for (const char* caller : {"a", "b"})
    stacks.push_back({Layer::kBlock, {"Raw", "Tensor::Make", caller, "main"}});
  stacks.push_back({Layer::kBlock, {"Raw", "direct", "main"}});
  stacks.push_back({Layer::kPinned, {"Raw", "Tensor::Make", "c", "main"}});
  EXPECT_EQ(SiteOf(stacks, 3), "c");
}

TEST(SiteChoiceTest, AStackOfNoAllocationIsJudgedByNamesAlone) {
  LogBuilder log;
  for (const char* caller : {"a", "b", "c", "d"})
    log.Alloc(Layer::kLinear, 0x1000u * static_cast<unsigned char>(*caller), 64,
              {.stack = log.Stack({"main (a.cc:1)", Frame(caller), "Helper (a.cc:1)"})});
  log.AllocFailed(Layer::kLinear, 64,
                  {.stack = log.Stack({"main (a.cc:1)", "e (a.cc:1)", "Helper (a.cc:1)"})});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  EXPECT_EQ(symbols.Site(session->events().stack(0)).function, "a");
  EXPECT_EQ(symbols.Site(session->events().stack(4)).function, "e") << "Helper is a wrapper";
  EXPECT_EQ(symbols.Site(StackId()).function, "");
}

TEST(SiteChoiceTest, TheStoryBeginsAtTheSiteAndLeavesOutPlumbing) {
  const auto session = SessionOf(Linear(
      {{"cudaMalloc", "Pool::Allocate", "Keep", "std::function<void ()>::operator()", "main"}}));
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  std::vector<std::string> told;
  for (const SourceFrame& frame : symbols.SiteStack(session->allocations()[0].stack))
    told.push_back(frame.function);
  EXPECT_EQ(told, (std::vector<std::string>{"Keep", "main"}));
  // Where there is nothing but plumbing, all of it is told.
  const auto bare = SessionOf(Linear({{"cudaMalloc", "std::invoke"}}));
  ASSERT_NE(bare, nullptr);
  EXPECT_EQ(Symbols(bare).SiteStack(bare->allocations()[0].stack).size(), 2u);
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
  EXPECT_TRUE(IsPlumbing({.function = "a.out+0x12"}));  // without a name there is nothing to name
}

// ---------------------------------------------------------------------------------------------
// The reference: the rule of the header, said with sets and loops over names.

bool ReferencePlumbing(const std::string& function) { return function[0] == '!'; }
// What `!` stands for in the log.
std::string InLog(const std::string& function) {
  return ReferencePlumbing(function) ? "std::plumbing" + function.substr(1) : function;
}

char ReferenceGroup(Layer layer) {
  return layer == Layer::kBlock ? 'b' : layer == Layer::kTensor ? 't' : 'd';
}

// "K3" of "K3::Make": classes of the reference are one scope deep.
std::string ReferenceClass(const std::string& function) {
  const std::size_t scope = function.find("::");
  return scope == std::string::npos ? "" : function.substr(0, scope);
}

std::vector<std::string> ReferencePlaces(const NamedStack& stack) {
  std::vector<std::string> places;
  for (const std::string& function : stack.functions)
    if (!ReferencePlumbing(function)) places.push_back(function);
  return places;
}

// How many places of `asked` are wrappers. All functions of these logs have one line.
std::size_t ReferenceWrappers(const std::vector<NamedStack>& stacks, const NamedStack& asked) {
  const std::vector<std::string> places = ReferencePlaces(asked);
  std::size_t passed = 0;
  for (std::size_t i = 0; i + 1 < places.size() && i < 6 && i <= passed + 2; ++i) {
    std::set<std::string> callers;
    for (const NamedStack& stack : stacks) {
      const std::vector<std::string> others = ReferencePlaces(stack);
      if (others.size() > i + 1 &&
          std::equal(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     others.begin()) &&
          others[i + 1] != places[i])
        callers.insert(others[i + 1]);
    }
    if (callers.size() >= (i == passed ? 2u : 3u)) passed = i + 1;
  }
  return passed;
}

std::string ReferenceSite(const std::vector<NamedStack>& stacks, const NamedStack& asked,
                          bool with_doors = true) {
  // Distinct stacks of the group of `asked`; a stack belongs to the group of its first allocation.
  std::set<std::vector<std::string>> seen, group;
  for (const NamedStack& stack : stacks)
    if (seen.insert(stack.functions).second &&
        ReferenceGroup(stack.layer) == ReferenceGroup(asked.layer))
      group.insert(stack.functions);
  const auto passing = [&group](const std::string& function) {
    return std::count_if(group.begin(), group.end(), [&function](const auto& functions) {
      return std::find(functions.begin(), functions.end(), function) != functions.end();
    });
  };
  std::string rarest, open;
  std::size_t wrappers = ReferenceWrappers(stacks, asked);
  for (const std::string& function : asked.functions) {
    if (ReferencePlumbing(function)) continue;
    if (wrappers > 0) {
      --wrappers;
      if (function == ReferenceClass(function) + "::" + ReferenceClass(function))
        open = ReferenceClass(function);
      continue;
    }
    const bool rare =
        4.0 * static_cast<double>(passing(function)) <= static_cast<double>(group.size());
    const std::string scope = ReferenceClass(function);
    const bool door = with_doors && !scope.empty() && scope == open;
    if (group.size() < 4 || (rare && !door)) return function;
    if (!rare && !door) open = function == scope + "::" + scope ? scope : "";
    if (rarest.empty() || passing(function) < passing(rarest)) rarest = function;
  }
  return rarest.empty() ? asked.functions.front() : rarest;
}

// Innermost first; often a constructor and another member of its class come first.
template <typename Draw>
std::vector<std::string> RandomFunctions(Draw draw, int names) {
  std::vector<std::string> functions;
  const std::string scope = draw(4) == 0 ? "K1" : "K0";
  if (draw(2) == 0) functions.push_back(scope + "::" + scope);
  for (int depth = 1 + draw(5); depth > 0; --depth) {
    const std::string name = std::to_string(draw(names));
    const int kind = draw(6);
    functions.push_back(kind == 0 ? "!" + name : kind < 3 ? scope + "::m" + name : "f" + name);
  }
  return functions;
}

TEST(SiteChoiceTest, EqualsItsBruteForceTwin) {
  std::mt19937 random(77);
  const auto draw = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  int innermost = 0, shared = 0, plumbing = 0, doors = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<NamedStack> stacks, in_log;
    const int count = 1 + draw(25), names = 1 + draw(12);
    for (int i = 0; i < count; ++i) {
      constexpr Layer kLayers[] = {Layer::kLinear, Layer::kBlock, Layer::kTensor, Layer::kManaged};
      NamedStack stack{kLayers[draw(4)], {}};
      stack.functions = RandomFunctions(draw, names);
      // The same stack may allocate in two layers; its first allocation says where it votes.
      const auto same = std::find_if(stacks.begin(), stacks.end(), [&stack](const NamedStack& s) {
        return s.functions == stack.functions;
      });
      if (same != stacks.end()) stack.layer = same->layer;
      stacks.push_back(stack);
      for (std::string& function : stack.functions) function = InLog(function);
      in_log.push_back(stack);
    }
    const auto session = SessionOf(in_log);
    ASSERT_NE(session, nullptr);
    Symbols symbols(session);
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      const std::string expected = ReferenceSite(stacks, stacks[i]);
      ASSERT_EQ(symbols.Site(session->allocations()[i].stack).function, InLog(expected))
          << "round " << round << " stack " << i;
      innermost += expected == stacks[i].functions.front();
      shared += expected != stacks[i].functions.front();
      plumbing += ReferencePlumbing(expected);
      doors += expected != ReferenceSite(stacks, stacks[i], false);
    }
  }
  // The traces reach every way out of the rule.
  EXPECT_GT(innermost, 100);
  EXPECT_GT(shared, 100);
  EXPECT_GT(plumbing, 5);
  EXPECT_GT(doors, 20);
}

// Named frames without a file are C++ below a Python program, as imported stacks have them.
TEST(SiteChoiceTest, FramesWithoutAFileAreNoSites) {
  LogBuilder log;
  const int stack =
      log.Stack({"train (train.py:3)", "_PyEval_EvalFrameDefault (?\?)", "at_empty (?\?)"});
  log.Alloc(Layer::kBlock, 0x1000, 512, {.stack = stack});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  EXPECT_EQ(Symbols::Describe(symbols.Site(session->allocations()[0].stack)), "train (train.py:3)");
}

}  // namespace
}  // namespace memprof::analysis
