// Kernels against plain loops in double precision, bfloat16 against its definition, and causality.
#include "demo_trainer/ops/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "demo_trainer/stand_in.h"
#include "tests/demo_trainer/test_model.h"

namespace memprof::demo {
namespace {

using Indexer = std::function<double(int64_t, int64_t)>;

void ExpectProduct(const Tensor& c, const Indexer& a, const Indexer& b, int64_t depth) {
  const std::vector<float> actual = Read(c);
  for (int64_t row = 0; row < c.dim(0); ++row) {
    for (int64_t col = 0; col < c.dim(1); ++col) {
      double sum = 0.0;
      for (int64_t k = 0; k < depth; ++k) sum += a(row, k) * b(k, col);
      ASSERT_NEAR(actual[static_cast<size_t>(row * c.dim(1) + col)], sum, 1e-4)
          << row << "," << col;
    }
  }
}

Indexer RowMajor(const std::vector<float>& values, int64_t cols) {
  return [&values, cols](int64_t row, int64_t col) {
    return static_cast<double>(values[static_cast<size_t>(row * cols + col)]);
  };
}

Indexer Transposed(const Indexer& matrix) {
  return [matrix](int64_t row, int64_t col) { return matrix(col, row); };
}

TEST(OpsTest, RunsOnTheStandIn) { EXPECT_TRUE(stand_in::Present()); }

TEST(OpsTest, MatMulMatchesLoops) {
  const auto device = MakeDevice();
  for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                {8, 16, 5},
                                {5, 9, 7},
                                {33, 17, 12},
                                {4, 8, 64}}) {
    const auto a = RandomValues(static_cast<size_t>(m * k), 1);
    const auto b = RandomValues(static_cast<size_t>(k * n), 2);
    const auto bias = RandomValues(static_cast<size_t>(n), 3);
    const Tensor c(*device, "c", DType::kFloat32, {m, n});
    const Tensor ta = Upload(*device, a, {m, k});
    const Tensor tb = Upload(*device, b, {k, n});
    const Indexer ia = RowMajor(a, k);
    const Indexer ib = RowMajor(b, n);
    MatMul(ta, tb, nullptr, c);
    ExpectProduct(c, ia, ib, k);

    const Tensor bias_tensor = Upload(*device, bias, {n});
    const std::vector<float> without = Read(c);
    MatMul(ta, tb, &bias_tensor, c);
    const std::vector<float> with = Read(c);
    for (size_t i = 0; i < with.size(); ++i) {
      ASSERT_NEAR(with[i], without[i] + bias[i % static_cast<size_t>(n)], 1e-5);
    }

    MatMulTransposedA(Upload(*device, a, {k, m}), tb, c, false);
    ExpectProduct(c, Transposed(RowMajor(a, m)), ib, k);
    MatMulTransposedB(ta, Upload(*device, b, {n, k}), c, "workspace");
    ExpectProduct(c, ia, Transposed(RowMajor(b, k)), k);
  }
}

TEST(OpsTest, AccumulatingMatMulAddsToTheOutput) {
  const auto device = MakeDevice();
  const Tensor a = Upload(*device, RandomValues(6 * 5, 1), {6, 5});
  const Tensor b = Upload(*device, RandomValues(6 * 9, 2), {6, 9});
  const Tensor c(*device, "c", DType::kFloat32, {5, 9});
  MatMulTransposedA(a, b, c, false);
  const std::vector<float> once = Read(c);
  MatMulTransposedA(a, b, c, true);
  const std::vector<float> twice = Read(c);
  for (size_t i = 0; i < once.size(); ++i) ASSERT_NEAR(twice[i], 2 * once[i], 1e-5);
}

TEST(OpsTest, GeluMatchesItsFormula) {
  const auto device = MakeDevice();
  std::vector<float> x;
  for (float v = -12.0f; v <= 12.0f; v += 0.01f) x.push_back(v);
  const auto count = static_cast<int64_t>(x.size());
  const Tensor y(*device, "y", DType::kFloat32, {count});
  Gelu(Upload(*device, x, {count}), y);
  const std::vector<float> actual = Read(y);
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double expected =
        0.5 * v * (1.0 + std::tanh(std::sqrt(2.0 / 3.14159265358979) * (v + 0.044715 * v * v * v)));
    ASSERT_NEAR(actual[i], expected, 1e-5) << v;
  }
}

TEST(OpsTest, ModelLooksOnlyBack) {
  const auto device = MakeDevice();
  const ModelConfig config = SmallConfig();
  Gpt model(*device, config, 3);
  EnlargeWeights(model);
  HostBatch host;
  host.tokens = {10, 20, 30, 40, 50, 60, 70};
  host.targets = host.tokens;
  const std::vector<float> before =
      Read(model.Forward(UploadBatch(*device, host, 1).tokens, nullptr));
  host.tokens[4] = 51;
  const std::vector<float> after =
      Read(model.Forward(UploadBatch(*device, host, 1).tokens, nullptr));
  for (size_t i = 0; i < before.size(); ++i) {
    const size_t position = i / 256;
    if (position < 4) {
      ASSERT_EQ(before[i], after[i]) << "position " << position << " read a future position";
    }
  }
  for (size_t position = 4; position < 7; ++position) {
    EXPECT_NE(before[position * 256], after[position * 256]) << position;
  }
}

TEST(OpsTest, SumOfSquaresCoversEveryChunk) {
  const auto device = MakeDevice();
  const int64_t count = 4096 * 3 + 5;
  const std::vector<float> values(static_cast<size_t>(count), 2.0f);
  ASSERT_EQ(SumSquaresChunks(count), 4);
  const Tensor partial(*device, "partial", DType::kFloat32, {5});
  Zero(partial);
  SumSquares(Upload(*device, values, {count}), 0.5f, partial, 1);
  EXPECT_THAT(Read(partial), testing::ElementsAre(0, 4096, 4096, 4096, 5));
}

TEST(OpsTest, HistogramCounts) {
  const auto device = MakeDevice();
  const Batch batch = UploadBatch(*device, {{7, 7, 9, 255}, {0, 0, 0, 0}}, 1);
  const Tensor counts(*device, "counts", DType::kFloat32, {256});
  Histogram(batch.tokens, counts);
  const std::vector<float> actual = Read(counts);
  EXPECT_EQ(actual[7], 2.0f);
  EXPECT_EQ(actual[9], 1.0f);
  EXPECT_EQ(actual[255], 1.0f);
  EXPECT_EQ(actual[0], 0.0f);
}

// The nearest bfloat16, found by comparing both neighbours in double precision.
float NearestBFloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const auto below = static_cast<uint16_t>(bits >> 16);
  const auto above = static_cast<uint16_t>(below + 1);
  const double to_below = std::fabs(static_cast<double>(value) - ToFloat(BFloat16{below}));
  const double to_above = std::fabs(static_cast<double>(value) - ToFloat(BFloat16{above}));
  if (to_below == to_above) return ToFloat(BFloat16{below % 2 == 0 ? below : above});
  return ToFloat(BFloat16{to_below < to_above ? below : above});
}

TEST(BFloat16Test, RoundsToNearestEven) {
  for (uint64_t i = 0; i < 200'000; ++i) {
    const float value = Normal(1, i) * static_cast<float>(std::pow(10.0, Normal(2, i) * 5));
    ASSERT_EQ(ToFloat(FromFloat<BFloat16>(value)), NearestBFloat16(value)) << value;
  }
  // Ties round to even: 1 + 2^-8 down, 1 + 3 * 2^-8 up.
  EXPECT_EQ(ToFloat(FromFloat<BFloat16>(1.00390625f)), 1.0f);
  EXPECT_EQ(ToFloat(FromFloat<BFloat16>(1.01171875f)), 1.015625f);
}

TEST(BFloat16Test, KeepsInfinityAndNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(ToFloat(FromFloat<BFloat16>(infinity)), infinity);
  EXPECT_EQ(ToFloat(FromFloat<BFloat16>(-infinity)), -infinity);
  EXPECT_EQ(ToFloat(FromFloat<BFloat16>(std::numeric_limits<float>::max())), infinity);
  EXPECT_TRUE(std::isnan(ToFloat(FromFloat<BFloat16>(std::nanf("")))));
}

}  // namespace
}  // namespace memprof::demo
