// The model: a byte-level GPT with pre-normalised blocks.
#ifndef DEMO_TRAINER_MODEL_GPT_H_
#define DEMO_TRAINER_MODEL_GPT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "demo_trainer/model/layers.h"

namespace memprof::demo {

// x + attention(norm(x)), then the same with the perceptron.
class Block {
 public:
  // The data of the forward pass for the backward pass.
  struct Saved {
    Tensor x;
    Tensor norm1;
    LayerNormLayer::Saved norm1_saved;
    Attention::Saved attention;
    Tensor middle;  // the residual stream between the two halves
    Tensor norm2;
    LayerNormLayer::Saved norm2_saved;
    Mlp::Saved mlp;
  };

  Block(Device& device, const std::string& name, const ModelConfig& config, uint64_t seed);
  Tensor Forward(const Tensor& x, Saved* saved);
  // Frees the tensors of `saved` as it uses them.
  Tensor Backward(Saved* saved, Tensor dy);
  void Collect(ParameterList* list);

 private:
  const std::string name_;
  const ModelConfig config_;
  LayerNormLayer norm1_;
  Attention attention_;
  LayerNormLayer norm2_;
  Mlp mlp_;
};

class Gpt {
 public:
  struct Saved {
    Tensor tokens;
    std::vector<Block::Saved> blocks;  // with checkpointing only their inputs
    Tensor last;                       // output of the last block
    LayerNormLayer::Saved norm_saved;
    Tensor norm;
  };
  // Called once in each training forward pass with the activation of each block's perceptron.
  using ForwardHook = std::function<void(const Tensor& activation)>;

  Gpt(Device& device, const ModelConfig& config, uint64_t seed);

  // tokens int32 [batch, context]; the logits are [batch * context, 256]. `saved` may be null:
  // then nothing is stored for a backward pass.
  Tensor Forward(const Tensor& tokens, Saved* saved);
  // Adds to the gradients of all parameters.
  void Backward(Saved saved, Tensor dlogits);

  void SetForwardHook(ForwardHook hook) { hook_ = std::move(hook); }
  // Frees the bfloat16 copies of the weights before the optimizer changes these.
  void DropLowPrecisionWeights();

  const ParameterList& parameters() const { return parameters_; }
  const ModelConfig& config() const { return config_; }
  Device& device() const { return device_; }

  // Number of trained values of such a model.
  static int64_t ParameterCount(const ModelConfig& config);

 private:
  Device& device_;
  const ModelConfig config_;
  Parameter token_table_;
  Parameter position_table_;
  std::vector<std::unique_ptr<Block>> blocks_;
  LayerNormLayer norm_;
  Linear head_;
  ParameterList parameters_;
  ForwardHook hook_;
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_MODEL_GPT_H_
