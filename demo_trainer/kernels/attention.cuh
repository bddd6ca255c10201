// Causal multi-head attention. A row is one query position: row = (batch * heads + head) * context
// + time. Forward: scores are dots of queries with keys, a softmax over the past, then sums of
// values weighted by it. Backward: the same two kinds of products the other way round, and the
// derivative of the softmax. So there are four bodies: dots, weighted sums, softmax, softmax
// backward.
#ifndef DEMO_TRAINER_KERNELS_ATTENTION_CUH_
#define DEMO_TRAINER_KERNELS_ATTENTION_CUH_

#include <cmath>

#include "demo_trainer/kernels/bf16.h"
#include "demo_trainer/kernels/launch.cuh"

namespace memprof::demo {

struct AttentionShape {
  int context, heads, head_dim;

  DEMO_HOST_DEVICE int Dim() const { return heads * head_dim; }
  DEMO_HOST_DEVICE int Time(int64_t row) const { return static_cast<int>(row % context); }
  DEMO_HOST_DEVICE int Head(int64_t row) const { return static_cast<int>(row / context % heads); }
  DEMO_HOST_DEVICE int64_t Batch(int64_t row) const {
    return row / (static_cast<int64_t>(context) * heads);
  }
};

// The vectors of all heads in a matrix with one line for each time of each batch: `stride` elements
// from one time to the next. Queries, keys and values are adjacent in such a line.
template <typename T>
struct HeadVectors {
  T* data;
  int64_t stride;

  DEMO_HOST_DEVICE T* At(const AttentionShape& shape, int64_t row, int time) const {
    return data + (shape.Batch(row) * shape.context + time) * stride +
           shape.Head(row) * shape.head_dim;
  }
};

// out[t, u] = scale <left_t, right_u> for u <= t; the future is left to the softmax.
template <typename T>
struct CausalDotsBody {
  HeadVectors<const T> left;
  HeadVectors<const T> right;
  T* out;
  AttentionShape shape;
  float scale;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const int t = shape.Time(row);
    const T* a = left.At(shape, row, t);
    for (int u = lanes.First(); u <= t; u += lanes.Step()) {
      const T* b = right.At(shape, row, u);
      float dot = 0.0f;
      for (int c = 0; c < shape.head_dim; ++c) dot += ToFloat(a[c]) * ToFloat(b[c]);
      out[row * shape.context + u] = FromFloat<T>(dot * scale);
    }
  }
};

// out_t = scale * sum of weights[t, u] in_u over the past u <= t or, with kColumns, of
// weights[u, t] in_u over the times u >= t that use t: no two rows write to the same place.
template <typename T, bool kColumns>
struct CausalSumsBody {
  const T* weights;
  HeadVectors<const T> in;
  HeadVectors<T> out;
  AttentionShape shape;
  float scale;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    // Elements of the head in chunks of kWide, and the rest one by one.
    const int whole = shape.head_dim / Lanes::kWide;
    for (int i = lanes.First(); i < whole; i += lanes.Step()) {
      Chunk<Lanes::kWide>(row, i * Lanes::kWide);
    }
    for (int c = whole * Lanes::kWide + lanes.First(); c < shape.head_dim; c += lanes.Step()) {
      Chunk<1>(row, c);
    }
  }

  template <int kWide>
  DEMO_HOST_DEVICE void Chunk(int64_t row, int c) const {
    const int t = shape.Time(row);
    const int first = kColumns ? t : 0;
    const int end = kColumns ? shape.context : t + 1;
    const int64_t weight_stride = kColumns ? shape.context : 1;
    const T* weight = weights + row * shape.context + first;
    const T* vector = in.At(shape, row, first) + c;
    float sums[kWide] = {};
    for (int u = first; u < end; ++u, weight += weight_stride, vector += in.stride) {
      const float w = ToFloat(*weight);
      for (int j = 0; j < kWide; ++j) sums[j] += w * ToFloat(vector[j]);
    }
    T* result = out.At(shape, row, t) + c;
    for (int j = 0; j < kWide; ++j) result[j] = FromFloat<T>(sums[j] * scale);
  }
};

// Softmax over u <= t; probabilities of the future are zero.
template <typename T>
struct CausalSoftmaxBody {
  const T* scores;
  T* probs;  // may be scores
  AttentionShape shape;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const int t = shape.Time(row);
    const T* in = scores + row * shape.context;
    T* out = probs + row * shape.context;
    float top = -INFINITY;
    for (int u = lanes.First(); u <= t; u += lanes.Step()) top = fmaxf(top, ToFloat(in[u]));
    top = lanes.Max(top);
    float sum = 0.0f;
    for (int u = lanes.First(); u <= t; u += lanes.Step()) sum += expf(ToFloat(in[u]) - top);
    const float inverse = 1.0f / lanes.Sum(sum);
    for (int u = lanes.First(); u < shape.context; u += lanes.Step()) {
      out[u] = FromFloat<T>(u <= t ? expf(ToFloat(in[u]) - top) * inverse : 0.0f);
    }
  }
};

// dscores[t, u] = probs (dprobs - <probs, dprobs>); zero for the future.
template <typename T>
struct CausalSoftmaxBackwardBody {
  const T* probs;
  const T* dprobs;
  T* dscores;  // may be dprobs
  AttentionShape shape;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const int t = shape.Time(row);
    const T* p = probs + row * shape.context;
    const T* dp = dprobs + row * shape.context;
    T* ds = dscores + row * shape.context;
    float dot = 0.0f;
    for (int u = lanes.First(); u <= t; u += lanes.Step()) dot += ToFloat(p[u]) * ToFloat(dp[u]);
    dot = lanes.Sum(dot);
    for (int u = lanes.First(); u < shape.context; u += lanes.Step()) {
      ds[u] = FromFloat<T>(u <= t ? ToFloat(p[u]) * (ToFloat(dp[u]) - dot) : 0.0f);
    }
  }
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_ATTENTION_CUH_
