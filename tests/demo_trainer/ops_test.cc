// Kernels against plain loops in double, bfloat16 against its definition, and causality.
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

TEST(OpsTest, ColumnSumMatchesLoops) {
  const auto device = MakeDevice();
  const auto x = RandomValues(7 * 19, 4);
  const Tensor out(*device, "out", DType::kFloat32, {19});
  ColumnSum(Upload(*device, x, {7, 19}), out, false);
  const std::vector<float> sums = Read(out);
  for (size_t col = 0; col < 19; ++col) {
    double sum = 0.0;
    for (size_t row = 0; row < 7; ++row) sum += x[row * 19 + col];
    ASSERT_NEAR(sums[col], sum, 1e-5);
  }
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

TEST(OpsTest, LayerNormMatchesItsFormula) {
  const auto device = MakeDevice();
  const int64_t rows = 5;
  const int64_t dim = 21;
  const auto x = RandomValues(static_cast<size_t>(rows * dim), 5, 3.0f);
  const auto gamma = RandomValues(static_cast<size_t>(dim), 6);
  const auto beta = RandomValues(static_cast<size_t>(dim), 7);
  const Tensor y(*device, "y", DType::kFloat32, {rows, dim});
  const Tensor mean(*device, "mean", DType::kFloat32, {rows});
  const Tensor rstd(*device, "rstd", DType::kFloat32, {rows});
  LayerNorm(Upload(*device, x, {rows, dim}), Upload(*device, gamma, {dim}),
            Upload(*device, beta, {dim}), y, mean, rstd);
  const std::vector<float> actual = Read(y);
  for (int64_t row = 0; row < rows; ++row) {
    const float* in = &x[static_cast<size_t>(row * dim)];
    double mu = 0.0;
    double variance = 0.0;
    for (int64_t c = 0; c < dim; ++c) mu += in[c] / static_cast<double>(dim);
    for (int64_t c = 0; c < dim; ++c) variance += (in[c] - mu) * (in[c] - mu) / dim;
    for (int64_t c = 0; c < dim; ++c) {
      const auto column = static_cast<size_t>(c);
      const double expected =
          (in[c] - mu) / std::sqrt(variance + 1e-5) * gamma[column] + beta[column];
      ASSERT_NEAR(actual[static_cast<size_t>(row * dim + c)], expected, 1e-5);
    }
  }
}

// Attention of one head and one query, by its formula.
std::vector<double> AttendNaively(const std::vector<float>& qkv, int64_t row, int64_t dim,
                                  int64_t context, int64_t head, int64_t head_dim) {
  const int64_t t = row % context;
  const int64_t first = row - t;
  const auto at = [&](int64_t time, int64_t part, int64_t c) {
    const int64_t index = ((first + time) * 3 + part) * dim + head * head_dim + c;
    return static_cast<double>(qkv[static_cast<size_t>(index)]);
  };
  std::vector<double> weights;
  double total = 0.0;
  for (int64_t u = 0; u <= t; ++u) {
    double dot = 0.0;
    for (int64_t c = 0; c < head_dim; ++c) dot += at(t, 0, c) * at(u, 1, c);
    weights.push_back(std::exp(dot / std::sqrt(static_cast<double>(head_dim))));
    total += weights.back();
  }
  std::vector<double> out(static_cast<size_t>(head_dim), 0.0);
  for (int64_t u = 0; u <= t; ++u) {
    for (int64_t c = 0; c < head_dim; ++c) {
      out[static_cast<size_t>(c)] += weights[static_cast<size_t>(u)] / total * at(u, 2, c);
    }
  }
  return out;
}

TEST(OpsTest, AttentionMatchesItsFormula) {
  const auto device = MakeDevice();
  const int64_t batch = 2;
  const int64_t heads = 3;
  const int64_t context = 6;
  for (const int64_t head_dim : {8, 11}) {
    const int64_t dim = heads * head_dim;
    const auto qkv = RandomValues(static_cast<size_t>(batch * context * 3 * dim), 8);
    const Tensor input = Upload(*device, qkv, {batch * context, 3 * dim});
    const Tensor probs(*device, "probs", DType::kFloat32, {batch, heads, context, context});
    const Tensor out(*device, "out", DType::kFloat32, {batch * context, dim});
    AttentionScores(input, probs);
    CausalSoftmax(probs, probs);
    AttentionValues(input, probs, out);
    const std::vector<float> actual = Read(out);
    for (int64_t row = 0; row < batch * context; ++row) {
      for (int64_t head = 0; head < heads; ++head) {
        const auto expected = AttendNaively(qkv, row, dim, context, head, head_dim);
        for (int64_t c = 0; c < head_dim; ++c) {
          ASSERT_NEAR(actual[static_cast<size_t>(row * dim + head * head_dim + c)],
                      expected[static_cast<size_t>(c)], 1e-5);
        }
      }
    }
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
      ASSERT_EQ(before[i], after[i]) << "position " << position << " saw the future";
    }
  }
  for (size_t position = 4; position < 7; ++position) {
    EXPECT_NE(before[position * 256], after[position * 256]) << position;
  }
}

TEST(OpsTest, CrossEntropyMatchesItsFormula) {
  const auto device = MakeDevice();
  const auto logits = RandomValues(3 * 256, 9, 4.0f);
  HostBatch host{{0, 0, 0}, {5, 255, 17}};
  const Batch batch = UploadBatch(*device, host, 1);
  const Tensor losses(*device, "losses", DType::kFloat32, {3});
  CrossEntropy(Upload(*device, logits, {3, 256}), batch.targets, losses);
  const std::vector<float> actual = Read(losses);
  for (size_t row = 0; row < 3; ++row) {
    double sum = 0.0;
    for (size_t c = 0; c < 256; ++c) sum += std::exp(static_cast<double>(logits[row * 256 + c]));
    const auto target = static_cast<size_t>(host.targets[row]);
    EXPECT_NEAR(actual[row], std::log(sum) - logits[row * 256 + target], 1e-5);
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

TEST(OpsTest, AdamWMatchesItsFormula) {
  const auto device = MakeDevice();
  const Tensor weight = Upload(*device, {1.0f}, {1});
  const Tensor grad = Upload(*device, {8.0f}, {1});
  const Tensor m = Upload(*device, {0.0f}, {1});
  const Tensor v = Upload(*device, {0.0f}, {1});
  AdamWSettings settings;
  settings.lr = 0.1f;
  settings.weight_decay = 0.5f;
  settings.grad_scale = 0.25f;
  double w = 1.0;
  double mean = 0.0;
  double squares = 0.0;
  for (settings.step = 1; settings.step <= 3; ++settings.step) {
    AdamW(weight, grad, m, v, settings);
    mean = 0.9 * mean + 0.1 * 2.0;
    squares = 0.99 * squares + 0.01 * 4.0;
    const double step = static_cast<double>(settings.step);
    const double update =
        mean / (1 - std::pow(0.9, step)) / (std::sqrt(squares / (1 - std::pow(0.99, step))) + 1e-8);
    w -= 0.1 * (update + 0.5 * w);
    EXPECT_NEAR(Read(weight)[0], w, 1e-5);
  }
}

// The nearest bfloat16, by looking at both neighbours in double.
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
  // Halfway cases go to the even neighbour: 1 + 2^-8 down, 1 + 3 * 2^-8 up.
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
