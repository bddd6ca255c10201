// The model's memory and parameters: what a pass keeps and frees, and the initial weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/demo_trainer/ops_fixture.h"

namespace memprof::demo {
namespace {

// One forward and backward pass in a mode.
struct Pass {
  std::vector<float> gradients;  // of all parameters, one after the other
  uint64_t peak = 0;             // bytes of blocks
  uint64_t allocations = 0;
};

Pass RunPass(const ModelConfig& config) {
  const auto device = MakeDevice();
  Gpt model(*device, config, 3);
  EnlargeWeights(model);
  ComputeGradients(model, SmallBatch(*device, config, 8));
  Pass pass;
  for (const Parameter* parameter : model.parameters()) {
    const std::vector<float> values = Read(parameter->grad);
    pass.gradients.insert(pass.gradients.end(), values.begin(), values.end());
  }
  pass.peak = device->allocator().stats().allocated.peak;
  pass.allocations = device->allocator().stats().allocations;
  return pass;
}

// Deep enough for activations to need more memory than a single block.
ModelConfig DeepConfig(DType dtype, bool inplace, bool checkpointing) {
  ModelConfig config;
  config.layers = 5;
  config.dim = 24;
  config.heads = 2;
  config.context = 24;
  config.dtype = dtype;
  config.inplace = inplace;
  config.checkpointing = checkpointing;
  return config;
}

class ModelMemoryTest : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(DTypes, ModelMemoryTest,
                         testing::Values(DType::kFloat32, DType::kBFloat16), DTypeOf);

TEST_P(ModelMemoryTest, SavingMemoryChangesNoBitAndSavesMemory) {
  const Pass plain = RunPass(DeepConfig(GetParam(), false, false));
  const Pass inplace = RunPass(DeepConfig(GetParam(), true, false));
  const Pass checkpointed = RunPass(DeepConfig(GetParam(), false, true));
  const Pass both = RunPass(DeepConfig(GetParam(), true, true));
  EXPECT_EQ(inplace.gradients, plain.gradients);
  EXPECT_EQ(checkpointed.gradients, plain.gradients);
  EXPECT_EQ(both.gradients, plain.gradients);
  // In each of five blocks, three results in the forward pass and six in the backward pass need no
  // separate memory, plus two at the end of the model.
  EXPECT_EQ(plain.allocations - inplace.allocations, 5u * (3 + 6) + 2);
  EXPECT_LT(inplace.peak, plain.peak);
  EXPECT_LT(checkpointed.peak, plain.peak * 7 / 10);
  EXPECT_LT(both.peak, inplace.peak);
  // The peak of a single block is in its perceptron, where nothing can be done in place.
  EXPECT_LE(both.peak, checkpointed.peak);
}

TEST_P(ModelMemoryTest, ABackwardPassLeavesGradientsAndNothingElse) {
  for (const bool saving : {false, true}) {
    const ModelConfig config = DeepConfig(GetParam(), saving, saving);
    const auto device = MakeDevice();
    const AllocatorStats& stats = device->allocator().stats();
    Gpt model(*device, config, 3);
    const auto weights = static_cast<uint64_t>(Gpt::ParameterCount(config)) * 4;
    EXPECT_EQ(stats.requested.current, weights);
    {
      const Batch batch = SmallBatch(*device, config, 2);
      ComputeGradients(model, batch);
    }
    model.DropLowPrecisionWeights();
    EXPECT_EQ(stats.requested.current, 2 * weights);
    EXPECT_EQ(stats.blocks.current, 2 * model.parameters().size());
  }
}

TEST_P(ModelMemoryTest, AForwardPassAloneKeepsOnlyTheLogits) {
  const ModelConfig config = DeepConfig(GetParam(), false, false);
  const auto device = MakeDevice();
  const AllocatorStats& stats = device->allocator().stats();
  Gpt model(*device, config, 3);
  const Batch batch = SmallBatch(*device, config, 2);
  const uint64_t before = stats.blocks.current;
  const Tensor logits = model.Forward(batch.tokens, nullptr);
  model.DropLowPrecisionWeights();
  EXPECT_EQ(stats.blocks.current, before + 1);
  EXPECT_EQ(logits.dtype(), GetParam());
  EXPECT_THAT(logits.shape(), testing::ElementsAre(2 * config.context, kVocabulary));
}

TEST(GradientAccumulationTest, TwoHalvesAreTheWhole) {
  const auto device = MakeDevice();
  const ModelConfig config = SmallConfig();
  const Batch whole = SmallBatch(*device, config, 4);
  std::vector<int> tokens(static_cast<size_t>(whole.tokens.count()));
  std::vector<int> targets(tokens.size());
  whole.tokens.CopyToHost(tokens.data());
  whole.targets.CopyToHost(targets.data());
  Gpt together(*device, config, 3);
  Gpt apart(*device, config, 3);
  EnlargeWeights(together);
  EnlargeWeights(apart);
  ComputeGradients(together, whole);
  const auto half = static_cast<long>(tokens.size() / 2);
  for (const long first : {0L, half}) {
    const HostBatch host{{tokens.begin() + first, tokens.begin() + first + half},
                         {targets.begin() + first, targets.begin() + first + half}};
    ComputeGradients(apart, UploadBatch(*device, host, 2));
  }
  for (size_t i = 0; i < together.parameters().size(); ++i) {
    reference::Values expected = reference::Wide(Read(together.parameters()[i]->grad));
    for (double& value : expected) value *= 2;  // each half has its own mean
    reference::ExpectClose(Read(apart.parameters()[i]->grad), expected, 1e-4,
                           together.parameters()[i]->name);
  }
}

TEST(ForwardHookTest, SeesEachBlockOnceInTraining) {
  const auto device = MakeDevice();
  ModelConfig config = SmallConfig();
  config.checkpointing = true;
  Gpt model(*device, config, 3);
  const Batch batch = SmallBatch(*device, config, 2);
  std::vector<std::string> seen;
  model.SetForwardHook([&](const Tensor& activation) {
    seen.push_back(activation.name());
    EXPECT_THAT(activation.shape(), testing::ElementsAre(14, 80));
  });
  model.Forward(batch.tokens, nullptr);
  EXPECT_THAT(seen, testing::IsEmpty()) << "an evaluation is not training";
  ComputeGradients(model, batch);
  EXPECT_THAT(seen, testing::ElementsAre("blocks.0.mlp.act", "blocks.1.mlp.act"));
  model.SetForwardHook(nullptr);
  ComputeGradients(model, batch);
  EXPECT_EQ(seen.size(), 2u);
}

double Deviation(const std::vector<float>& values) {
  double squares = 0.0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares / static_cast<double>(values.size()));
}

TEST(ParameterTest, BeginAsInGpt2) {
  const auto device = MakeDevice();
  const ModelConfig config = DeepConfig(DType::kFloat32, false, false);
  const Gpt model(*device, config, 1);
  std::set<std::string> names;
  for (const Parameter* parameter : model.parameters()) {
    EXPECT_TRUE(names.insert(parameter->name).second) << parameter->name;
    const std::vector<float> values = Read(parameter->weight);
    const bool matrix = parameter->weight.shape().size() == 2;
    EXPECT_EQ(parameter->decay, matrix) << parameter->name << ": only matrices decay";
    if (parameter->name.ends_with(".bias")) {
      EXPECT_THAT(values, testing::Each(0.0f)) << parameter->name;
    } else if (!matrix) {
      EXPECT_THAT(values, testing::Each(1.0f)) << parameter->name;
    } else {
      const bool into_residual =
          parameter->name.ends_with(".proj.weight") || parameter->name.ends_with(".down.weight");
      const double expected = into_residual ? 0.02 / std::sqrt(10.0) : 0.02;
      EXPECT_NEAR(Deviation(values) / expected, 1.0, 0.1) << parameter->name;
    }
  }
}

TEST(ParameterTest, DependOnSeedAndNameAlone) {
  const auto device = MakeDevice();
  const auto values = [&](const char* name, uint64_t seed) {
    return Read(Parameter(*device, name, {8, 8}, 1.0f, 0.0f, seed).weight);
  };
  EXPECT_EQ(values("a", 1), values("a", 1));
  EXPECT_NE(values("a", 1), values("a", 2));
  EXPECT_NE(values("a", 1), values("b", 1));
}

TEST(ParameterTest, LowPrecisionCopyIsMadeOnce) {
  const auto device = MakeDevice();
  Parameter parameter(*device, "p", {4, 4}, 1.0f, 0.0f, 1);
  EXPECT_EQ(parameter.As(DType::kFloat32).raw(), parameter.weight.raw());
  EXPECT_FALSE(parameter.low);
  const void* first = parameter.As(DType::kBFloat16).raw();
  EXPECT_EQ(parameter.As(DType::kBFloat16).raw(), first);
  const std::vector<float> weight = Read(parameter.weight);
  const std::vector<float> low = Read(parameter.low);
  for (size_t i = 0; i < weight.size(); ++i) {
    EXPECT_EQ(low[i], ToFloat(FromFloat<BFloat16>(weight[i])));
  }
}

TEST(ParameterTest, GradientIsNewOnceAStep) {
  const auto device = MakeDevice();
  Parameter parameter(*device, "p", {4}, 0.0f, 1.0f, 1);
  EXPECT_FALSE(parameter.PrepareGrad());
  const void* memory = parameter.grad.raw();
  EXPECT_TRUE(parameter.PrepareGrad()) << "the second pass adds to the first one's";
  EXPECT_EQ(parameter.grad.raw(), memory);
  EXPECT_EQ(parameter.grad.name(), "p.grad");
}

TEST(TensorTest, HandlesShareAndTheLastOneReleases) {
  const auto device = MakeDevice();
  const AllocatorStats& stats = device->allocator().stats();
  Tensor a(*device, "a", DType::kBFloat16, {3, 5});
  EXPECT_EQ(a.bytes(), 30u);
  EXPECT_EQ(a.count(), 15);
  Tensor b = a;
  a.Reset();
  EXPECT_FALSE(a);
  EXPECT_EQ(stats.blocks.current, 1u);
  const Tensor clone = b.Clone("clone");
  EXPECT_EQ(clone.shape(), b.shape());
  EXPECT_NE(clone.raw(), b.raw());
  b.Reset();
  EXPECT_EQ(stats.blocks.current, 1u);
  EXPECT_EQ(stats.frees, 1u);
}

TEST(RandomTest, NormalNumbersAreNormal) {
  double mean = 0.0;
  double squares = 0.0;
  int beyond_two = 0;
  constexpr int kCount = 100'000;
  for (uint64_t i = 0; i < kCount; ++i) {
    const double value = Normal(7, i);
    mean += value / kCount;
    squares += value * value / kCount;
    beyond_two += std::fabs(value) > 2.0 ? 1 : 0;
  }
  EXPECT_NEAR(mean, 0.0, 0.02);
  EXPECT_NEAR(squares, 1.0, 0.02);
  EXPECT_NEAR(beyond_two / static_cast<double>(kCount), 0.0455, 0.003);
}

}  // namespace
}  // namespace memprof::demo
