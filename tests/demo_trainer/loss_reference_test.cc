// The loss, its gradient, sums and the optimizer's update, against formulas in double precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/demo_trainer/ops_fixture.h"

namespace memprof::demo {
namespace {

using reference::ExpectClose;
using reference::NumericGradient;
using reference::Values;
using reference::Wide;

class LossTwinTest : public OpsTwinTest {};

INSTANTIATE_TEST_SUITE_P(DTypes, LossTwinTest, testing::Values(DType::kFloat32, DType::kBFloat16),
                         DTypeOf);

Tensor Targets(Device& device, const std::vector<int>& targets) {
  const HostBatch host{targets, targets};
  return UploadBatch(device, host, 1).targets;
}

TEST_P(LossTwinTest, CrossEntropyMatchesWithItsGradient) {
  const std::vector<int> targets = {5, 255, 17, 0};
  const Tensor logits = Random({4, 256}, 17, 4.0f);
  const Tensor losses(*device_, "losses", DType::kFloat32, {4});
  const Tensor tensor_targets = Targets(*device_, targets);
  CrossEntropy(logits, tensor_targets, losses);
  const Values wide = Wide(Read(logits));
  ExpectClose(Read(losses), reference::CrossEntropy(wide, targets), 1e-5, "losses");

  const Tensor dlogits = Empty({4, 256});
  CrossEntropyBackward(logits, tensor_targets, dlogits, 0.25f);
  const Values expected = NumericGradient(
      [&](const Values& at) {
        double sum = 0.0;
        for (const double loss : reference::CrossEntropy(at, targets)) sum += loss;
        return 0.25 * sum;
      },
      wide);
  const std::vector<float> apart = Read(dlogits);
  ExpectClose(apart, expected, Tolerance(1), "dlogits");
  CrossEntropyBackward(logits, tensor_targets, logits, 0.25f);
  EXPECT_EQ(Read(logits), apart) << "in place";
}

TEST_P(LossTwinTest, CrossEntropyOfExtremeLogits) {
  // Confident and right, confident and wrong, all equal, all but one impossible.
  std::vector<float> logits(4 * 256, 0.0f);
  logits[7] = 1e4f;
  logits[256 + 7] = 1e4f;
  for (size_t c = 0; c < 256; ++c) logits[512 + c] = -3e4f;
  for (size_t c = 0; c < 256; ++c) logits[768 + c] = c == 9 ? 0.0f : -kInfinity;
  const Tensor tensor = Make(logits, {4, 256});
  const Tensor targets = Targets(*device_, {7, 8, 3, 9});
  const Tensor losses(*device_, "losses", DType::kFloat32, {4});
  CrossEntropy(tensor, targets, losses);
  const float sure = Read(tensor)[7];
  EXPECT_THAT(Read(losses),
              testing::ElementsAre(0.0f, sure, testing::FloatNear(std::log(256.0f), 1e-2f), 0.0f));
  CrossEntropyBackward(tensor, targets, tensor, 2.0f);
  const std::vector<float> gradient = Read(tensor);
  for (size_t row = 0; row < 4; ++row) {
    double sum = 0.0;
    for (size_t c = 0; c < 256; ++c) {
      ASSERT_TRUE(std::isfinite(gradient[row * 256 + c])) << row << " " << c;
      sum += gradient[row * 256 + c];
    }
    EXPECT_NEAR(sum, 0.0, Tolerance(2)) << row;
  }
  EXPECT_EQ(gradient[7], 0.0f);
  EXPECT_EQ(gradient[256 + 7], 2.0f);
  EXPECT_EQ(gradient[256 + 8], -2.0f);
  EXPECT_NEAR(gradient[512 + 3], 2.0 / 256 - 2.0, Tolerance(2));
  EXPECT_EQ(gradient[768 + 9], 0.0f);
}

TEST_P(LossTwinTest, ANaNLogitShowsInTheLossAndNowhereElse) {
  std::vector<float> logits(2 * 256, 1.0f);
  logits[3] = std::numeric_limits<float>::quiet_NaN();
  const Tensor losses(*device_, "losses", DType::kFloat32, {2});
  CrossEntropy(Make(logits, {2, 256}), Targets(*device_, {3, 3}), losses);
  EXPECT_TRUE(std::isnan(Read(losses)[0]));
  EXPECT_NEAR(Read(losses)[1], std::log(256.0), 1e-4);
}

TEST(ReductionTest, SumTakesFloatsInDouble) {
  const auto device = MakeDevice();
  // In float, adding ones to 2^24 does not change it.
  std::vector<float> values(1001, 1.0f);
  values[0] = 16'777'216.0f;
  const Tensor out(*device, "out", DType::kFloat32, {1});
  Sum(Upload(*device, values, {1001}), out, 0.5f);
  EXPECT_EQ(Read(out)[0], 8'389'108.0f);
}

TEST(ReductionTest, SquaresOfSmallNumbersCount) {
  const auto device = MakeDevice();
  const Tensor partial(*device, "partial", DType::kFloat32, {1});
  SumSquares(Upload(*device, std::vector<float>(100, 1e-25f), {100}), 1e20f, partial, 0);
  EXPECT_NEAR(Read(partial)[0] / 1e-8, 1.0, 1e-5) << "if squared before scaling, these are zero";
  SumSquares(Upload(*device, {1.0f, kInfinity}, {2}), 1.0f, partial, 0);
  EXPECT_EQ(Read(partial)[0], kInfinity);
}

TEST(ReductionTest, ChunksCoverTheCount) {
  EXPECT_EQ(SumSquaresChunks(0), 0);
  EXPECT_EQ(SumSquaresChunks(1), 1);
  EXPECT_EQ(SumSquaresChunks(4096), 1);
  EXPECT_EQ(SumSquaresChunks(4097), 2);
}

TEST(AdamWTest, FollowsItsTwinOverManySteps) {
  const auto device = MakeDevice();
  constexpr size_t kCount = 200;
  for (const auto& [decay, scale] : {std::pair(0.0f, 1.0f), {0.1f, 1.0f}, {0.02f, 1.0f / 1024}}) {
    const std::vector<float> start = RandomValues(kCount, 21);
    reference::AdamW reference(start);
    const Tensor weight = Upload(*device, start, {kCount});
    const Tensor mean = Upload(*device, std::vector<float>(kCount, 0.0f), {kCount});
    const Tensor squares = Upload(*device, std::vector<float>(kCount, 0.0f), {kCount});
    AdamWSettings settings;
    settings.weight_decay = decay;
    settings.grad_scale = scale;
    for (settings.step = 1; settings.step <= 50; ++settings.step) {
      settings.lr = 0.01f * static_cast<float>(settings.step % 7);
      const std::vector<float> grad =
          RandomValues(kCount, 100 + static_cast<uint64_t>(settings.step), 1.0f / scale);
      AdamW(weight, Upload(*device, grad, {kCount}), mean, squares, settings);
      reference.Step(grad, settings.lr, decay, scale);
    }
    ExpectClose(Read(weight), reference.weight, 1e-4, "weight");
    ExpectClose(Read(mean), reference.mean, 1e-4, "exp_avg");
    ExpectClose(Read(squares), reference.squares, 1e-4, "exp_avg_sq");
  }
}

TEST(AdamWTest, TheFirstStepIsTheLearningRateWhateverTheGradient) {
  const auto device = MakeDevice();
  const std::vector<float> grad = {1e-3f, -1e-3f, 5.0f, -1e6f};
  const Tensor weight = Upload(*device, {0, 0, 0, 0}, {4});
  const Tensor mean = Upload(*device, {0, 0, 0, 0}, {4});
  const Tensor squares = Upload(*device, {0, 0, 0, 0}, {4});
  AdamWSettings settings;
  settings.lr = 0.25f;
  AdamW(weight, Upload(*device, grad, {4}), mean, squares, settings);
  const std::vector<float> values = Read(weight);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(values[i], grad[i] > 0 ? -0.25 : 0.25, 1e-4) << i;
}

TEST(AdamWTest, DecayAloneShrinksTheWeight) {
  const auto device = MakeDevice();
  const Tensor weight = Upload(*device, {4.0f}, {1});
  const Tensor zero = Upload(*device, {0.0f}, {1});
  AdamWSettings settings;
  settings.lr = 0.5f;
  settings.weight_decay = 0.25f;
  AdamW(weight, Upload(*device, {0.0f}, {1}), zero, Upload(*device, {0.0f}, {1}), settings);
  EXPECT_EQ(Read(weight)[0], 3.5f);
}

}  // namespace
}  // namespace memprof::demo
