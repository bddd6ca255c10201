// One block of the model.
#include <utility>

#include "demo_trainer/model/gpt.h"

namespace memprof::demo {

Block::Block(Device& device, const std::string& name, const ModelConfig& config, uint64_t seed)
    : name_(name),
      config_(config),
      norm1_(device, name + ".ln_1", config.dim, seed),
      attention_(device, name + ".attn", config, seed),
      norm2_(device, name + ".ln_2", config.dim, seed),
      mlp_(device, name + ".mlp", config, seed) {}

Tensor Block::Forward(const Tensor& x, Saved* saved) {
  saved->x = x;
  saved->norm1 = norm1_.Forward(x, &saved->norm1_saved);
  const Tensor attended = attention_.Forward(saved->norm1, &saved->attention);
  saved->middle = AddTensors(x, attended, config_.inplace, name_ + ".middle");
  saved->norm2 = norm2_.Forward(saved->middle, &saved->norm2_saved);
  const Tensor computed = mlp_.Forward(saved->norm2, &saved->mlp);
  return AddTensors(saved->middle, computed, config_.inplace, name_ + ".out");
}

Tensor Block::Backward(Saved* saved, Tensor dy) {
  const Tensor dnorm2 = mlp_.Backward(saved->norm2, &saved->mlp, dy);
  saved->norm2.Reset();
  Tensor dmiddle = norm2_.Backward(saved->middle, saved->norm2_saved, dnorm2, config_.inplace);
  saved->middle.Reset();
  saved->norm2_saved = {};
  dmiddle = AddTensors(dy, dmiddle, config_.inplace, name_ + ".middle.grad");
  dy.Reset();

  const Tensor dnorm1 = attention_.Backward(saved->norm1, &saved->attention, dmiddle);
  saved->norm1.Reset();
  const Tensor dx = norm1_.Backward(saved->x, saved->norm1_saved, dnorm1, config_.inplace);
  *saved = {};
  return AddTensors(dmiddle, dx, config_.inplace, name_ + ".in.grad");
}

void Block::Collect(ParameterList* list) {
  norm1_.Collect(list);
  attention_.Collect(list);
  norm2_.Collect(list);
  mlp_.Collect(list);
}

}  // namespace memprof::demo
