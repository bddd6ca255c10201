// The attention layer.
#include <cmath>

#include "demo_trainer/model/layers.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

float ResidualDeviation(const ModelConfig& config) {
  return kInitialDeviation / std::sqrt(2.0f * static_cast<float>(config.layers));
}

Attention::Attention(Device& device, const std::string& name, const ModelConfig& config,
                     uint64_t seed)
    : name_(name),
      config_(config),
      qkv_(device, name + ".qkv", config.dim, 3 * config.dim, kInitialDeviation, seed),
      projection_(device, name + ".proj", config.dim, config.dim, ResidualDeviation(config), seed) {
}

Tensor Attention::Forward(const Tensor& x, Saved* saved) {
  Device& device = x.device();
  const int64_t batch = x.dim(0) / config_.context;
  const std::vector<int64_t> square = {batch, config_.heads, config_.context, config_.context};
  saved->qkv = qkv_.Forward(x);
  Tensor scores(device, name_ + ".scores", x.dtype(), square);
  AttentionScores(saved->qkv, scores);
  saved->probs = config_.inplace ? scores : Tensor(device, name_ + ".probs", x.dtype(), square);
  CausalSoftmax(scores, saved->probs);
  scores.Reset();
  saved->mixed = Tensor(device, name_ + ".mixed", x.dtype(), x.shape());
  AttentionValues(saved->qkv, saved->probs, saved->mixed);
  return projection_.Forward(saved->mixed);
}

Tensor Attention::Backward(const Tensor& x, Saved* saved, const Tensor& dy) {
  Device& device = x.device();
  const Tensor dmixed = projection_.Backward(saved->mixed, dy);
  saved->mixed.Reset();
  Tensor dprobs(device, name_ + ".probs.grad", x.dtype(), saved->probs.shape());
  AttentionProbsGrad(dmixed, saved->qkv, dprobs);
  Tensor dscores = config_.inplace
                       ? dprobs
                       : Tensor(device, name_ + ".scores.grad", x.dtype(), saved->probs.shape());
  CausalSoftmaxBackward(saved->probs, dprobs, dscores);
  dprobs.Reset();
  Tensor dqkv(device, name_ + ".qkv.out.grad", x.dtype(), saved->qkv.shape());
  AttentionQkvGrad(dmixed, saved->qkv, saved->probs, dscores, dqkv);
  dscores.Reset();
  saved->probs.Reset();
  saved->qkv.Reset();
  return qkv_.Backward(x, dqkv);
}

void Attention::Collect(ParameterList* list) {
  qkv_.Collect(list);
  projection_.Collect(list);
}

}  // namespace memprof::demo
