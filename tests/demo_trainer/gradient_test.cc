// The backward pass against finite differences of the forward pass, for every parameter.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/demo_trainer/test_model.h"

namespace memprof::demo {
namespace {

// Loss at weight + step * direction.
double LossAlong(Gpt& model, const Batch& batch, Parameter* parameter,
                 const std::vector<float>& start, const std::vector<float>& direction, float step) {
  std::vector<float> moved(start);
  for (size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
  parameter->weight.CopyFromHost(moved.data());
  const double loss = LossOf(model, batch);
  parameter->weight.CopyFromHost(start.data());
  return loss;
}

// Moves a random half of the parameter's elements along the gradient, by one unit of length.
std::vector<float> RandomDirection(const std::vector<float>& gradient, uint64_t seed) {
  std::vector<float> direction(gradient.size(), 0.0f);
  double squares = 0.0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    if (Mix(seed, i) % 2 == 0) direction[i] = gradient[i];
    squares += static_cast<double>(direction[i]) * direction[i];
  }
  if (squares == 0.0) return direction;
  for (float& value : direction) value /= static_cast<float>(std::sqrt(squares));
  return direction;
}

void CheckParameter(Gpt& model, const Batch& batch, Parameter* parameter) {
  const std::vector<float> gradient = Read(parameter->grad);
  const std::vector<float> start = Read(parameter->weight);
  constexpr float kStep = 4e-3f;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<float> direction = RandomDirection(gradient, seed);
    double analytic = 0.0;
    for (size_t i = 0; i < gradient.size(); ++i) {
      analytic += static_cast<double>(gradient[i]) * direction[i];
    }
    ASSERT_GT(analytic, 1e-4) << parameter->name << " has no gradient to check";
    const double numeric = (LossAlong(model, batch, parameter, start, direction, kStep) -
                            LossAlong(model, batch, parameter, start, direction, -kStep)) /
                           (2.0 * kStep);
    EXPECT_NEAR(numeric, analytic, 0.01 * analytic + 3e-4) << parameter->name;
  }
}

void CheckAllGradients(const ModelConfig& config) {
  const auto device = MakeDevice();
  Gpt model(*device, config, 3);
  EnlargeWeights(model);
  const Batch batch = SmallBatch(*device, config, 3);
  ComputeGradients(model, batch);
  // 12 for each block, two tables, the last norm and the head.
  ASSERT_EQ(model.parameters().size(), static_cast<size_t>(12 * config.layers + 6));
  for (Parameter* parameter : model.parameters()) CheckParameter(model, batch, parameter);
}

TEST(GradientTest, MatchesFiniteDifferences) { CheckAllGradients(SmallConfig()); }

TEST(GradientTest, MatchesFiniteDifferencesWithWholeTiles) {
  ModelConfig config = SmallConfig();
  config.dim = 16;
  config.context = 8;
  CheckAllGradients(config);
}

TEST(GradientTest, MatchesFiniteDifferencesInPlaceWithCheckpointing) {
  ModelConfig config = SmallConfig();
  config.inplace = true;
  config.checkpointing = true;
  CheckAllGradients(config);
}

TEST(GradientTest, SecondBackwardPassAddsUp) {
  const auto device = MakeDevice();
  const ModelConfig config = SmallConfig();
  Gpt model(*device, config, 3);
  const Batch batch = SmallBatch(*device, config, 2);
  ComputeGradients(model, batch);
  std::vector<std::vector<float>> once;
  for (const Parameter* parameter : model.parameters()) once.push_back(Read(parameter->grad));
  ComputeGradients(model, batch);
  for (size_t p = 0; p < once.size(); ++p) {
    const std::vector<float> twice = Read(model.parameters()[p]->grad);
    for (size_t i = 0; i < twice.size(); ++i) {
      ASSERT_NEAR(twice[i], 2.0f * once[p][i], 1e-5f + 1e-4f * std::fabs(once[p][i]))
          << model.parameters()[p]->name << " element " << i;
    }
  }
}

// The gradients in another mode, one parameter after another.
std::vector<float> AllGradients(const ModelConfig& config) {
  const auto device = MakeDevice();
  Gpt model(*device, config, 3);
  EnlargeWeights(model);
  ComputeGradients(model, SmallBatch(*device, config, 3));
  std::vector<float> all;
  for (const Parameter* parameter : model.parameters()) {
    const std::vector<float> values = Read(parameter->grad);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(GradientTest, InPlaceAndCheckpointingChangeNoBit) {
  const std::vector<float> plain = AllGradients(SmallConfig());
  ModelConfig config = SmallConfig();
  config.inplace = true;
  EXPECT_EQ(AllGradients(config), plain);
  config.inplace = false;
  config.checkpointing = true;
  EXPECT_EQ(AllGradients(config), plain);
}

TEST(GradientTest, BFloat16PointsTheSameWay) {
  const std::vector<float> plain = AllGradients(SmallConfig());
  ModelConfig config = SmallConfig();
  config.dtype = DType::kBFloat16;
  const std::vector<float> low = AllGradients(config);
  double dot = 0.0;
  double plain_squares = 0.0;
  double low_squares = 0.0;
  for (size_t i = 0; i < plain.size(); ++i) {
    dot += static_cast<double>(plain[i]) * low[i];
    plain_squares += static_cast<double>(plain[i]) * plain[i];
    low_squares += static_cast<double>(low[i]) * low[i];
  }
  EXPECT_GT(dot / std::sqrt(plain_squares * low_squares), 0.995);
  EXPECT_NEAR(std::sqrt(low_squares / plain_squares), 1.0, 0.05);
  EXPECT_NE(low, plain);
}

}  // namespace
}  // namespace memprof::demo
