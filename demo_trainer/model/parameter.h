// A trained tensor with its gradient, optimizer state and copy.
#ifndef DEMO_TRAINER_MODEL_PARAMETER_H_
#define DEMO_TRAINER_MODEL_PARAMETER_H_

#include <string>
#include <vector>

#include "demo_trainer/tensor.h"

namespace memprof::demo {

struct Parameter {
  std::string name;
  Tensor weight;   // float32
  Tensor grad;     // float32; empty until the first backward pass of a step
  Tensor exp_avg;  // the optimizer's, empty until its first step
  Tensor exp_avg_sq;
  Tensor low;  // bfloat16 copy, from the first use in a step to the end of its backward pass
  bool decay = false;  // weight decay applies

  // Normal numbers of this standard deviation, or `constant` everywhere when it is zero.
  Parameter(Device& device, std::string parameter_name, std::vector<int64_t> shape, float deviation,
            float constant, uint64_t seed);

  // The weight in the dtype of the activations that it is multiplied with.
  const Tensor& As(DType dtype);

  // Allocates the gradient; true when there is one already, to which must be added.
  bool PrepareGrad();
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_MODEL_PARAMETER_H_
