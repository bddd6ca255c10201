// The stages of attention, forward and backward, against the formula in double precision and its
// finite differences.
#include <gtest/gtest.h>

#include <limits>

#include "tests/demo_trainer/reference.h"

namespace memprof::demo {
namespace {

using reference::AttentionSize;
using reference::ExpectClose;
using reference::Values;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Case {
  AttentionSize size;
  DType dtype;
};

// All tensors of one attention, forward and backward. Squares start as NaN, so that reads of future
// positions or of unwritten memory are detected.
class AttentionTwinTest : public testing::TestWithParam<Case> {
 protected:
  AttentionTwinTest()
      : device_(MakeDevice()),
        size_(GetParam().size),
        dtype_(GetParam().dtype),
        qkv_(Make(RandomValues(size_.positions() * 3 * size_.dim(), 1), {Positions(), 3 * Dim()})),
        dout_(Make(RandomValues(size_.positions() * size_.dim(), 2), {Positions(), Dim()})) {}

  int64_t Positions() const { return static_cast<int64_t>(size_.positions()); }
  int64_t Dim() const { return static_cast<int64_t>(size_.dim()); }

  Tensor Make(const std::vector<float>& values, std::vector<int64_t> shape) {
    return reference::UploadAs(*device_, dtype_, values, std::move(shape));
  }
  Tensor Square() {
    const auto context = static_cast<int64_t>(size_.context);
    const std::vector<int64_t> shape = {static_cast<int64_t>(size_.batch),
                                        static_cast<int64_t>(size_.heads), context, context};
    return Make(std::vector<float>(size_.batch * size_.heads * size_.context * size_.context, kNaN),
                shape);
  }
  // A matrix with the shape of `shape`, filled with NaN.
  Tensor Like(const Tensor& shape) {
    return Make(std::vector<float>(static_cast<size_t>(shape.count()), kNaN), shape.shape());
  }
  Tensor Probs() {
    const Tensor probs = Square();
    AttentionScores(qkv_, probs);
    CausalSoftmax(probs, probs);
    return probs;
  }
  double Tolerance(double roundings) const { return roundings * reference::Precision(dtype_); }

  const std::unique_ptr<Device> device_;
  const AttentionSize size_;
  const DType dtype_;
  const Tensor qkv_;
  const Tensor dout_;
};

TEST_P(AttentionTwinTest, ProbabilitiesAreTheSoftmaxOfThePast) {
  const std::vector<float> probs = Read(Probs());
  ExpectClose(probs, reference::AttentionProbs(reference::Wide(Read(qkv_)), size_), Tolerance(8),
              "probs");
  for (size_t i = 0; i < probs.size(); ++i) {
    const size_t u = i % size_.context;
    const size_t t = i / size_.context % size_.context;
    if (u > t) {
      ASSERT_EQ(probs[i], 0.0f) << "time " << t << " sees " << u;
    }
  }
}

TEST_P(AttentionTwinTest, OutputIsTheWeightedSumOfValues) {
  const Tensor out = Like(dout_);
  AttentionValues(qkv_, Probs(), out);
  ExpectClose(Read(out), reference::Attention(reference::Wide(Read(qkv_)), size_), Tolerance(8),
              "out");
}

TEST_P(AttentionTwinTest, GradientIsTheDifferenceOfTheForwardPass) {
  const Tensor probs = Probs();
  const Tensor squares = Square();
  AttentionProbsGrad(dout_, qkv_, squares);
  CausalSoftmaxBackward(probs, squares, squares);
  const Tensor dqkv = Like(qkv_);
  AttentionQkvGrad(dout_, qkv_, probs, squares, dqkv);

  const Values dout = reference::Wide(Read(dout_));
  const Values expected = reference::NumericGradient(
      [&](const Values& qkv) { return reference::Dot(dout, reference::Attention(qkv, size_)); },
      reference::Wide(Read(qkv_)));
  ExpectClose(Read(dqkv), expected, Tolerance(12), "dqkv");
}

TEST_P(AttentionTwinTest, SoftmaxBackwardLeavesTheFutureAtZeroInPlaceOrNot) {
  const Tensor probs = Probs();
  const Tensor dprobs = Square();
  AttentionProbsGrad(dout_, qkv_, dprobs);
  const Tensor apart = Square();
  CausalSoftmaxBackward(probs, dprobs, apart);
  CausalSoftmaxBackward(probs, dprobs, dprobs);
  const std::vector<float> values = Read(apart);
  EXPECT_EQ(Read(dprobs), values);
  // Each row of a softmax's derivative sums to zero.
  for (size_t row = 0; row < values.size() / size_.context; ++row) {
    double sum = 0.0;
    double sizes = 0.0;
    for (size_t u = 0; u < size_.context; ++u) {
      const float value = values[row * size_.context + u];
      sum += value;
      sizes += std::fabs(value);
      if (u > row % size_.context) {
        ASSERT_EQ(value, 0.0f);
      }
    }
    EXPECT_NEAR(sum, 0.0, Tolerance(8) * sizes + 1e-9);
  }
}

TEST_P(AttentionTwinTest, EveryPartOfTheGradientIsWritten) {
  const Tensor probs = Probs();
  const Tensor dqkv = Like(qkv_);
  const Tensor dscores = Square();
  AttentionProbsGrad(dout_, qkv_, dscores);
  CausalSoftmaxBackward(probs, dscores, dscores);
  AttentionQkvGrad(dout_, qkv_, probs, dscores, dqkv);
  for (const float value : Read(dqkv)) ASSERT_TRUE(std::isfinite(value));
}

// Head sizes of exactly one vector, of several vectors and a rest, and of a rest only; one head and
// several; a single position, which has no earlier ones.
INSTANTIATE_TEST_SUITE_P(
    Sizes, AttentionTwinTest,
    testing::Values(Case{{1, 1, 1, 8}, DType::kFloat32}, Case{{2, 2, 6, 8}, DType::kFloat32},
                    Case{{2, 3, 5, 11}, DType::kFloat32}, Case{{1, 4, 9, 3}, DType::kFloat32},
                    Case{{3, 1, 4, 16}, DType::kFloat32}, Case{{2, 2, 6, 8}, DType::kBFloat16},
                    Case{{1, 3, 5, 11}, DType::kBFloat16}),
    [](const auto& kind) {
      const AttentionSize& size = kind.param.size;
      return "b" + std::to_string(size.batch) + "_h" + std::to_string(size.heads) + "_t" +
             std::to_string(size.context) + "_d" + std::to_string(size.head_dim) + "_" +
             DTypeName(kind.param.dtype);
    });

TEST(CausalSoftmaxTest, LargeScoresDoNotOverflow) {
  const auto device = MakeDevice();
  // Three positions of one head; values at future positions must be ignored, whatever they are.
  const Tensor scores =
      Upload(*device, {1e4f, kNaN, kNaN, -1e4f, 1e4f, kNaN, 88.0f, -3e38f, 88.0f}, {1, 1, 3, 3});
  const Tensor probs(*device, "probs", DType::kFloat32, {1, 1, 3, 3});
  CausalSoftmax(scores, probs);
  EXPECT_EQ(Read(probs), (std::vector<float>{1, 0, 0, 0, 1, 0, 0.5, 0, 0.5}));
}

TEST(CausalSoftmaxTest, EqualScoresShareEvenly) {
  const auto device = MakeDevice();
  const Tensor scores = Upload(*device, std::vector<float>(16, -7.0f), {1, 1, 4, 4});
  CausalSoftmax(scores, scores);
  const std::vector<float> probs = Read(scores);
  for (size_t t = 0; t < 4; ++t) {
    for (size_t u = 0; u < 4; ++u) {
      EXPECT_FLOAT_EQ(probs[t * 4 + u], u <= t ? 1.0f / static_cast<float>(t + 1) : 0.0f);
    }
  }
}

}  // namespace
}  // namespace memprof::demo
