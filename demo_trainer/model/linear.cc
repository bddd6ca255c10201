// The linear layer.
#include "demo_trainer/model/layers.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

Linear::Linear(Device& device, const std::string& name, int64_t in, int64_t out, float deviation,
               uint64_t seed)
    : name_(name),
      weight_(device, name + ".weight", {in, out}, deviation, 0.0f, seed),
      bias_(device, name + ".bias", {out}, 0.0f, 0.0f, seed) {}

Tensor Linear::Forward(const Tensor& x) {
  Tensor y(x.device(), name_ + ".out", x.dtype(), {x.dim(0), weight_.weight.dim(1)});
  MatMul(x, weight_.As(x.dtype()), &bias_.weight, y);
  return y;
}

Tensor Linear::Backward(const Tensor& x, const Tensor& dy) {
  const bool add_to_weight = weight_.PrepareGrad();
  MatMulTransposedA(x, dy, weight_.grad, add_to_weight);
  const bool add_to_bias = bias_.PrepareGrad();
  ColumnSum(dy, bias_.grad, add_to_bias);
  Tensor dx(x.device(), name_ + ".in.grad", x.dtype(), x.shape());
  MatMulTransposedB(dy, weight_.As(x.dtype()), dx, name_ + ".workspace");
  return dx;
}

void Linear::Collect(ParameterList* list) {
  list->push_back(&weight_);
  list->push_back(&bias_);
}

}  // namespace memprof::demo
