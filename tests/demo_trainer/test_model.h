// Small models and batches for tests, and ways to read them.
#ifndef TESTS_DEMO_TRAINER_TEST_MODEL_H_
#define TESTS_DEMO_TRAINER_TEST_MODEL_H_

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "demo_trainer/model/gpt.h"
#include "demo_trainer/ops/ops.h"
#include "demo_trainer/random.h"
#include "demo_trainer/train/loader.h"

namespace memprof::demo {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline std::unique_ptr<Device> MakeDevice(AllocatorKind kind = AllocatorKind::kCaching) {
  return std::make_unique<Device>(0, kind, std::numeric_limits<size_t>::max());
}

// Sizes that are not multiples of any tile, vector or warp.
inline ModelConfig SmallConfig() {
  ModelConfig config;
  config.layers = 2;
  config.dim = 20;
  config.heads = 2;
  config.context = 7;
  return config;
}

inline Batch SmallBatch(Device& device, const ModelConfig& config, int64_t rows) {
  HostBatch host;
  for (int64_t i = 0; i < rows * config.context; ++i) {
    host.tokens.push_back(static_cast<int>(Mix(11, static_cast<uint64_t>(i)) % 256));
    host.targets.push_back(static_cast<int>(Mix(12, static_cast<uint64_t>(i)) % 256));
  }
  return UploadBatch(device, host, rows);
}

inline std::vector<float> Read(const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.count()));
  if (tensor.dtype() == DType::kFloat32) {
    tensor.CopyToHost(values.data());
  } else {
    std::vector<BFloat16> low(values.size());
    tensor.CopyToHost(low.data());
    for (size_t i = 0; i < low.size(); ++i) values[i] = ToFloat(low[i]);
  }
  return values;
}

inline Tensor Upload(Device& device, const std::vector<float>& values, std::vector<int64_t> shape) {
  Tensor tensor(device, "test", DType::kFloat32, std::move(shape));
  tensor.CopyFromHost(values.data());
  return tensor;
}

inline std::vector<float> RandomValues(size_t count, uint64_t seed, float deviation = 1.0f) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = deviation * Normal(seed, i);
  return values;
}

// Weights large enough for every part of the model to matter.
inline void EnlargeWeights(Gpt& model) {
  uint64_t seed = 100;
  for (Parameter* parameter : model.parameters()) {
    const bool norm_scale =
        parameter->name.find("ln_") != std::string::npos && parameter->name.ends_with(".weight");
    std::vector<float> values =
        RandomValues(static_cast<size_t>(parameter->weight.count()), ++seed, 0.3f);
    for (float& value : values) value += norm_scale ? 1.0f : 0.0f;
    parameter->weight.CopyFromHost(values.data());
  }
}

// Mean loss in double precision, from float losses of single positions.
inline double LossOf(Gpt& model, const Batch& batch) {
  const Tensor logits = model.Forward(batch.tokens, nullptr);
  const Tensor rows(model.device(), "rows", DType::kFloat32, {logits.dim(0)});
  CrossEntropy(logits, batch.targets, rows);
  double sum = 0.0;
  for (const float value : Read(rows)) sum += value;
  return sum / static_cast<double>(logits.dim(0));
}

// Computes the gradients of all parameters. As in training, the gradient of the logits overwrites
// them where the model may work in place.
inline void ComputeGradients(Gpt& model, const Batch& batch) {
  Gpt::Saved saved;
  Tensor logits = model.Forward(batch.tokens, &saved);
  Tensor dlogits = model.config().inplace
                       ? logits
                       : Tensor(model.device(), "logits.grad", logits.dtype(), logits.shape());
  CrossEntropyBackward(logits, batch.targets, dlogits, 1.0f / static_cast<float>(logits.dim(0)));
  logits.Reset();
  model.Backward(std::move(saved), std::move(dlogits));
}

}  // namespace memprof::demo

#endif  // TESTS_DEMO_TRAINER_TEST_MODEL_H_
