// Operations other than attention, against formulas in double precision; their backward passes
// against finite differences, in both dtypes; and extreme values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "demo_trainer/error.h"
#include "tests/demo_trainer/ops_fixture.h"

namespace memprof::demo {
namespace {

using reference::ExpectClose;
using reference::NumericGradient;
using reference::UploadAs;
using reference::Values;
using reference::Wide;

INSTANTIATE_TEST_SUITE_P(DTypes, OpsTwinTest, testing::Values(DType::kFloat32, DType::kBFloat16),
                         DTypeOf);

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

TEST_P(OpsTwinTest, WorkspaceOfATransposeIsReleased) {
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
                         testing::Values(DType::kFloat32, DType::kBFloat16), DTypeOf);

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

    // The same with dy as the output, which adds to the gradients of the weights.
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

class EmbeddingTwinTest : public OpsTwinTest {
 protected:
  static constexpr int64_t kDim = 10;
  const HostBatch host_{{0, 255, 7, 7, 0, 7}, std::vector<int>(6, 0)};
  const Batch batch_ = UploadBatch(*device_, host_, 2);
  const std::vector<float> token_table_ = RandomValues(256 * kDim, 18);
  const std::vector<float> position_table_ = RandomValues(3 * kDim, 19);
};

INSTANTIATE_TEST_SUITE_P(DTypes, EmbeddingTwinTest,
                         testing::Values(DType::kFloat32, DType::kBFloat16), DTypeOf);

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
  // The initial values must be ignored in the first call, and added to in the second.
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

}  // namespace
}  // namespace memprof::demo
