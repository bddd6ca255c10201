// Bodies over single elements: sums, casts, GELU.
#ifndef DEMO_TRAINER_KERNELS_ELEMENTWISE_CUH_
#define DEMO_TRAINER_KERNELS_ELEMENTWISE_CUH_

#include <cmath>

#include "demo_trainer/kernels/bf16.h"
#include "demo_trainer/kernels/launch.cuh"

namespace memprof::demo {

template <typename T>
struct AddBody : CheapBody {
  const T* a;
  const T* b;
  T* out;  // may be a or b
  DEMO_HOST_DEVICE void operator()(int64_t i) const {
    out[i] = FromFloat<T>(ToFloat(a[i]) + ToFloat(b[i]));
  }
};

template <typename From, typename To>
struct CastBody : CheapBody {
  const From* in;
  To* out;
  DEMO_HOST_DEVICE void operator()(int64_t i) const { out[i] = FromFloat<To>(ToFloat(in[i])); }
};

struct ScaleBody : CheapBody {
  float* values;
  float factor;
  DEMO_HOST_DEVICE void operator()(int64_t i) const { values[i] *= factor; }
};

// tanh by one exponential; exact enough for float (relative error below 1e-6), and quick.
DEMO_HOST_DEVICE float Tanh(float x) {
  const float clamped = x < -10.0f ? -10.0f : (x > 10.0f ? 10.0f : x);
  const float e = expf(2.0f * clamped);
  return (e - 1.0f) / (e + 1.0f);
}

// GELU in its tanh form (Hendrycks and Gimpel, 2016).
inline constexpr float kGeluScale = 0.7978845608f;  // sqrt(2 / pi)
inline constexpr float kGeluCubic = 0.044715f;

template <typename T>
struct GeluBody : CheapBody {
  const T* x;
  T* y;
  DEMO_HOST_DEVICE void operator()(int64_t i) const {
    const float v = ToFloat(x[i]);
    const float t = Tanh(kGeluScale * (v + kGeluCubic * v * v * v));
    y[i] = FromFloat<T>(0.5f * v * (1.0f + t));
  }
};

template <typename T>
struct GeluBackwardBody : CheapBody {
  const T* x;
  const T* dy;
  T* dx;  // may be dy
  DEMO_HOST_DEVICE void operator()(int64_t i) const {
    const float v = ToFloat(x[i]);
    const float t = Tanh(kGeluScale * (v + kGeluCubic * v * v * v));
    const float slope = kGeluScale * (1.0f + 3.0f * kGeluCubic * v * v);
    const float derivative = 0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * slope;
    dx[i] = FromFloat<T>(ToFloat(dy[i]) * derivative);
  }
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_ELEMENTWISE_CUH_
