// Updates parameters from their gradients.
#include "demo_trainer/train/optimizer.h"

#include <cmath>

#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

constexpr float kWeightDecay = 0.01f;

Optimizer::Optimizer(Device& device, const ParameterList& parameters)
    : device_(device), parameters_(parameters) {}

float Optimizer::GradientNorm(float factor) {
  int64_t chunks = 0;
  for (const Parameter* parameter : parameters_) {
    chunks += SumSquaresChunks(parameter->grad.count());
  }
  const Tensor partial(device_, "optimizer.norm.partial", DType::kFloat32, {chunks});
  int64_t first = 0;
  for (const Parameter* parameter : parameters_) {
    SumSquares(parameter->grad, factor, partial, first);
    first += SumSquaresChunks(parameter->grad.count());
  }
  const Tensor total(device_, "optimizer.norm", DType::kFloat32, {1});
  Sum(partial, total, 1.0f);
  float squares = 0.0f;
  total.CopyToHost(&squares);
  return std::sqrt(squares);
}

void Optimizer::Step(float lr, float grad_scale) {
  ++steps_;
  for (Parameter* parameter : parameters_) {
    if (!parameter->exp_avg) {
      const auto& shape = parameter->weight.shape();
      parameter->exp_avg = Tensor(device_, parameter->name + ".exp_avg", DType::kFloat32, shape);
      parameter->exp_avg_sq =
          Tensor(device_, parameter->name + ".exp_avg_sq", DType::kFloat32, shape);
      Zero(parameter->exp_avg);
      Zero(parameter->exp_avg_sq);
    }
    AdamWSettings settings;
    settings.lr = lr;
    settings.grad_scale = grad_scale;
    settings.weight_decay = parameter->decay ? kWeightDecay : 0.0f;
    settings.step = steps_;
    AdamW(parameter->weight, parameter->grad, parameter->exp_avg, parameter->exp_avg_sq, settings);
  }
}

void Optimizer::ClearGradients() {
  for (Parameter* parameter : parameters_) parameter->grad.Reset();
}

bool LossScaler::Update(float gradient_norm) {
  if (!std::isfinite(gradient_norm)) {
    ++skipped_;
    good_steps_ = 0;
    if (dynamic_) scale_ *= 0.5f;
    return false;
  }
  if (dynamic_ && ++good_steps_ == growth_interval_) {
    if (std::isfinite(scale_ * 2.0f)) scale_ *= 2.0f;
    good_steps_ = 0;
  }
  return true;
}

}  // namespace memprof::demo
