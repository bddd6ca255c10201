// Token and position embedding, and their gradients without atomics, so that results repeat.
#ifndef DEMO_TRAINER_KERNELS_EMBEDDING_CUH_
#define DEMO_TRAINER_KERNELS_EMBEDDING_CUH_

#include "demo_trainer/kernels/bf16.h"
#include "demo_trainer/kernels/launch.cuh"

namespace memprof::demo {

template <typename T>
struct EmbeddingBody {
  const int* tokens;
  const float* token_table;
  const float* position_table;
  T* out;
  int context, dim;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const float* token = token_table + static_cast<int64_t>(tokens[row]) * dim;
    const float* position = position_table + (row % context) * dim;
    for (int c = lanes.First(); c < dim; c += lanes.Step()) {
      out[row * dim + c] = FromFloat<T>(token[c] + position[c]);
    }
  }
};

// One row of the token table gathers from every position that holds its token.
template <typename T>
struct TokenGradBody {
  const int* tokens;
  const T* dout;
  float* dtable;
  int positions, dim;
  bool accumulate;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t token, Lanes lanes) const {
    float* out = dtable + token * dim;
    if (!accumulate) {
      for (int c = lanes.First(); c < dim; c += lanes.Step()) out[c] = 0.0f;
    }
    for (int position = 0; position < positions; ++position) {
      if (tokens[position] != token) continue;
      const T* grad = dout + static_cast<int64_t>(position) * dim;
      for (int c = lanes.First(); c < dim; c += lanes.Step()) out[c] += ToFloat(grad[c]);
    }
  }
};

template <typename T>
struct PositionGradBody {
  const T* dout;
  float* dtable;
  int batch, context, dim;
  bool accumulate;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t time, Lanes lanes) const {
    for (int c = lanes.First(); c < dim; c += lanes.Step()) {
      float sum = accumulate ? dtable[time * dim + c] : 0.0f;
      for (int b = 0; b < batch; ++b) {
        sum += ToFloat(dout[(static_cast<int64_t>(b) * context + time) * dim + c]);
      }
      dtable[time * dim + c] = sum;
    }
  }
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_EMBEDDING_CUH_
