// The layer norm layer, and sums of tensors.
#include "demo_trainer/model/layers.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

LayerNormLayer::LayerNormLayer(Device& device, const std::string& name, int64_t dim, uint64_t seed)
    : name_(name),
      weight_(device, name + ".weight", {dim}, 0.0f, 1.0f, seed),
      bias_(device, name + ".bias", {dim}, 0.0f, 0.0f, seed) {}

Tensor LayerNormLayer::Forward(const Tensor& x, Saved* saved) {
  Device& device = x.device();
  saved->mean = Tensor(device, name_ + ".mean", DType::kFloat32, {x.dim(0)});
  saved->rstd = Tensor(device, name_ + ".rstd", DType::kFloat32, {x.dim(0)});
  Tensor y(device, name_ + ".out", x.dtype(), x.shape());
  LayerNorm(x, weight_.weight, bias_.weight, y, saved->mean, saved->rstd);
  return y;
}

Tensor LayerNormLayer::Backward(const Tensor& x, const Saved& saved, const Tensor& dy,
                                bool inplace) {
  const bool accumulate = weight_.PrepareGrad();
  bias_.PrepareGrad();
  Tensor dx = inplace ? dy : Tensor(x.device(), name_ + ".in.grad", x.dtype(), x.shape());
  LayerNormBackward(x, dy, weight_.weight, saved.mean, saved.rstd, dx, weight_.grad, bias_.grad,
                    accumulate);
  return dx;
}

void LayerNormLayer::Collect(ParameterList* list) {
  list->push_back(&weight_);
  list->push_back(&bias_);
}

Tensor AddTensors(const Tensor& a, const Tensor& b, bool inplace, const std::string& name) {
  Tensor sum = inplace ? b : Tensor(b.device(), name, b.dtype(), b.shape());
  Add(a, b, sum);
  return sum;
}

}  // namespace memprof::demo
