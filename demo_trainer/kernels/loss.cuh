// Cross-entropy over the classes of each row, its gradient, and sums of many numbers.
#ifndef DEMO_TRAINER_KERNELS_LOSS_CUH_
#define DEMO_TRAINER_KERNELS_LOSS_CUH_

#include <cmath>

#include "demo_trainer/kernels/bf16.h"
#include "demo_trainer/kernels/launch.cuh"

namespace memprof::demo {

template <typename T, typename Lanes>
DEMO_HOST_DEVICE void LogSumExp(const T* logits, int classes, Lanes lanes, float* top, float* sum) {
  float largest = -INFINITY;
  for (int c = lanes.First(); c < classes; c += lanes.Step()) {
    largest = fmaxf(largest, ToFloat(logits[c]));
  }
  *top = lanes.Max(largest);
  float total = 0.0f;
  for (int c = lanes.First(); c < classes; c += lanes.Step()) {
    total += expf(ToFloat(logits[c]) - *top);
  }
  *sum = lanes.Sum(total);
}

// losses[row] = -log softmax(logits[row])[targets[row]], in nats.
template <typename T>
struct CrossEntropyBody {
  const T* logits;
  const int* targets;
  float* losses;
  int classes;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const T* in = logits + row * classes;
    float top, sum;
    LogSumExp(in, classes, lanes, &top, &sum);
    if (lanes.First() == 0) losses[row] = logf(sum) + top - ToFloat(in[targets[row]]);
  }
};

// dlogits = (softmax - onehot) * scale
template <typename T>
struct CrossEntropyBackwardBody {
  const T* logits;
  const int* targets;
  T* dlogits;  // may be logits
  int classes;
  float scale;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t row, Lanes lanes) const {
    const T* in = logits + row * classes;
    float top, sum;
    LogSumExp(in, classes, lanes, &top, &sum);
    for (int c = lanes.First(); c < classes; c += lanes.Step()) {
      const float p = expf(ToFloat(in[c]) - top) / sum;
      dlogits[row * classes + c] = FromFloat<T>((p - (c == targets[row] ? 1.0f : 0.0f)) * scale);
    }
  }
};

// out[0] = factor * sum of values; a single row.
struct SumBody {
  const float* values;
  float* out;
  int64_t count;
  float factor;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t, Lanes lanes) const {
    double sum = 0.0;
    for (int64_t i = lanes.First(); i < count; i += lanes.Step()) sum += values[i];
    sum = lanes.Sum(sum);
    if (lanes.First() == 0) out[0] = static_cast<float>(sum * factor);
  }
};

// Sum of squares of one chunk of values times `factor`: the first half of a norm.
struct SumSquaresBody {
  const float* values;
  float* partial;  // one per chunk
  int64_t count;
  float factor;
  static constexpr int64_t kChunk = 4096;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t chunk, Lanes lanes) const {
    const int64_t end = (chunk + 1) * kChunk < count ? (chunk + 1) * kChunk : count;
    double sum = 0.0;
    for (int64_t i = chunk * kChunk + lanes.First(); i < end; i += lanes.Step()) {
      const double value = static_cast<double>(values[i]) * factor;
      sum += value * value;
    }
    sum = lanes.Sum(sum);
    if (lanes.First() == 0) partial[chunk] = static_cast<float>(sum);
  }
};

// Counts of each of 256 byte values: one row per value.
struct HistogramBody {
  const int* tokens;
  float* counts;
  int positions;

  template <typename Lanes>
  DEMO_HOST_DEVICE void operator()(int64_t value, Lanes lanes) const {
    float count = 0.0f;
    for (int i = lanes.First(); i < positions; i += lanes.Step()) {
      count += tokens[i] == value ? 1.0f : 0.0f;
    }
    count = lanes.Sum(count);
    if (lanes.First() == 0) counts[value] = count;
  }
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_LOSS_CUH_
