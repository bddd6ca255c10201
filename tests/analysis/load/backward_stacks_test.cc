// Stacks of autograd's threads get the frames of forward code; on hand-made tables.
#include "analysis/load/internal/backward_stacks.h"

#include <gtest/gtest.h>

#include "tests/analysis/load/backward_stacks_fixture.h"

namespace memprof::analysis {
namespace {

using testing::Process;

// Like the generated nodes of PyTorch 2.6.
TEST(BackwardStacksTest, ANodeThatAllocatesAtTwoPlacesIsOneRun) {
  Process process;
  process.Forward("train.py:1 a", "addmm");
  process.Forward("train.py:2 b", "addmm");
  for (int layer = 0; layer < 2; ++layer) {
    process.Backward("AddmmBackward0");
    process.Alloc({"!start_thread", "torch::autograd::Engine::thread_main",
                   "torch::autograd::Engine::evaluate_function",
                   "torch::autograd::generated::AddmmBackward0::apply@2",
                   "at::_ops::mm::redispatch", "!malloc"});
  }
  process.Attribute();
  for (const std::size_t event : {2u, 3u})
    EXPECT_EQ(process.MarkOf(event), "train.py:2 backward of b");
  for (const std::size_t event : {4u, 5u})
    EXPECT_EQ(process.MarkOf(event), "train.py:1 backward of a");
}

TEST(BackwardStacksTest, ANodesMemoryIsOfTheForwardLine) {
  Process process;
  process.Forward("train.py:27 Block.forward", "addmm");
  process.Forward("train.py:39 Model.forward", "gelu");
  process.Backward("GeluBackward0");
  process.Backward("AddmmBackward0");
  process.Attribute();
  EXPECT_EQ(process.StackOf(2),
            (std::vector<std::string>{"train.py:70 main", "train.py:39 backward of Model.forward",
                                      "!start_thread", "torch::autograd::Engine::thread_main",
                                      "torch::autograd::Engine::evaluate_function",
                                      "torch::autograd::generated::GeluBackward0::apply",
                                      "at::_ops::mm::redispatch", "!malloc"}));
  EXPECT_EQ(process.MarkOf(3), "train.py:27 backward of Block.forward");
  EXPECT_EQ(process.StackOf(0)[0], "train.py:70 main") << "Python's frames are unchanged";
  EXPECT_EQ(process.MarkOf(0), "");
}

TEST(BackwardStacksTest, GradientsAreStoredAfterTheNodeThatMadeThem) {
  Process process;
  process.Forward("train.py:27 Block.forward", "addmm");
  process.Backward("AddmmBackward0");
  process.Alloc({"!start_thread", "torch::autograd::Engine::evaluate_function",
                 "torch::autograd::AccumulateGrad::apply", "!malloc"});
  process.Alloc({"!start_thread", "torch::autograd::Engine::evaluate_function",
                 "torch::autograd::InputBuffer::add", "!malloc"});
  process.Attribute();
  EXPECT_EQ(process.MarkOf(2), "train.py:27 backward of Block.forward");
  EXPECT_EQ(process.MarkOf(3), "train.py:27 backward of Block.forward");
}

TEST(BackwardStacksTest, WhatIsNotKnownIsSaid) {
  Process process;
  process.Backward("MulBackward0");  // before any forward pass
  process.Forward("train.py:23 Block.forward", "addmm");
  process.Forward("train.py:27 Block.forward", "gelu");
  process.Backward("GeluBackward0");
  process.Backward("SplitBackward0");  // a view: its operator allocated nothing
  process.Backward("AddmmBackward0");
  process.Alloc({"!start_thread", "torch::autograd::Engine::evaluate_function", "!malloc"},
                Op::kAlloc, 1);  // another device
  process.Attribute();
  EXPECT_EQ(process.MarkOf(0), "backward: MulBackward0");
  EXPECT_EQ(process.StackOf(0)[0], "backward: MulBackward0");
  EXPECT_EQ(process.MarkOf(4), "train.py:70 backward within main");
  EXPECT_EQ(process.StackOf(4)[1], "!start_thread") << "main has no caller";
  EXPECT_EQ(process.MarkOf(6), "backward");
}

TEST(BackwardStacksTest, FailedRequestsToo) {
  Process process;
  process.Forward("train.py:27 Block.forward", "addmm");
  for (const Op op : {Op::kAllocFailed, Op::kFrameworkOom, Op::kFree}) {
    process.Alloc({"!start_thread", "torch::autograd::Engine::evaluate_function",
                   "torch::autograd::generated::AddmmBackward0::apply", "!malloc"},
                  op);
  }
  process.Attribute();
  EXPECT_EQ(process.MarkOf(1), "train.py:27 backward of Block.forward");
  EXPECT_EQ(process.MarkOf(2), "train.py:27 backward of Block.forward");
  EXPECT_EQ(process.MarkOf(3), "") << "a free has none";
}

// Where autograd calls Python, for a custom layer or for checkpointing, the stack already has a
// line.
TEST(BackwardStacksTest, PythonWithinANodeIsItsOwnSite) {
  Process process;
  process.Forward("train.py:27 Block.forward", "addmm");
  process.Alloc({"!start_thread", "torch::autograd::Engine::evaluate_function",
                 "torch::autograd::PyNode::apply", "train.py:50 Mine.backward",
                 "at::_ops::mul_Tensor::redispatch", "!malloc"});
  // A backward pass on the thread that requested it.
  process.Alloc({"train.py:74 main", "torch::autograd::Engine::evaluate_function",
                 "torch::autograd::generated::AddmmBackward0::apply", "!malloc"});
  process.Attribute();
  EXPECT_EQ(process.StackOf(1)[0], "!start_thread");
  EXPECT_EQ(process.StackOf(2)[0], "train.py:74 main");
  EXPECT_EQ(process.StackOf(2).size(), 4u);
}

// A pass within a pass, as in reentrant checkpointing: only Python frames of PyTorch are between
// the two.
TEST(BackwardStacksTest, APassWithinAPassIsOfWhatWasComputedAgain) {
  Process process;
  const std::vector<std::string> outer = {
      "!start_thread", "torch::autograd::Engine::evaluate_function",
      "torch::autograd::PyNode::apply", "/v/site-packages/torch/utils/checkpoint.py:9 backward"};
  std::vector<std::string> again = outer, inner = outer;
  for (const char* frame : {"train.py:27 Block.forward", "at::_ops::addmm::redispatch", "!malloc"})
    again.push_back(frame);
  for (const char* frame : {"torch::autograd::Engine::evaluate_function",
                            "torch::autograd::generated::AddmmBackward0::apply", "!malloc"})
    inner.push_back(frame);
  process.Alloc(again);
  process.Alloc(inner);
  process.Attribute();
  EXPECT_EQ(process.MarkOf(1), "train.py:27 backward of Block.forward");
  EXPECT_EQ(process.StackOf(0), again);
}

// A hook, or a recomputation by a checkpoint within a node, runs operators of its own. The
// following nodes continue the forward pass at the previous position.
TEST(BackwardStacksTest, WhatRunsBetweenNodesIsNotWhatTheyBelongTo) {
  Process process;
  process.Forward("train.py:27 Block.forward", "addmm");
  process.Forward("train.py:28 Block.forward", "addmm");
  process.Backward("AddmmBackward0");
  process.Alloc({"!start_thread", "torch::autograd::Engine::evaluate_function", "train.py:50 hook",
                 "at::_ops::addmm::redispatch", "!malloc"});
  process.Backward("AddmmBackward0");
  process.Attribute();
  EXPECT_EQ(process.MarkOf(2), "train.py:28 backward of Block.forward");
  EXPECT_EQ(process.MarkOf(4), "train.py:27 backward of Block.forward");
}

// The forward pass of a Function is a single node, whatever it runs; so is a reentrant checkpoint.
TEST(BackwardStacksTest, WhatAFunctionRunsMakesNoNodes) {
  Process process;
  process.Forward("train.py:27 Block.forward", "addmm");
  process.Alloc({"train.py:70 main", "train.py:28 Block.forward",
                 "(anonymous namespace)::THPFunction_apply", "train.py:40 Mine.forward",
                 "at::_ops::addmm::redispatch", "!malloc"});
  process.Backward("AddmmBackward0");
  process.Attribute();
  EXPECT_EQ(process.MarkOf(2), "train.py:27 backward of Block.forward");
}

// The backward function of a package's autograd.Function runs in autograd's thread, too.
TEST(BackwardStacksTest, ABackwardFunctionInPythonHasTheLineThatAppliedIt) {
  Process process;
  const std::string package = "/v/site-packages/fused/ops.py:";
  for (const char* line : {"train.py:28", "train.py:29"})
    process.Alloc({"train.py:70 main", std::string(line) + " Block.forward",
                   "(anonymous namespace)::THPFunction_apply", "!cfunction_call",
                   package + "4 Fused.forward", "at::_ops::mm::redispatch", "!malloc"});
  for (int run = 0; run < 2; ++run)
    for (const char* line : {"7", "8", "8"})  // two of one line are at one place
      process.Alloc({"!start_thread", "torch::autograd::Engine::evaluate_function",
                     "/v/site-packages/torch/autograd/function.py:311 BackwardCFunction.apply",
                     package + line + " Fused.backward", "at::_ops::mm::redispatch", "!malloc"});
  process.Attribute();
  EXPECT_EQ(process.MarkOf(2), "train.py:29 backward of Block.forward");
  EXPECT_EQ(process.MarkOf(3), "train.py:29 backward of Block.forward");
  EXPECT_EQ(process.MarkOf(7), "train.py:28 backward of Block.forward");
  EXPECT_EQ(process.StackOf(7).front(), "train.py:70 main");
}

TEST(BackwardStacksTest, WithoutPyTorchNothingIsLookedUp) {
  Process process("/lib/libnottorch.so");
  process.Forward("train.py:27 Block.forward", "addmm");
  process.Backward("AddmmBackward0");
  const std::size_t nodes = process.tables().stack_parent.size();
  process.Attribute();
  EXPECT_EQ(process.asked(), 0u);
  EXPECT_EQ(process.tables().stack_parent.size(), nodes);
}

TEST(BackwardStacksTest, ManyStepsTakeNoMoreNodesThanOne) {
  std::size_t nodes[2];
  for (const int steps : {1, 50}) {
    Process process;
    for (int step = 0; step < steps; ++step) {
      process.Forward("train.py:27 Block.forward", "addmm");
      process.Backward("AddmmBackward0");
      process.Backward("AddmmBackward0", "at::native::workspace");
    }
    process.Attribute();
    nodes[steps == 1 ? 0 : 1] = process.tables().stack_parent.size();
  }
  EXPECT_EQ(nodes[0], nodes[1]);
}

}  // namespace
}  // namespace memprof::analysis
