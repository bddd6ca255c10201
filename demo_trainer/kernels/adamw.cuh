// One AdamW update (Loshchilov and Hutter, 2019) of each element of a parameter.
#ifndef DEMO_TRAINER_KERNELS_ADAMW_CUH_
#define DEMO_TRAINER_KERNELS_ADAMW_CUH_

#include <cmath>

#include "demo_trainer/kernels/launch.cuh"

namespace memprof::demo {

struct AdamWBody : CheapBody {
  float* weight;
  const float* grad;
  float* exp_avg;
  float* exp_avg_sq;
  float grad_scale;  // undoes loss scaling, and clips
  float lr, beta1, beta2, epsilon, weight_decay;
  float correction1, correction2;  // 1 - beta^step

  __host__ __device__ __forceinline__ void operator()(int64_t i) const {
    const float g = grad[i] * grad_scale;
    const float m = beta1 * exp_avg[i] + (1.0f - beta1) * g;
    const float v = beta2 * exp_avg_sq[i] + (1.0f - beta2) * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    const float update = (m / correction1) / (sqrtf(v / correction2) + epsilon);
    weight[i] -= lr * (update + weight_decay * weight[i]);
  }
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_KERNELS_ADAMW_CUH_
