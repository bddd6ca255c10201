// The shape of the model.
#ifndef DEMO_TRAINER_MODEL_CONFIG_H_
#define DEMO_TRAINER_MODEL_CONFIG_H_

#include <cstdint>

#include "demo_trainer/tensor.h"

namespace memprof::demo {

inline constexpr int64_t kVocabulary = 256;  // bytes

struct ModelConfig {
  int64_t layers = 4;
  int64_t dim = 128;
  int64_t heads = 4;
  int64_t context = 128;
  DType dtype = DType::kFloat32;  // of activations, and of weights in products with them
  bool inplace = false;           // reuse inputs that the backward pass does not need
  bool checkpointing = false;     // store only block inputs, recompute the rest
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_MODEL_CONFIG_H_
