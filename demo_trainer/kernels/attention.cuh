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
  DEMO_HOST_DEVICE int Head(int64_t row) const {
    return static_cast<int>(row / context % heads);
  }
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
    const T* weights = probs + row * shape.context;
    T* result = out + shape.Out(row, t);
    for (int c = lanes.First(); c < shape.head_dim; c += lanes.Step()) {
      float sum = 0.0f;
      for (int u = 0; u <= t; ++u) {
        sum += ToFloat(weights[u]) * ToFloat(qkv[shape.Qkv(row, u, 2) + c]);
      }
      result[c] = FromFloat<T>(sum);
    }
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
    const int context = shape.context;
    const int64_t first_row = row - t;
    for (int c = lanes.First(); c < shape.head_dim; c += lanes.Step()) {
      float dq = 0.0f;
      for (int u = 0; u <= t; ++u) {
        dq += ToFloat(dscores[row * context + u]) * ToFloat(qkv[shape.Qkv(row, u, 1) + c]);
      }
      float dk = 0.0f;
      float dv = 0.0f;
      for (int later = t; later < context; ++later) {
        const int64_t at = (first_row + later) * context + t;
        dk += ToFloat(dscores[at]) * ToFloat(qkv[shape.Qkv(row, later, 0) + c]);
        dv += ToFloat(probs[at]) * ToFloat(dout[shape.Out(row, later) + c]);
      }
      dqkv[shape.Qkv(row, t, 0) + c] = FromFloat<T>(dq * scale);
      dqkv[shape.Qkv(row, t, 1) + c] = FromFloat<T>(dk * scale);
      dqkv[shape.Qkv(row, t, 2) + c] = FromFloat<T>(dv);
    }
  }
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_ATTENTION_CUH_
