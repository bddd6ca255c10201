// The site that is chosen for a stack: case by case, and against a brute-force reference with plain
// loops.
#include <gtest/gtest.h>

#include "tests/analysis/symbols/site_choice_fixture.h"

namespace memprof::analysis {
namespace {

using testing::Frame;
using testing::Linear;
using testing::LoadLog;
using testing::LogBuilder;
using testing::NamedStack;
using testing::SessionOf;
using testing::SiteOf;
using testing::SitesOf;

// A script is one function; its lines are separate places.
TEST(SiteChoiceTest, LinesOfAPythonFunctionAreDistinguished) {
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

TEST(SiteChoiceTest, TheUsersLineComesBeforeThatOfAPackage) {
  using Sites = std::vector<std::string>;
  const std::string packages = "/v/lib/python3.11/site-packages/";
  EXPECT_EQ(SitesOf({{"<module> (/p/train.py:80)", "main (/p/train.py:51)",
                      "Trainer.train (" + packages + "transformers/trainer.py:9)",
                      "Model.forward (" + packages + "transformers/models/gpt2/modeling.py:123)",
                      "Linear.forward (" + packages + "torch/nn/linear.py:9)"}}),
            (Sites{"main (train.py:51), in Model.forward (transformers/…/modeling.py:123)"}));
  // A line of the user's code that a package called is further inside.
  EXPECT_EQ(SitesOf({{"main (/p/train.py:51)", "train (" + packages + "lightning/loop.py:9)",
                      "step (/p/model.py:7)"}}),
            (Sites{"step (model.py:7)"}));
  // Files that an installer put into bin/ are not the user's, nor is generated code.
  EXPECT_EQ(SitesOf({{"<module> (/v/bin/serve:8)", "run (" + packages + "serve/a.py:3)"}}),
            (Sites{"run (serve/a.py:3)"}));
  EXPECT_EQ(SitesOf({{"main (/p/train.py:5)", "call (/tmp/torchinductor_me/ab/cd.py:30)"}}),
            (Sites{"main (train.py:5), in call (cd.py:30)"}));
  const std::string hash = "cab" + std::string(49, 'x');
  EXPECT_EQ(SitesOf({{"main (/p/train.py:5)", "call (/data/cache/ab/" + hash + ".py:30)"}}),
            (Sites{"main (train.py:5), in call (" + hash + ".py:30)"}));
  EXPECT_EQ(SitesOf({{"main (C:\\p\\t.py:5)", "f (C:\\v\\Lib\\site-packages\\diffusers\\unet.py:3)",
                      "g (C:\\v\\lib\\site-packages\\torch\\nn\\x.py:4)"}}),
            (Sites{"main (t.py:5), in f (diffusers/unet.py:3)"}));
  EXPECT_EQ(SitesOf({{"main (C:\\p\\t.py:5)", "run (C:\\Python311\\Lib\\threading.py:9)"}}),
            (Sites{"main (t.py:5)"}));
}

// Snapshots of PyTorch with C++ stacks contain frames of the interpreter and of bindings.
TEST(SiteChoiceTest, InAPythonProgramFramesOfCAreNoSites) {
  using Sites = std::vector<std::string>;
  EXPECT_EQ(
      SitesOf({{"_start (?\?)", "main (train.py:51)", "_PyEval_EvalFrameDefault (ceval.c:5945)",
                "forward (net.py:9)", "type_call (typeobject.c:8588)",
                "dispatch_to (python_variable_methods.cpp:0)", "gather_with_cpp (x.cpp:3)"}}),
      (Sites{"forward (net.py:9)"}));
  // If PyTorch's own Python code is the only choice, it is the site.
  EXPECT_EQ(SitesOf({{"backward (/v/site-packages/torch/_tensor.py:3)", "call (call.c:305)"}}),
            (Sites{"backward (torch/_tensor.py:3)"}));
  // A C++ program has only these lines.
  EXPECT_EQ(SitesOf({{"main (main.cpp:5)", "Run (run.cpp:305)"}}), (Sites{"Run (run.cpp:305)"}));
}

// `python -c` of a child of multiprocessing is a line that its parent wrote.
TEST(SiteChoiceTest, TheProgramOfAChildIsNoPlace) {
  const std::string spawn = "spawn_main (/usr/lib/python3.11/multiprocessing/spawn.py:122)";
  EXPECT_EQ(SitesOf({{"<module> (<string>:1)", spawn,
                      "rebuild (/v/lib/python3.11/site-packages/torch/reductions.py:9)"},
                     {"<module> (<string>:1)", "f (<string>:1)"}}),
            (std::vector<std::string>{"rebuild (torch/reductions.py:9)", "f (<string>:1)"}));
}

// Also not in what is displayed of a stack.
TEST(SiteChoiceTest, TheCallerIsNoFrameOfTheInterpreter) {
  LogBuilder log;
  const int stack = log.Stack({"main (train.py:51)", "?? (libpython3.11.so.1.0)",
                               "_PyEval_EvalFrameDefault (ceval.c:5945)", "forward (net.py:9)"});
  log.Alloc(Layer::kBlock, 0x1000, 512, {.stack = stack});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  Symbols symbols(session);
  EXPECT_EQ(Symbols::Describe(symbols.CallerOf(session->allocations()[0].stack)),
            "main (train.py:51)");
}

TEST(SiteChoiceTest, FilesOfOneNameAreDistinguishedWhereNothingElseDoes) {
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
  // One path with different depths of recursion: no frame is specific.
  const auto stacks = Linear({{"f", "main"},
                              {"f", "f", "main"},
                              {"f", "g", "main"},
                              {"f", "g", "g", "main"},
                              {"f", "f", "f", "main"}});
  EXPECT_EQ(SiteOf(stacks, 2), "g");     // in 2 of 5 stacks
  EXPECT_EQ(SiteOf(stacks, 0), "main");  // f, which g also calls, is a wrapper
}

TEST(SiteChoiceTest, RecursionCountsOnce) {
  auto stacks = Linear({{"r", "r", "r", "r", "main"}});
  for (const char* caller : {"a", "b", "c"}) stacks.push_back({Layer::kLinear, {caller, "main"}});
  // in one stack of four, although it occurs in it several times
  EXPECT_EQ(SiteOf(stacks, 0), "r");
}

TEST(SiteChoiceTest, DriverMemoryBlocksAndTensorsVoteApart) {
  std::vector<NamedStack> stacks;
  for (const char* caller : {"a", "b", "c", "d"}) {
    stacks.push_back({Layer::kLinear, {"Grow", caller, "main"}});
    stacks.push_back({Layer::kBlock, {"Tensor::New", caller, caller, "main"}});
  }
  stacks.push_back({Layer::kBlock, {"Tensor::New", "Grow", "once", "main"}});
  // All driver requests go through Grow, but only one of the five stacks of blocks does.
  EXPECT_EQ(SiteOf(stacks, 0), "a");
  EXPECT_EQ(SiteOf(stacks, 8), "Grow");
  EXPECT_EQ(SiteOf(stacks, 1), "a");
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
  // If all frames are plumbing, all are shown.
  const auto bare = SessionOf(Linear({{"cudaMalloc", "std::invoke"}}));
  ASSERT_NE(bare, nullptr);
  EXPECT_EQ(Symbols(bare).SiteStack(bare->allocations()[0].stack).size(), 2u);
}

// Named frames without a file, below a Python program, are C++, as in imported stacks.
// As a call of PyTorch's own on a thread of the autograd engine.
TEST(SiteChoiceTest, WhereAllIsPlumbingTheAgentIsNoPlace) {
  EXPECT_EQ(SitesOf({{"hook (/lib/python3/site-packages/torch/distributed/fsdp/utils.py:7)",
                      "used (/opt/memprof/python/memprof/_agent/streams.py:40)"}}),
            std::vector<std::string>{"hook (torch/…/utils.py:7)"});
}

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
