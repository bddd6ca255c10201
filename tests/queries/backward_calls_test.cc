// Nodes of backward passes and the operators that made them: names, random networks whose answer is
// known, and what cannot be known.
#include "analysis/backward_calls.h"

#include <gtest/gtest.h>

#include <random>

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kNone = BackwardCalls::kNone;

TEST(BackwardNamesTest, Nodes) {
  EXPECT_EQ(BackwardNodeOf("torch::autograd::generated::AddmmBackward0::apply"), "AddmmBackward0");
  EXPECT_EQ(BackwardNodeOf("torch::autograd::AccumulateGrad::apply"), "AccumulateGrad");
  EXPECT_EQ(BackwardNodeOf("torch::autograd::CopySlices::apply"), "CopySlices");
  for (const char* other :
       {"torch::autograd::generated::AddmmBackward0_apply_functional",
        "torch::autograd::CppNode<mine::Layer>::apply", "torch::autograd::Node::operator()",
        "mine::generated::AddmmBackward0::apply", "torch::autograd::deep::er::apply", ""})
    EXPECT_EQ(BackwardNodeOf(other), "") << other;
}

TEST(BackwardNamesTest, Operators) {
  EXPECT_EQ(ForwardOperatorOf("at::_ops::add_Tensor::redispatch"), "add_Tensor");
  for (const char* other : {"at::_ops::add_Tensor::call", "at::native::add", "add::redispatch", ""})
    EXPECT_EQ(ForwardOperatorOf(other), "") << other;
}

TEST(BackwardNamesTest, WhichOperatorMakesWhichNode) {
  const std::pair<const char*, const char*> kMade[] = {
      {"addmm", "AddmmBackward0"},
      {"add_Tensor", "AddBackward0"},
      {"sum_dim_IntList", "SumBackward1"},
      {"_log_softmax", "LogSoftmaxBackward0"},
      {"nll_loss_forward", "NllLossBackward0"},
      {"native_layer_norm", "NativeLayerNormBackward0"},
      {"_scaled_dot_product_flash_attention", "ScaledDotProductFlashAttentionBackward0"},
      {"_to_copy", "ToCopyBackward0"},
      {"_cudnn_rnn", "CudnnRnnBackward0"},
      {"cudnn_batch_norm", "CudnnBatchNormBackward0"},
      {"gelu", "GeluBackward0"}};
  for (const auto& [op, node] : kMade) {
    for (const auto& [other, its_node] : kMade)
      EXPECT_EQ(MakesNode(op, its_node), std::string_view(op) == other) << op << " " << its_node;
  }
  EXPECT_FALSE(MakesNode("addmm", "AccumulateGrad"));
  EXPECT_FALSE(MakesNode("addmm", ""));
  EXPECT_FALSE(MakesNode("addmm", "Backward0"));
  EXPECT_FALSE(MakesNode("", "AddmmBackward0"));
  EXPECT_FALSE(MakesNode("_", "AddmmBackward0"));
}

// An operator of a random network, with what it and its node allocate.
struct Layer {
  int kind = 0;
  std::uint32_t line = 0;  // where it is called
  int forward = 1, backward = 1;
};

constexpr const char* kOps[] = {"addmm", "gelu", "native_layer_norm", "add_Tensor", "mul_Tensor"};
constexpr const char* kNodes[] = {"AddmmBackward0", "GeluBackward0", "NativeLayerNormBackward0",
                                  "AddBackward0", "MulBackward0"};

// The whole stack of the `nth` allocation of an operator at a line.
std::uint32_t ForwardStack(const Layer& layer, int nth) {
  return 100'000 + layer.line * 10 + static_cast<std::uint32_t>(nth);
}
std::uint32_t LineOf(std::uint32_t stack) { return (stack - 100'000) / 10; }

std::vector<Layer> RandomNetwork(std::mt19937& random) {
  std::vector<Layer> layers(5 + random() % 40);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    // Some lines are run several times, as those of a block of which there are many.
    layers[i] = {static_cast<int>(random() % 5), static_cast<std::uint32_t>(i), 0, 0};
    if (i > 5 && random() % 2 == 0) layers[i] = layers[random() % 5];
    layers[i].forward = 1 + static_cast<int>(random() % 3);
    layers[i].backward = static_cast<int>(random() % 4);
  }
  return layers;
}

// A node's allocations share the node's place, whatever line made it.
std::uint32_t BackwardOf(BackwardCalls& calls, const Layer& layer, int nth) {
  const auto kind = static_cast<std::uint32_t>(layer.kind);
  return calls.Backward(kNodes[layer.kind], 10 + kind,
                        {1000 + kind * 10 + static_cast<std::uint32_t>(nth)});
}

void RunForward(BackwardCalls& calls, const std::vector<Layer>& layers) {
  for (const Layer& layer : layers)
    for (int i = 0; i < layer.forward; ++i)
      calls.Forward(kOps[layer.kind], 20 + layer.line, {ForwardStack(layer, i)},
                    ForwardStack(layer, i));
}

TEST(BackwardCallsTest, FindsTheLinesOfRandomNetworks) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<Layer> layers = RandomNetwork(random);
    // Every node allocates something: nothing is between it and its operator's neighbours.
    for (Layer& layer : layers) layer.backward = std::max(layer.backward, 1);
    BackwardCalls calls;
    for (int step = 0; step < 3; ++step) {
      RunForward(calls, layers);
      for (std::size_t i = layers.size(); i-- > 0;) {
        const std::uint32_t run = BackwardOf(calls, layers[i], 0);
        for (int n = 1; n < layers[i].backward; ++n)
          EXPECT_EQ(BackwardOf(calls, layers[i], n), run) << "one run of the node";
        ASSERT_NE(calls.PartnerOf(run).stack, kNone) << seed;
        EXPECT_EQ(LineOf(calls.PartnerOf(run).stack), layers[i].line) << seed;
      }
    }
  }
}

// Nodes that allocate nothing are not seen; then the partner is the nearest operator of the kind,
// as a plain search from the end finds it.
TEST(BackwardCallsTest, GapsAreAnsweredAsByAPlainSearch) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Layer> layers = RandomNetwork(random);
    BackwardCalls calls;
    std::vector<const Layer*> all;
    for (int step = 0; step < 3; ++step) {
      RunForward(calls, layers);
      for (const Layer& layer : layers) all.push_back(&layer);
      std::size_t limit = all.size();
      for (std::size_t i = layers.size(); i-- > 0;) {
        if (layers[i].backward == 0) continue;
        std::size_t found = limit;
        while (found-- > 0 && all[found]->kind != layers[i].kind) {
        }
        ASSERT_LT(found, limit);
        limit = found;
        const std::uint32_t run = BackwardOf(calls, layers[i], 0);
        EXPECT_EQ(LineOf(calls.PartnerOf(run).stack), all[found]->line) << seed;
      }
    }
  }
}

TEST(BackwardCallsTest, UnknownNodesLieBetweenThoseAround) {
  BackwardCalls calls;
  calls.Forward("addmm", 1, {11}, 11);
  calls.Forward("gelu", 2, {12}, 12);
  const std::uint32_t first = calls.Backward("ViewBackward0", 91, {101});
  const std::uint32_t gelu = calls.Backward("GeluBackward0", 92, {102});
  const std::uint32_t between = calls.Backward("SplitBackward0", 93, {103});
  const std::uint32_t addmm = calls.Backward("AddmmBackward0", 94, {104});
  const std::uint32_t last = calls.Backward("AccumulateGrad", 95, {105});
  EXPECT_EQ(calls.PartnerOf(gelu).stack, 12u);
  EXPECT_EQ(calls.PartnerOf(addmm).stack, 11u);
  for (const std::uint32_t run : {first, between, last})
    EXPECT_EQ(calls.PartnerOf(run).stack, kNone);
  EXPECT_EQ(calls.PartnerOf(first).before, kNone);
  EXPECT_EQ(calls.PartnerOf(first).after, 12u);
  EXPECT_EQ(calls.PartnerOf(between).before, 12u);
  EXPECT_EQ(calls.PartnerOf(between).after, 11u);
  EXPECT_EQ(calls.PartnerOf(last).before, 11u);
  EXPECT_EQ(calls.PartnerOf(last).after, kNone);
  // Another pass begins behind the forward pass of its own.
  calls.Forward("gelu", 2, {12}, 12);
  EXPECT_EQ(calls.PartnerOf(calls.Backward("AddBackward0", 96, {106})).before, kNone);
}

// A discriminator is trained twice between a generator's forward pass and its backward pass.
TEST(BackwardCallsTest, FindsAForwardPassOfSomePassesAgo) {
  BackwardCalls calls;
  calls.Forward("gelu", 1, {11}, 11);
  for (int i = 0; i < 2; ++i) {
    calls.Forward("addmm", 2, {12}, 12);
    EXPECT_EQ(calls.PartnerOf(calls.Backward("AddmmBackward0", 91, {101})).stack, 12u);
  }
  calls.Forward("addmm", 3, {13}, 13);
  EXPECT_EQ(calls.PartnerOf(calls.Backward("AddmmBackward0", 91, {101})).stack, 13u);
  EXPECT_EQ(calls.PartnerOf(calls.Backward("GeluBackward0", 92, {102})).stack, 11u);
  for (int i = 0; i < 6; ++i) {
    calls.Forward("addmm", 2, {12}, 12);
    calls.Backward("AddmmBackward0", 91, {101});
  }
  EXPECT_EQ(calls.PartnerOf(calls.Backward("GeluBackward0", 92, {102})).stack, kNone) << "too old";
}

// Before a block there may be a refusal, another try, and a segment.
TEST(BackwardCallsTest, WhatComesBeforeABlockBelongsToIt) {
  BackwardCalls calls;
  calls.Forward("addmm", 1, {11, false}, 110);
  calls.Forward("addmm", 1, {11, false}, 111);
  calls.Forward("addmm", 1, {11}, 112);
  calls.Forward("addmm", 1, {11, false}, 113);  // the same line once more
  calls.Forward("addmm", 1, {11}, 114);
  const std::uint32_t last = calls.Backward("AddmmBackward0", 91, {101, false});
  EXPECT_EQ(calls.Backward("AddmmBackward0", 91, {101, false}), last);
  EXPECT_EQ(calls.Backward("AddmmBackward0", 91, {101}), last);
  EXPECT_EQ(calls.Backward("AddmmBackward0", 91, {102}), last);
  const std::uint32_t first = calls.Backward("AddmmBackward0", 91, {101, false});
  EXPECT_NE(first, last);
  EXPECT_EQ(calls.Backward("AddmmBackward0", 91, {101}), first);
  EXPECT_EQ(calls.PartnerOf(last).stack, 113u);
  EXPECT_EQ(calls.PartnerOf(first).stack, 110u);
}

TEST(BackwardCallsTest, AMillionCallsAreForgotten) {
  BackwardCalls calls;
  calls.Forward("gelu", 1, {11}, 11);
  for (std::uint32_t i = 0; i < 1'000'000; ++i) calls.Forward("addmm", 2, {12}, 12);
  EXPECT_EQ(calls.PartnerOf(calls.Backward("GeluBackward0", 92, {102})).stack, kNone);
  EXPECT_EQ(calls.PartnerOf(calls.Backward("AddmmBackward0", 91, {101})).stack, 12u);
}

}  // namespace
}  // namespace memprof::analysis
