// Initialises parameters and makes their copies.
#include "demo_trainer/model/parameter.h"

#include <utility>

#include "demo_trainer/ops/ops.h"
#include "demo_trainer/random.h"

namespace memprof::demo {

Parameter::Parameter(Device& device, std::string parameter_name, std::vector<int64_t> shape,
                     float deviation, float constant, uint64_t seed)
    : name(std::move(parameter_name)),
      weight(device, name, DType::kFloat32, std::move(shape)),
      decay(weight.shape().size() > 1) {
  std::vector<float> values(static_cast<size_t>(weight.count()), constant);
  if (deviation > 0.0f) {
    const uint64_t key = Mix(seed, HashName(name));
    for (size_t i = 0; i < values.size(); ++i) values[i] = deviation * Normal(key, i);
  }
  weight.CopyFromHost(values.data());
}

const Tensor& Parameter::As(DType dtype) {
  if (dtype == DType::kFloat32) return weight;
  if (!low) {
    low = Tensor(weight.device(), name + ".bf16", dtype, weight.shape());
    Cast(weight, low);
  }
  return low;
}

bool Parameter::PrepareGrad() {
  if (grad) return true;
  grad = Tensor(weight.device(), name + ".grad", DType::kFloat32, weight.shape());
  return false;
}

}  // namespace memprof::demo
