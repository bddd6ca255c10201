// The two-layer perceptron of a block.
#include "demo_trainer/model/layers.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

Mlp::Mlp(Device& device, const std::string& name, const ModelConfig& config, uint64_t seed)
    : name_(name),
      config_(config),
      up_(device, name + ".up", config.dim, 4 * config.dim, kInitialDeviation, seed),
      down_(device, name + ".down", 4 * config.dim, config.dim, ResidualDeviation(config), seed) {}

Tensor Mlp::Forward(const Tensor& x, Saved* saved) {
  saved->hidden = up_.Forward(x);
  saved->act = Tensor(x.device(), name_ + ".act", x.dtype(), saved->hidden.shape());
  Gelu(saved->hidden, saved->act);
  return down_.Forward(saved->act);
}

Tensor Mlp::Backward(const Tensor& x, Saved* saved, const Tensor& dy) {
  Tensor dact = down_.Backward(saved->act, dy);
  saved->act.Reset();
  const Tensor dhidden = config_.inplace ? dact
                                         : Tensor(x.device(), name_ + ".hidden.grad", x.dtype(),
                                                  saved->hidden.shape());
  GeluBackward(saved->hidden, dact, dhidden);
  dact.Reset();
  saved->hidden.Reset();
  return up_.Backward(x, dhidden);
}

void Mlp::Collect(ParameterList* list) {
  up_.Collect(list);
  down_.Collect(list);
}

}  // namespace memprof::demo
