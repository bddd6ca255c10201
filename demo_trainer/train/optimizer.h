// AdamW over the parameters of one model, gradient norms, and dynamic loss scaling.
#ifndef DEMO_TRAINER_TRAIN_OPTIMIZER_H_
#define DEMO_TRAINER_TRAIN_OPTIMIZER_H_

#include <cstdint>

#include "demo_trainer/model/gpt.h"

namespace memprof::demo {

class Optimizer {
 public:
  Optimizer(Device& device, const ParameterList& parameters);

  // Euclidean norm of all gradients together, times `factor`; infinite or NaN when one of them is.
  // Waits for it.
  float GradientNorm(float factor);
  // One update with the gradients times `grad_scale`. The first update creates the state tensors.
  void Step(float lr, float grad_scale);
  // Frees the gradients.
  void ClearGradients();

  int64_t steps() const { return steps_; }

 private:
  Device& device_;
  const ParameterList parameters_;
  int64_t steps_ = 0;
};

// A factor of the loss, so that small gradients do not become 0 in a small dtype: halved if a
// gradient overflows (the step is then skipped), doubled after `growth_interval` good steps in
// succession.
class LossScaler {
 public:
  explicit LossScaler(float scale, bool dynamic, int64_t growth_interval = 100)
      : scale_(scale), dynamic_(dynamic), growth_interval_(growth_interval) {}

  float scale() const { return scale_; }
  int64_t skipped() const { return skipped_; }
  // Stores the norm of the gradients; false when the step must be skipped.
  bool Update(float gradient_norm);

 private:
  float scale_;
  const bool dynamic_;
  const int64_t growth_interval_;
  int64_t good_steps_ = 0;
  int64_t skipped_ = 0;
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_TRAIN_OPTIMIZER_H_
