// The trainer's operations again: in double precision, by their formulas, with one loop for each
// index. Gradients are central differences of the forward formulas, so no derivative is written by
// hand.
#ifndef TESTS_DEMO_TRAINER_REFERENCE_H_
#define TESTS_DEMO_TRAINER_REFERENCE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/demo_trainer/test_model.h"

namespace memprof::demo::reference {

using Values = std::vector<double>;
using Scalar = std::function<double(const Values&)>;

inline Values Wide(const std::vector<float>& values) { return {values.begin(), values.end()}; }

// Derivatives of `function` for each of its arguments, with a relative error of about 1e-8.
inline Values NumericGradient(const Scalar& function, Values at) {
  constexpr double kStep = 1e-4;
  Values gradient;
  gradient.reserve(at.size());
  for (double& value : at) {
    const double start = value;
    value = start + kStep;
    const double above = function(at);
    value = start - kStep;
    const double below = function(at);
    value = start;
    gradient.push_back((above - below) / (2 * kStep));
  }
  return gradient;
}

inline double Dot(const Values& a, const Values& b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

inline Values Gelu(const Values& x) {
  Values y;
  for (const double v : x) {
    y.push_back(0.5 * v * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (v + 0.044715 * v * v * v))));
  }
  return y;
}

inline Values LayerNorm(const Values& x, const Values& gamma, const Values& beta) {
  const size_t dim = gamma.size();
  Values y(x.size());
  for (size_t first = 0; first < x.size(); first += dim) {
    double mean = 0.0;
    for (size_t c = 0; c < dim; ++c) mean += x[first + c];
    mean /= static_cast<double>(dim);
    double variance = 0.0;
    for (size_t c = 0; c < dim; ++c) variance += (x[first + c] - mean) * (x[first + c] - mean);
    variance /= static_cast<double>(dim);
    for (size_t c = 0; c < dim; ++c) {
      y[first + c] = (x[first + c] - mean) / std::sqrt(variance + 1e-5) * gamma[c] + beta[c];
    }
  }
  return y;
}

struct AttentionSize {
  size_t batch, heads, context, head_dim;
  size_t dim() const { return heads * head_dim; }
  size_t positions() const { return batch * context; }
};

// Probabilities [batch, heads, context, context] from qkv [batch * context, 3 * dim].
inline Values AttentionProbs(const Values& qkv, const AttentionSize& size) {
  const size_t line = 3 * size.dim();
  Values probs(size.batch * size.heads * size.context * size.context, 0.0);
  double* row = probs.data();
  for (size_t b = 0; b < size.batch; ++b) {
    for (size_t h = 0; h < size.heads; ++h) {
      for (size_t t = 0; t < size.context; ++t, row += size.context) {
        double total = 0.0;
        for (size_t u = 0; u <= t; ++u) {
          double dot = 0.0;
          for (size_t c = 0; c < size.head_dim; ++c) {
            dot += qkv[(b * size.context + t) * line + h * size.head_dim + c] *
                   qkv[(b * size.context + u) * line + size.dim() + h * size.head_dim + c];
          }
          row[u] = std::exp(dot / std::sqrt(static_cast<double>(size.head_dim)));
          total += row[u];
        }
        for (size_t u = 0; u <= t; ++u) row[u] /= total;
      }
    }
  }
  return probs;
}

// The output of the heads, [batch * context, dim].
inline Values Attention(const Values& qkv, const AttentionSize& size) {
  const Values probs = AttentionProbs(qkv, size);
  Values out(size.positions() * size.dim(), 0.0);
  for (size_t b = 0; b < size.batch; ++b) {
    for (size_t h = 0; h < size.heads; ++h) {
      for (size_t t = 0; t < size.context; ++t) {
        const size_t row = ((b * size.heads + h) * size.context + t) * size.context;
        for (size_t u = 0; u <= t; ++u) {
          const size_t value = (b * size.context + u) * 3 * size.dim() + 2 * size.dim();
          for (size_t c = 0; c < size.head_dim; ++c) {
            const size_t at = h * size.head_dim + c;
            out[(b * size.context + t) * size.dim() + at] += probs[row + u] * qkv[value + at];
          }
        }
      }
    }
  }
  return out;
}

// -log softmax(logits[row])[targets[row]] for each row; exact also where exp would overflow.
inline Values CrossEntropy(const Values& logits, const std::vector<int>& targets) {
  const size_t classes = logits.size() / targets.size();
  Values losses;
  for (size_t row = 0; row < targets.size(); ++row) {
    const double* in = &logits[row * classes];
    const double top = *std::max_element(in, in + classes);
    double sum = 0.0;
    for (size_t c = 0; c < classes; ++c) sum += std::exp(in[c] - top);
    losses.push_back(std::log(sum) + top - in[targets[row]]);
  }
  return losses;
}

// One parameter tensor under AdamW, with bias correction and decoupled weight decay.
struct AdamW {
  Values weight, mean, squares;
  double beta1 = 0.9, beta2 = 0.99, epsilon = 1e-8;
  int steps = 0;

  explicit AdamW(const std::vector<float>& start)
      : weight(Wide(start)), mean(start.size(), 0.0), squares(start.size(), 0.0) {}

  void Step(const std::vector<float>& grad, double lr, double decay, double scale) {
    ++steps;
    for (size_t i = 0; i < weight.size(); ++i) {
      const double g = grad[i] * scale;
      mean[i] = beta1 * mean[i] + (1 - beta1) * g;
      squares[i] = beta2 * squares[i] + (1 - beta2) * g * g;
      const double m = mean[i] / (1 - std::pow(beta1, steps));
      const double v = squares[i] / (1 - std::pow(beta2, steps));
      weight[i] -= lr * (m / (std::sqrt(v) + epsilon) + decay * weight[i]);
    }
  }
};

// A tensor of this dtype that holds the values, rounded to it.
inline Tensor UploadAs(Device& device, DType dtype, const std::vector<float>& values,
                       std::vector<int64_t> shape) {
  const Tensor wide = Upload(device, values, shape);
  if (dtype == DType::kFloat32) return wide;
  Tensor low(device, "test.low", dtype, std::move(shape));
  Cast(wide, low);
  return low;
}

// The allowed error of a float result: `parts` of its own size plus the root mean square of all.
inline void ExpectClose(const std::vector<float>& actual, const Values& expected, double parts,
                        const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  const double size =
      std::sqrt(Dot(expected, expected) / std::max(1.0, static_cast<double>(expected.size())));
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], parts * (std::fabs(expected[i]) + size) + 1e-9)
        << what << " at " << i;
  }
}

// The error of one rounding to the dtype, with a margin for another order of float sums.
inline double Precision(DType dtype) { return dtype == DType::kFloat32 ? 1e-5 : 1.0 / 256; }

}  // namespace memprof::demo::reference

#endif  // TESTS_DEMO_TRAINER_REFERENCE_H_
