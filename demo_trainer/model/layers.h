// Layers with hand-written backward passes. A layer stores no activations: the caller passes the
// inputs of the forward pass to the backward pass.
#ifndef DEMO_TRAINER_MODEL_LAYERS_H_
#define DEMO_TRAINER_MODEL_LAYERS_H_

#include <string>
#include <vector>

#include "demo_trainer/model/config.h"
#include "demo_trainer/model/parameter.h"

namespace memprof::demo {

using ParameterList = std::vector<Parameter*>;

// y = x W + b, x [rows, in].
class Linear {
 public:
  Linear(Device& device, const std::string& name, int64_t in, int64_t out, float deviation,
         uint64_t seed);
  Tensor Forward(const Tensor& x);
  // Adds to the gradients of W and b; returns the gradient of x.
  Tensor Backward(const Tensor& x, const Tensor& dy);
  void Collect(ParameterList* list);

 private:
  const std::string name_;
  Parameter weight_;
  Parameter bias_;
};

class LayerNormLayer {
 public:
  // The data that the backward pass needs beside the input.
  struct Saved {
    Tensor mean;
    Tensor rstd;
  };

  LayerNormLayer(Device& device, const std::string& name, int64_t dim, uint64_t seed);
  Tensor Forward(const Tensor& x, Saved* saved);
  // Overwrites dy when `inplace`.
  Tensor Backward(const Tensor& x, const Saved& saved, const Tensor& dy, bool inplace);
  void Collect(ParameterList* list);

 private:
  const std::string name_;
  Parameter weight_;
  Parameter bias_;
};

// Causal multi-head self-attention with its two projections.
class Attention {
 public:
  struct Saved {
    Tensor qkv;
    Tensor probs;
    Tensor mixed;  // the output of the heads, before the output projection
  };

  Attention(Device& device, const std::string& name, const ModelConfig& config, uint64_t seed);
  Tensor Forward(const Tensor& x, Saved* saved);
  // Frees tensors of `saved` as soon as they are no longer needed.
  Tensor Backward(const Tensor& x, Saved* saved, const Tensor& dy);
  void Collect(ParameterList* list);

 private:
  const std::string name_;
  const ModelConfig config_;
  Linear qkv_;
  Linear projection_;
};

class Mlp {
 public:
  struct Saved {
    Tensor hidden;  // before the activation function
    Tensor act;
  };

  Mlp(Device& device, const std::string& name, const ModelConfig& config, uint64_t seed);
  Tensor Forward(const Tensor& x, Saved* saved);
  Tensor Backward(const Tensor& x, Saved* saved, const Tensor& dy);
  void Collect(ParameterList* list);

 private:
  const std::string name_;
  const ModelConfig config_;
  Linear up_;
  Linear down_;
};

// a + b; stored in b if `inplace`, else in a new tensor.
Tensor AddTensors(const Tensor& a, const Tensor& b, bool inplace, const std::string& name);

// Standard deviation of initial weights, as in GPT-2; projections into the residual stream start
// smaller by the square root of their number.
inline constexpr float kInitialDeviation = 0.02f;
float ResidualDeviation(const ModelConfig& config);

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_MODEL_LAYERS_H_
