// Operations other than attention against formulas in double, their backward passes against
// differences of these, in both dtypes; and the ends of their ranges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "demo_trainer/error.h"
#include "tests/demo_trainer/reference.h"

namespace memprof::demo {
namespace {

using reference::ExpectClose;
using reference::NumericGradient;
using reference::UploadAs;
using reference::Values;
using reference::Wide;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class OpsTwinTest : public testing::TestWithParam<DType> {
 protected:
  Tensor Make(const std::vector<float>& values, std::vector<int64_t> shape) {
    return UploadAs(*device_, GetParam(), values, std::move(shape));
  }
  Tensor Random(std::vector<int64_t> shape, uint64_t seed, float deviation = 1.0f) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    return Make(RandomValues(static_cast<size_t>(count), seed, deviation), std::move(shape));
  }
  Tensor Empty(std::vector<int64_t> shape) {
    return Tensor(*device_, "out", GetParam(), std::move(shape));
  }
  double Tolerance(double roundings) const { return roundings * reference::Precision(GetParam()); }

  const std::unique_ptr<Device> device_ = MakeDevice();
};

INSTANTIATE_TEST_SUITE_P(DTypes, OpsTwinTest, testing::Values(DType::kFloat32, DType::kBFloat16),
                         [](const auto& dtype) { return DTypeName(dtype.param); });

Values Product(const Values& a, const Values& b, size_t m, size_t k, size_t n) {
  Values c(m * n, 0.0);
  for (size_t row = 0; row < m; ++row) {
    for (size_t col = 0; col < n; ++col) {
      for (size_t i = 0; i < k; ++i) c[row * n + col] += a[row * k + i] * b[i * n + col];
    }
  }
  return c;
}

TEST_P(OpsTwinTest, MatMulRoundsOnce) {
  for (const auto& [m, n, k] :
       {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1}, {9, 17, 40}, {4, 8, 100}, {3, 7, 1}}) {
    const Tensor a = Random({m, k}, 1);
    const Tensor b = Random({k, n}, 2);
    const Tensor c = Empty({m, n});
    MatMul(a, b, nullptr, c);
    const Values expected = Product(Wide(Read(a)), Wide(Read(b)), static_cast<size_t>(m),
                                    static_cast<size_t>(k), static_cast<size_t>(n));
    ExpectClose(Read(c), expected, Tolerance(0.6), "c");
  }
}

TEST_P(OpsTwinTest, GradientOfAWeightIsFloatWhateverTheActivations) {
  const Tensor x = Random({11, 6}, 3);
  const Tensor dy = Random({11, 9}, 4);
  const Tensor dw(*device_, "dw", DType::kFloat32, {6, 9});
  MatMulTransposedA(x, dy, dw, false);
  Values transposed(66);
  const std::vector<float> values = Read(x);
  for (size_t i = 0; i < 66; ++i) transposed[i % 6 * 11 + i / 6] = values[i];
  ExpectClose(Read(dw), Product(transposed, Wide(Read(dy)), 6, 11, 9), 1e-5, "dw");
}

TEST_P(OpsTwinTest, WorkspaceOfATransposeIsGivenBack) {
  const Tensor a = Random({4, 5}, 5);
  const Tensor b = Random({3, 5}, 6);
  const Tensor c = Empty({4, 3});
  const uint64_t blocks = device_->allocator().stats().blocks.current;
  MatMulTransposedB(a, b, c, "workspace");
  EXPECT_EQ(device_->allocator().stats().blocks.current, blocks);
  EXPECT_EQ(device_->allocator().stats().blocks.peak, blocks + 1);
}

TEST_P(OpsTwinTest, ColumnSumAddsUpWhereAsked) {
  const Tensor x = Random({13, 10}, 7);
  const Tensor out = Upload(*device_, std::vector<float>(10, 100.0f), {10});
  Values sums(10, 0.0);
  const std::vector<float> values = Read(x);
  for (size_t i = 0; i < values.size(); ++i) sums[i % 10] += values[i];
  ColumnSum(x, out, false);
  ExpectClose(Read(out), sums, 1e-5, "first");
  ColumnSum(x, out, true);
  for (double& sum : sums) sum *= 2;
  ExpectClose(Read(out), sums, 1e-5, "second");
}

TEST_P(OpsTwinTest, AddIsTheSumInPlaceOrNot) {
  const Tensor a = Random({37}, 8);
  const Tensor b = Random({37}, 9);
  const Tensor out = Empty({37});
  const Values wide_b = Wide(Read(b));
  Values expected = Wide(Read(a));
  for (size_t i = 0; i < expected.size(); ++i) expected[i] += wide_b[i];
  Add(a, b, out);
  const std::vector<float> apart = Read(out);
  ExpectClose(apart, expected, Tolerance(0.6), "a + b");
  Add(a, b, b);
  EXPECT_EQ(Read(b), apart);
  Values twice = Wide(Read(a));
  for (double& value : twice) value *= 2;
  Add(a, a, a);
  ExpectClose(Read(a), twice, 0.0, "a + a");
}

TEST_P(OpsTwinTest, CastThereAndBackKeepsWhatTheDTypeHolds) {
  const std::vector<float> values = {0.0f, -0.0f, 1.0f, -2.5f, kInfinity, 0x1p-126f, 0x1.fep+127f};
  const Tensor low = Make(values, {7});
  const Tensor back(*device_, "back", DType::kFloat32, {7});
  Cast(low, back);
  EXPECT_EQ(Read(back), values);
  EXPECT_TRUE(std::signbit(Read(back)[1]));
}

TEST_P(OpsTwinTest, GeluBackwardIsItsDerivative) {
  std::vector<float> x = {-1e4f, -30.0f, 30.0f, 1e4f};
  for (float v = -8.0f; v <= 8.0f; v += 0.0625f) x.push_back(v);
  const auto count = static_cast<int64_t>(x.size());
  const Tensor input = Make(x, {count});
  const Tensor dy = Random({count}, 10);
  const Tensor dx = Empty({count});
  GeluBackward(input, dy, dx);
  const Values weights = Wide(Read(dy));
  const Values expected = NumericGradient(
      [&](const Values& at) { return reference::Dot(weights, reference::Gelu(at)); },
      Wide(Read(input)));
  const std::vector<float> apart = Read(dx);
  ExpectClose(apart, expected, Tolerance(1), "dx");
  GeluBackward(input, dy, dy);
  EXPECT_EQ(Read(dy), apart) << "in place";
}

TEST_P(OpsTwinTest, GeluIsTheIdentityFarRightAndNothingFarLeft) {
  const Tensor y = Empty({4});
  Gelu(Make({-1e30f, -40.0f, 40.0f, 1e30f}, {4}), y);
  const std::vector<float> right = Read(Make({40.0f, 1e30f}, {2}));
  EXPECT_THAT(Read(y), testing::ElementsAre(0.0f, 0.0f, right[0], right[1]));
}

struct Norm {
  Tensor y, mean, rstd;
};

class LayerNormTwinTest : public OpsTwinTest {
 protected:
  Norm Forward(const Tensor& x, const Tensor& gamma, const Tensor& beta) {
    const int64_t rows = x.dim(0);
    Norm norm{Empty(x.shape()), Tensor(*device_, "mean", DType::kFloat32, {rows}),
              Tensor(*device_, "rstd", DType::kFloat32, {rows})};
    LayerNorm(x, gamma, beta, norm.y, norm.mean, norm.rstd);
    return norm;
  }
};

INSTANTIATE_TEST_SUITE_P(DTypes, LayerNormTwinTest,
                         testing::Values(DType::kFloat32, DType::kBFloat16),
                         [](const auto& dtype) { return DTypeName(dtype.param); });

TEST_P(LayerNormTwinTest, MatchesForwardAndBackward) {
  for (const int64_t dim : {1, 8, 21}) {
    const Tensor x = Random({5, dim}, 11, 3.0f);
    const auto gamma = RandomValues(static_cast<size_t>(dim), 12);
    const auto beta = RandomValues(static_cast<size_t>(dim), 13);
    const Tensor dy = Random({5, dim}, 14);
    const Tensor tensor_gamma = Upload(*device_, gamma, {dim});
    const Norm norm = Forward(x, tensor_gamma, Upload(*device_, beta, {dim}));
    const Values wide_x = Wide(Read(x));
    const Values weights = Wide(Read(dy));
    ExpectClose(Read(norm.y), reference::LayerNorm(wide_x, Wide(gamma), Wide(beta)), Tolerance(1),
                "y");

    const Tensor dx = Empty({5, dim});
    const Tensor dgamma(*device_, "dgamma", DType::kFloat32, {dim});
    const Tensor dbeta(*device_, "dbeta", DType::kFloat32, {dim});
    LayerNormBackward(x, dy, tensor_gamma, norm.mean, norm.rstd, dx, dgamma, dbeta, false);
    const auto loss = [&](const Values& at_x, const Values& at_gamma, const Values& at_beta) {
      return reference::Dot(weights, reference::LayerNorm(at_x, at_gamma, at_beta));
    };
    const Values expected_dgamma = NumericGradient(
        [&](const Values& at) { return loss(wide_x, at, Wide(beta)); }, Wide(gamma));
    const Values expected_dbeta = NumericGradient(
        [&](const Values& at) { return loss(wide_x, Wide(gamma), at); }, Wide(beta));
    ExpectClose(Read(dx),
                NumericGradient([&](const Values& at) { return loss(at, Wide(gamma), Wide(beta)); },
                                wide_x),
                Tolerance(2), "dx");
    ExpectClose(Read(dgamma), expected_dgamma, 2e-5, "dgamma");
    ExpectClose(Read(dbeta), expected_dbeta, 2e-5, "dbeta");

    // Once more over dy itself, which adds the weights' gradients up.
    const std::vector<float> apart = Read(dx);
    LayerNormBackward(x, dy, tensor_gamma, norm.mean, norm.rstd, dy, dgamma, dbeta, true);
    EXPECT_EQ(Read(dy), apart);
    const auto twice = [](Values values) {
      for (double& value : values) value *= 2;
      return values;
    };
    ExpectClose(Read(dgamma), twice(expected_dgamma), 2e-5, "dgamma, twice");
    ExpectClose(Read(dbeta), twice(expected_dbeta), 2e-5, "dbeta, twice");
  }
}

TEST_P(LayerNormTwinTest, ConstantRowsBecomeBeta) {
  const Tensor x = Make(std::vector<float>(2 * 16, 3.0f), {2, 16});
  const auto beta = RandomValues(16, 15);
  const Norm norm =
      Forward(x, Upload(*device_, RandomValues(16, 16), {16}), Upload(*device_, beta, {16}));
  const std::vector<float> rounded = Read(Make(beta, {16}));
  const std::vector<float> y = Read(norm.y);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], rounded[i % 16]);
  EXPECT_NEAR(Read(norm.rstd)[0], 1.0 / std::sqrt(1e-5), 0.01);
  EXPECT_EQ(Read(norm.mean)[1], 3.0f);
}

TEST(LayerNormTest, ALargeMeanDoesNotSwallowTheVariance) {
  const auto device = MakeDevice();
  std::vector<float> x;
  for (int i = 0; i < 64; ++i) x.push_back(10'000.0f + (i % 2 == 0 ? 1.0f : -1.0f));
  const Tensor ones = Upload(*device, std::vector<float>(64, 1.0f), {64});
  const Tensor zeros = Upload(*device, std::vector<float>(64, 0.0f), {64});
  const Tensor y(*device, "y", DType::kFloat32, {1, 64});
  const Tensor mean(*device, "mean", DType::kFloat32, {1});
  const Tensor rstd(*device, "rstd", DType::kFloat32, {1});
  LayerNorm(Upload(*device, x, {1, 64}), ones, zeros, y, mean, rstd);
  const std::vector<float> values = Read(y);
  for (size_t i = 0; i < 64; ++i) ASSERT_NEAR(values[i], i % 2 == 0 ? 1.0 : -1.0, 1e-3);
}

Tensor Targets(Device& device, const std::vector<int>& targets) {
  const HostBatch host{targets, targets};
  return UploadBatch(device, host, 1).targets;
}

TEST_P(OpsTwinTest, CrossEntropyMatchesWithItsGradient) {
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

TEST_P(OpsTwinTest, CrossEntropyOfExtremeLogits) {
  // Sure and right, sure and wrong, all the same, all but one impossible.
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

TEST_P(OpsTwinTest, ANaNLogitShowsInTheLossAndNowhereElse) {
  std::vector<float> logits(2 * 256, 1.0f);
  logits[3] = std::numeric_limits<float>::quiet_NaN();
  const Tensor losses(*device_, "losses", DType::kFloat32, {2});
  CrossEntropy(Make(logits, {2, 256}), Targets(*device_, {3, 3}), losses);
  EXPECT_TRUE(std::isnan(Read(losses)[0]));
  EXPECT_NEAR(Read(losses)[1], std::log(256.0), 1e-4);
}

class EmbeddingTwinTest : public OpsTwinTest {
 protected:
  static constexpr int64_t kDim = 10;
  const HostBatch host_{{0, 255, 7, 7, 0, 7}, std::vector<int>(6, 0)};
  const Batch batch_ = UploadBatch(*device_, host_, 2);
  const std::vector<float> token_table_ = RandomValues(256 * kDim, 18);
  const std::vector<float> position_table_ = RandomValues(3 * kDim, 19);
};

INSTANTIATE_TEST_SUITE_P(DTypes, EmbeddingTwinTest,
                         testing::Values(DType::kFloat32, DType::kBFloat16),
                         [](const auto& dtype) { return DTypeName(dtype.param); });

TEST_P(EmbeddingTwinTest, AddsTokenAndPosition) {
  const Tensor out = Empty({6, kDim});
  Embedding(batch_.tokens, Upload(*device_, token_table_, {256, kDim}),
            Upload(*device_, position_table_, {3, kDim}), out);
  Values expected;
  for (size_t row = 0; row < 6; ++row) {
    for (size_t c = 0; c < kDim; ++c) {
      expected.push_back(token_table_[static_cast<size_t>(host_.tokens[row]) * kDim + c] +
                         static_cast<double>(position_table_[row % 3 * kDim + c]));
    }
  }
  ExpectClose(Read(out), expected, Tolerance(0.6), "out");
}

TEST_P(EmbeddingTwinTest, GradientsGatherFromEveryUse) {
  const Tensor dout = Random({6, kDim}, 20);
  // What is there at first must not matter, and count the second time.
  const Tensor dtokens = Upload(*device_, std::vector<float>(256 * kDim, 9.0f), {256, kDim});
  const Tensor dpositions = Upload(*device_, std::vector<float>(3 * kDim, 9.0f), {3, kDim});
  Values expected_tokens(256 * kDim, 0.0);
  Values expected_positions(3 * kDim, 0.0);
  const std::vector<float> values = Read(dout);
  for (const bool accumulate : {false, true}) {
    EmbeddingBackward(batch_.tokens, dout, dtokens, dpositions, accumulate);
    for (size_t row = 0; row < 6; ++row) {
      for (size_t c = 0; c < kDim; ++c) {
        expected_tokens[static_cast<size_t>(host_.tokens[row]) * kDim + c] +=
            values[row * kDim + c];
        expected_positions[row % 3 * kDim + c] += values[row * kDim + c];
      }
    }
    ExpectClose(Read(dtokens), expected_tokens, 1e-5, "tokens");
    ExpectClose(Read(dpositions), expected_positions, 1e-5, "positions");
  }
}

TEST(ReductionTest, SumTakesFloatsInDouble) {
  const auto device = MakeDevice();
  // In float, adding ones to 2^24 changes nothing.
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
  EXPECT_NEAR(Read(partial)[0] / 1e-8, 1.0, 1e-5) << "squared before scaled, these are zero";
  SumSquares(Upload(*device, {1.0f, kInfinity}, {2}), 1.0f, partial, 0);
  EXPECT_EQ(Read(partial)[0], kInfinity);
}

TEST(ReductionTest, ChunksCoverTheCount) {
  EXPECT_EQ(SumSquaresChunks(0), 0);
  EXPECT_EQ(SumSquaresChunks(1), 1);
  EXPECT_EQ(SumSquaresChunks(4096), 1);
  EXPECT_EQ(SumSquaresChunks(4097), 2);
}

TEST(ElementwiseTest, ScaleAndZero) {
  const auto device = MakeDevice();
  const Tensor tensor = Upload(*device, {1.0f, -2.0f, 0.0f}, {3});
  Scale(tensor, -0.5f);
  EXPECT_THAT(Read(tensor), testing::ElementsAre(-0.5f, 1.0f, 0.0f));
  Zero(tensor);
  EXPECT_THAT(Read(tensor), testing::Each(0.0f));
}

TEST(ElementwiseTest, IntegersAreRefused) {
  const auto device = MakeDevice();
  const Tensor integers(*device, "integers", DType::kInt32, {4});
  EXPECT_THROW(Add(integers, integers, integers), Error);
  EXPECT_THROW(Gelu(integers, integers), Error);
}

TEST(AdamWTest, FollowsItsTwinOverManySteps) {
  const auto device = MakeDevice();
  constexpr size_t kCount = 200;
  for (const auto& [decay, scale] : {std::pair(0.0f, 1.0f), {0.1f, 1.0f}, {0.02f, 1.0f / 1024}}) {
    const std::vector<float> start = RandomValues(kCount, 21);
    reference::AdamW twin(start);
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
      twin.Step(grad, settings.lr, decay, scale);
    }
    ExpectClose(Read(weight), twin.weight, 1e-4, "weight");
    ExpectClose(Read(mean), twin.mean, 1e-4, "exp_avg");
    ExpectClose(Read(squares), twin.squares, 1e-4, "exp_avg_sq");
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
