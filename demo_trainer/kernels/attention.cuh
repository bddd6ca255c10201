// Causal multi-head attention in three stages, scores, softmax, values, and their backward
// stages. A row is one query position: row = (batch * heads + head) * context + time. `qkv` holds
// queries, keys and values side by side: [batch * context, 3 * dim].
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
  // Offset of part 0 (query), 1 (key) or 2 (value) of the row's head at `time`.
  DEMO_HOST_DEVICE int64_t Qkv(int64_t row, int time, int part) const {
    return ((Batch(row) * context + time) * 3 + part) * Dim() + Head(row) * head_dim;
  }
  // Offset of the row's head at `time` in a [batch * context, dim] matrix.
  DEMO_HOST_DEVICE int64_t Out(int64_t row, int time) const {
    return (Batch(row) * context + time) * Dim() + Head(row) * head_dim;
  }
};

template <typename T>
DEMO_HOST_DEVICE float Dot(const T* a, const T* b, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += ToFloat(a[i]) * ToFloat(b[i]);
  return sum;
}

// scores[row, u] = <q_t, k_u> / sqrt(head_dim) for u <= t; the rest is left to the softmax.
template <typename T>
struct AttentionScoresBody {
  const T* qkv;
  T* scores;
  AttentionShape shape;
  float scale;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const int t = shape.Time(row);
    const T* query = qkv + shape.Qkv(row, t, 0);
    for (int u = lanes.First(); u <= t; u += lanes.Step()) {
      const float dot = Dot(query, qkv + shape.Qkv(row, u, 1), shape.head_dim);
      scores[row * shape.context + u] = FromFloat<T>(dot * scale);
    }
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

// out_t = sum over u of probs[t, u] v_u
template <typename T>
struct AttentionValuesBody {
  const T* qkv;
  const T* probs;
  T* out;
  AttentionShape shape;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const int t = shape.Time(row);
    // Elements of the head in chunks of kWide, what is left over one by one.
    const int whole = shape.head_dim / Lanes::kWide;
    for (int i = lanes.First(); i < whole; i += lanes.Step()) {
      Chunk<Lanes::kWide>(row, t, i * Lanes::kWide);
    }
    for (int c = whole * Lanes::kWide + lanes.First(); c < shape.head_dim; c += lanes.Step()) {
      Chunk<1>(row, t, c);
    }
  }

  template <int kWide>
  DEMO_HOST_DEVICE void Chunk(int64_t row, int t, int c) const {
    const T* weights = probs + row * shape.context;
    const T* value = qkv + shape.Qkv(row, 0, 2) + c;
    const int64_t stride = 3 * shape.Dim();
    float sums[kWide] = {};
    for (int u = 0; u <= t; ++u, value += stride) {
      const float weight = ToFloat(weights[u]);
      for (int j = 0; j < kWide; ++j) sums[j] += weight * ToFloat(value[j]);
    }
    T* result = out + shape.Out(row, t) + c;
    for (int j = 0; j < kWide; ++j) result[j] = FromFloat<T>(sums[j]);
  }
};

// dprobs[t, u] = <dout_t, v_u>
template <typename T>
struct AttentionProbsGradBody {
  const T* dout;
  const T* qkv;
  T* dprobs;
  AttentionShape shape;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const int t = shape.Time(row);
    const T* grad = dout + shape.Out(row, t);
    for (int u = lanes.First(); u <= t; u += lanes.Step()) {
      dprobs[row * shape.context + u] =
          FromFloat<T>(Dot(grad, qkv + shape.Qkv(row, u, 2), shape.head_dim));
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

// All three parts of dqkv at one position: dq_t from the row of dscores, dk_t and dv_t from the
// columns of dscores and probs, so that no two rows write the same place.
template <typename T>
struct AttentionQkvGradBody {
  const T* dout;
  const T* qkv;
  const T* probs;
  const T* dscores;
  T* dqkv;
  AttentionShape shape;
  float scale;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const int t = shape.Time(row);
    const int whole = shape.head_dim / Lanes::kWide;
    for (int i = lanes.First(); i < whole; i += lanes.Step()) {
      Chunk<Lanes::kWide>(row, t, i * Lanes::kWide);
    }
    for (int c = whole * Lanes::kWide + lanes.First(); c < shape.head_dim; c += lanes.Step()) {
      Chunk<1>(row, t, c);
    }
  }

  template <int kWide>
  DEMO_HOST_DEVICE void Chunk(int64_t row, int t, int c) const {
    const int context = shape.context;
    const int64_t stride = 3 * shape.Dim();
    float dq[kWide] = {};
    const T* key = qkv + shape.Qkv(row, 0, 1) + c;
    for (int u = 0; u <= t; ++u, key += stride) {
      const float ds = ToFloat(dscores[row * context + u]);
      for (int j = 0; j < kWide; ++j) dq[j] += ds * ToFloat(key[j]);
    }
    float dk[kWide] = {};
    float dv[kWide] = {};
    const T* query = qkv + shape.Qkv(row, t, 0) + c;
    const T* grad = dout + shape.Out(row, t) + c;
    for (int later = t; later < context; ++later, query += stride, grad += shape.Dim()) {
      const int64_t at = (row - t + later) * context + t;
      const float ds = ToFloat(dscores[at]);
      const float p = ToFloat(probs[at]);
      for (int j = 0; j < kWide; ++j) {
        dk[j] += ds * ToFloat(query[j]);
        dv[j] += p * ToFloat(grad[j]);
      }
    }
    for (int j = 0; j < kWide; ++j) {
      dqkv[shape.Qkv(row, t, 0) + c + j] = FromFloat<T>(dq[j] * scale);
      dqkv[shape.Qkv(row, t, 1) + c + j] = FromFloat<T>(dk[j] * scale);
      dqkv[shape.Qkv(row, t, 2) + c + j] = FromFloat<T>(dv[j]);
    }
  }
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_ATTENTION_CUH_
