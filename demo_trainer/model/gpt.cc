// The model's forward and backward passes.
#include "demo_trainer/model/gpt.h"

#include <utility>

#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

Gpt::Gpt(Device& device, const ModelConfig& config, uint64_t seed)
    : device_(device),
      config_(config),
      token_table_(device, "wte.weight", {kVocabulary, config.dim}, kInitialDeviation, 0, seed),
      position_table_(device, "wpe.weight", {config.context, config.dim}, kInitialDeviation, 0,
                      seed),
      norm_(device, "ln_f", config.dim, seed),
      head_(device, "lm_head", config.dim, kVocabulary, kInitialDeviation, seed) {
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    blocks_.push_back(
        std::make_unique<Block>(device, "blocks." + std::to_string(layer), config, seed));
  }
  parameters_ = {&token_table_, &position_table_};
  for (const auto& block : blocks_) block->Collect(&parameters_);
  norm_.Collect(&parameters_);
  head_.Collect(&parameters_);
}

Tensor Gpt::Forward(const Tensor& tokens, Saved* saved) {
  Saved unused;
  Saved& kept = saved != nullptr ? *saved : unused;
  Tensor x(device_, "embedding.out", config_.dtype, {tokens.count(), config_.dim});
  Embedding(tokens, token_table_.weight, position_table_.weight, x);
  kept.tokens = tokens;
  if (saved != nullptr) kept.blocks.reserve(blocks_.size());
  for (const auto& block : blocks_) {
    Block::Saved block_saved;
    Tensor y = block->Forward(x, &block_saved);
    if (saved != nullptr) {
      if (hook_) hook_(block_saved.mlp.act);
      if (config_.checkpointing) {
        block_saved = {};
        block_saved.x = x;
      }
      kept.blocks.push_back(std::move(block_saved));
    }
    x = std::move(y);
  }
  kept.last = x;
  kept.norm = norm_.Forward(x, &kept.norm_saved);
  return head_.Forward(kept.norm);
}

void Gpt::Backward(Saved saved, Tensor dlogits) {
  const Tensor dnorm = head_.Backward(saved.norm, dlogits);
  dlogits.Reset();
  saved.norm.Reset();
  Tensor dx = norm_.Backward(saved.last, saved.norm_saved, dnorm, config_.inplace);
  saved.last.Reset();
  saved.norm_saved = {};
  for (size_t i = blocks_.size(); i-- > 0;) {
    Block::Saved& block_saved = saved.blocks[i];
    if (config_.checkpointing) {
      const Tensor x = block_saved.x;
      blocks_[i]->Forward(x, &block_saved);
    }
    dx = blocks_[i]->Backward(&block_saved, std::move(dx));
  }
  const bool accumulate = token_table_.PrepareGrad();
  position_table_.PrepareGrad();
  EmbeddingBackward(saved.tokens, dx, token_table_.grad, position_table_.grad, accumulate);
}

void Gpt::DropLowPrecisionWeights() {
  for (Parameter* parameter : parameters_) parameter->low.Reset();
}

int64_t Gpt::ParameterCount(const ModelConfig& config) {
  const int64_t d = config.dim;
  const int64_t norms = 4 * d;
  const int64_t attention = d * 3 * d + 3 * d + d * d + d;
  const int64_t mlp = d * 4 * d + 4 * d + 4 * d * d + d;
  return (kVocabulary + config.context) * d + config.layers * (norms + attention + mlp) + 2 * d +
         d * kVocabulary + kVocabulary;
}

}  // namespace memprof::demo
