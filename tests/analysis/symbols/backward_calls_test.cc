// Nodes of backward passes and the operators that created them: names, random networks with known
// results, and cases that cannot be decided.
#include "analysis/symbols/backward_calls.h"

#include <gtest/gtest.h>

#include <random>

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kNone = BackwardCalls::kNone;

// An operator of a random network, with the allocations of the operator and of its node.
struct NetworkLayer {
  int kind = 0;
  std::uint32_t line = 0;  // the calling line
  int forward = 1, backward = 1;
};

constexpr const char* kOps[] = {"addmm", "gelu", "native_layer_norm", "add_Tensor", "mul_Tensor"};
constexpr const char* kNodes[] = {"AddmmBackward0", "GeluBackward0", "NativeLayerNormBackward0",
                                  "AddBackward0", "MulBackward0"};

// The full stack of the `nth` allocation of an operator at a line.
std::uint32_t ForwardStack(const NetworkLayer& layer, int nth) {
  return 100'000 + layer.line * 10 + static_cast<std::uint32_t>(nth);
}
std::uint32_t LineOf(std::uint32_t stack) { return (stack - 100'000) / 10; }

std::vector<NetworkLayer> RandomNetwork(std::mt19937& random) {
  std::vector<NetworkLayer> layers(5 + random() % 40);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    // Some lines run several times, as in a repeated block.
    layers[i] = {static_cast<int>(random() % 5), static_cast<std::uint32_t>(i), 0, 0};
    if (i > 5 && random() % 2 == 0) layers[i] = layers[random() % 5];
    layers[i].forward = 1 + static_cast<int>(random() % 3);
    layers[i].backward = static_cast<int>(random() % 4);
  }
  return layers;
}

// Allocations of a node have the place of the node, whatever line created it.
std::uint32_t BackwardOf(BackwardCalls& calls, const NetworkLayer& layer, int nth) {
  const auto kind = static_cast<std::uint32_t>(layer.kind);
  return calls.Backward(kNodes[layer.kind], 10 + kind,
                        {1000 + kind * 10 + static_cast<std::uint32_t>(nth)});
}

void RunForward(BackwardCalls& calls, const std::vector<NetworkLayer>& layers) {
  for (const NetworkLayer& layer : layers)
    for (int i = 0; i < layer.forward; ++i)
      calls.Forward(kOps[layer.kind], 20 + layer.line, {ForwardStack(layer, i)},
                    ForwardStack(layer, i));
}

TEST(BackwardCallsTest, FindsTheLinesOfRandomNetworks) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<NetworkLayer> layers = RandomNetwork(random);
    // Every node allocates, so the nodes of neighbouring operators are neighbours.
    for (NetworkLayer& layer : layers) layer.backward = std::max(layer.backward, 1);
    BackwardCalls calls;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> lines;  // of runs
    for (int step = 0; step < 3; ++step) {
      RunForward(calls, layers);
      for (std::size_t i = layers.size(); i-- > 0;) {
        const std::uint32_t run = BackwardOf(calls, layers[i], 0);
        for (int n = 1; n < layers[i].backward; ++n)
          EXPECT_EQ(BackwardOf(calls, layers[i], n), run) << "one run of the node";
        lines.emplace_back(run, layers[i].line);
      }
    }
    calls.Finish();
    for (const auto& [run, line] : lines) {
      ASSERT_NE(calls.PartnerOf(run).stack, kNone) << seed;
      EXPECT_EQ(LineOf(calls.PartnerOf(run).stack), line) << seed;
    }
  }
}

// If every node can have a partner, the partner is the nearest operator of its kind, found by a
// plain search from the end.
TEST(BackwardCallsTest, GapsAreAnsweredAsByAPlainSearch) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const std::vector<NetworkLayer> layers = RandomNetwork(random);
    BackwardCalls calls;
    std::vector<const NetworkLayer*> all;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> lines;  // of runs
    for (int step = 0; step < 3; ++step) {
      RunForward(calls, layers);
      for (const NetworkLayer& layer : layers) all.push_back(&layer);
      std::size_t limit = all.size();
      for (std::size_t i = layers.size(); i-- > 0;) {
        if (layers[i].backward == 0) continue;
        std::size_t found = limit;
        while (found-- > 0 && all[found]->kind != layers[i].kind) {
        }
        ASSERT_LT(found, limit);
        limit = found;
        lines.emplace_back(BackwardOf(calls, layers[i], 0), all[found]->line);
      }
    }
    calls.Finish();
    for (const auto& [run, line] : lines)
      EXPECT_EQ(LineOf(calls.PartnerOf(run).stack), line) << seed;
  }
}

// "x *= 2" has a node but allocates nothing. The nearest `mul` may belong to a much earlier layer;
// choosing it would lose all operators between for the following nodes.
TEST(BackwardCallsTest, AnOperatorInPlaceMisleadsNoOtherNode) {
  BackwardCalls calls;
  calls.Forward("mul_Tensor", 1, {11}, 11);
  calls.Forward("addmm", 2, {12}, 12);
  calls.Forward("gelu", 3, {13}, 13);
  const std::uint32_t in_place = calls.Backward("MulBackward0", 90, {100});
  const std::uint32_t gelu = calls.Backward("GeluBackward0", 91, {101});
  const std::uint32_t addmm = calls.Backward("AddmmBackward0", 92, {102});
  const std::uint32_t mul = calls.Backward("MulBackward0", 90, {100});
  calls.Finish();
  EXPECT_EQ(calls.PartnerOf(in_place).stack, kNone);
  EXPECT_EQ(calls.PartnerOf(in_place).after, 13u);
  EXPECT_EQ(calls.PartnerOf(gelu).stack, 13u);
  EXPECT_EQ(calls.PartnerOf(addmm).stack, 12u);
  EXPECT_EQ(calls.PartnerOf(mul).stack, 11u);
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
  // Another pass starts after its own forward pass.
  calls.Forward("gelu", 2, {12}, 12);
  const std::uint32_t other = calls.Backward("AddBackward0", 96, {106});
  calls.Finish();
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
  EXPECT_EQ(calls.PartnerOf(other).before, kNone);
}

// A discriminator is trained twice between a generator's forward pass and backward pass, which
// passes through the discriminator first.
TEST(BackwardCallsTest, FindsAForwardPassOfSomePassesAgo) {
  BackwardCalls calls;
  // Both have the same operators, and the generator has one more.
  const auto forward = [&calls](std::uint32_t first, int count) {
    for (int i = 0; i < count; ++i) {
      const std::uint32_t stack = first + static_cast<std::uint32_t>(i);
      calls.Forward(kOps[i], stack, {stack}, stack);
    }
  };
  std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted;
  const auto backward = [&](std::uint32_t first, int count) {
    for (int i = count; i-- > 0;) {
      const auto kind = static_cast<std::uint32_t>(i);
      wanted.emplace_back(calls.Backward(kNodes[i], 90 + kind, {190 + kind}),
                          first == kNone ? kNone : first + kind);
    }
  };
  forward(10, 4);
  for (int i = 0; i < 2; ++i) {
    forward(20, 3);
    backward(20, 3);
  }
  forward(30, 3);
  backward(30, 3);
  backward(10, 4);
  for (int i = 0; i < 6; ++i) {
    forward(20, 1);
    backward(20, 1);
  }
  forward(40, 1);
  calls.Backward(kNodes[0], 90, {190});
  backward(kNone, 4);  // too old
  calls.Finish();
  for (const auto& [run, stack] : wanted) EXPECT_EQ(calls.PartnerOf(run).stack, stack) << run;
}

// Two losses are computed, and their backward passes run in the same order. Some graphs are used
// twice (retain_graph).
TEST(BackwardCallsTest, PassesOfTwoGraphsThatWereMadeBefore) {
  BackwardCalls calls;
  const std::pair<const char*, const char*> kMade[] = {
      {"addmm", "AddmmBackward0"}, {"gelu", "GeluBackward0"}, {"sin", "SinBackward0"},
      {"cat", "CatBackward0"},     {"tanh", "TanhBackward0"}, {"cos", "CosBackward0"}};
  std::uint32_t stack = 10;
  for (const auto& [op, node] : kMade) {
    calls.Forward(op, stack, {stack}, stack);
    ++stack;
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> wanted;
  for (int i = 0; i < 2; ++i) {
    for (const int at : {2, 1, 0, 5, 4, 3})
      wanted.emplace_back(calls.Backward(kMade[at].second, 90, {100}), 10 + at);
  }
  calls.Finish();
  for (const auto& [run, of] : wanted) EXPECT_EQ(calls.PartnerOf(run).stack, of) << run;
}

// A failed request, a second attempt and a new segment may precede a block.
TEST(BackwardCallsTest, WhatComesBeforeABlockBelongsToIt) {
  BackwardCalls calls;
  calls.Forward("addmm", 1, {11, false}, 110);
  calls.Forward("addmm", 1, {11, false}, 111);
  calls.Forward("addmm", 1, {11}, 112);
  calls.Forward("addmm", 1, {11, false}, 113);  // the same line again
  calls.Forward("addmm", 1, {11}, 114);
  const std::uint32_t last = calls.Backward("AddmmBackward0", 91, {101, false});
  EXPECT_EQ(calls.Backward("AddmmBackward0", 91, {101, false}), last);
  EXPECT_EQ(calls.Backward("AddmmBackward0", 91, {101}), last);
  EXPECT_EQ(calls.Backward("AddmmBackward0", 91, {102}), last);
  const std::uint32_t first = calls.Backward("AddmmBackward0", 91, {101, false});
  EXPECT_NE(first, last);
  EXPECT_EQ(calls.Backward("AddmmBackward0", 91, {101}), first);
  calls.Finish();
  EXPECT_EQ(calls.PartnerOf(last).stack, 113u);
  EXPECT_EQ(calls.PartnerOf(first).stack, 110u);
}

TEST(BackwardCallsTest, AMillionCallsAreForgotten) {
  BackwardCalls calls;
  calls.Forward("gelu", 1, {11}, 11);
  for (std::uint32_t i = 0; i < 1'000'000; ++i) calls.Forward("addmm", 2, {12}, 12);
  const std::uint32_t first = calls.Backward("GeluBackward0", 92, {102});
  const std::uint32_t last = calls.Backward("AddmmBackward0", 91, {101});
  calls.Finish();
  EXPECT_EQ(calls.PartnerOf(first).stack, kNone);
  EXPECT_EQ(calls.PartnerOf(last).stack, 12u);
}

}  // namespace
}  // namespace memprof::analysis
