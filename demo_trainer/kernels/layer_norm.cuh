// Layer normalisation over the last dimension, forward and backward.
#ifndef DEMO_TRAINER_KERNELS_LAYER_NORM_CUH_
#define DEMO_TRAINER_KERNELS_LAYER_NORM_CUH_

#include <cmath>

#include "demo_trainer/kernels/bf16.h"
#include "demo_trainer/kernels/launch.cuh"

namespace memprof::demo {

inline constexpr float kLayerNormEpsilon = 1e-5f;

template <typename T>
struct LayerNormBody {
  const T* x;
  const float* gamma;
  const float* beta;
  T* y;
  float* mean;  // one per row, kept for the backward pass
  float* rstd;  // 1 / standard deviation
  int dim;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const T* in = x + row * dim;
    float sum = 0.0f;
    for (int c = lanes.First(); c < dim; c += lanes.Step()) sum += ToFloat(in[c]);
    const float mu = lanes.Sum(sum) / static_cast<float>(dim);
    float squares = 0.0f;
    for (int c = lanes.First(); c < dim; c += lanes.Step()) {
      const float d = ToFloat(in[c]) - mu;
      squares += d * d;
    }
    const float r = 1.0f / sqrtf(lanes.Sum(squares) / static_cast<float>(dim) + kLayerNormEpsilon);
    T* out = y + row * dim;
    for (int c = lanes.First(); c < dim; c += lanes.Step()) {
      out[c] = FromFloat<T>((ToFloat(in[c]) - mu) * r * gamma[c] + beta[c]);
    }
    if (lanes.First() == 0) {
      mean[row] = mu;
      rstd[row] = r;
    }
  }
};

// With n = (x - mean) * rstd and g = dy * gamma: dx = rstd * (g - avg(g) - n * avg(g * n)).
template <typename T>
struct LayerNormBackwardBody {
  const T* x;
  const T* dy;
  const float* gamma;
  const float* mean;
  const float* rstd;
  T* dx;  // may be dy
  int dim;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const T* in = x + row * dim;
    const T* grad = dy + row * dim;
    const float mu = mean[row];
    const float r = rstd[row];
    float sum_g = 0.0f;
    float sum_gn = 0.0f;
    for (int c = lanes.First(); c < dim; c += lanes.Step()) {
      const float g = ToFloat(grad[c]) * gamma[c];
      sum_g += g;
      sum_gn += g * (ToFloat(in[c]) - mu) * r;
    }
    const float average_g = lanes.Sum(sum_g) / static_cast<float>(dim);
    const float average_gn = lanes.Sum(sum_gn) / static_cast<float>(dim);
    for (int c = lanes.First(); c < dim; c += lanes.Step()) {
      const float g = ToFloat(grad[c]) * gamma[c];
      const float normalised = (ToFloat(in[c]) - mu) * r;
      dx[row * dim + c] = FromFloat<T>(r * (g - average_g - normalised * average_gn));
    }
  }
};

// dgamma and dbeta of eight neighbouring columns.
template <typename T>
struct LayerNormWeightGradBody {
  const T* x;
  const T* dy;
  const float* mean;
  const float* rstd;
  float* dgamma;
  float* dbeta;
  int rows, dim;
  bool accumulate;
  static constexpr int kColumns = 8;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t group, Lanes lanes) const {
    float gammas[kColumns] = {};
    float betas[kColumns] = {};
    const int first = static_cast<int>(group) * kColumns;
    const int count = dim - first < kColumns ? dim - first : kColumns;
    for (int row = lanes.First(); row < rows; row += lanes.Step()) {
      const int64_t at = static_cast<int64_t>(row) * dim + first;
      for (int j = 0; j < count; ++j) {
        const float g = ToFloat(dy[at + j]);
        gammas[j] += g * (ToFloat(x[at + j]) - mean[row]) * rstd[row];
        betas[j] += g;
      }
    }
    for (int j = 0; j < count; ++j) {
      const float gamma_total = lanes.Sum(gammas[j]);
      const float beta_total = lanes.Sum(betas[j]);
      if (lanes.First() == 0) {
        dgamma[first + j] = gamma_total + (accumulate ? dgamma[first + j] : 0.0f);
        dbeta[first + j] = beta_total + (accumulate ? dbeta[first + j] : 0.0f);
      }
    }
  }
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_LAYER_NORM_CUH_
