// Layer normalisation.
#include "demo_trainer/kernels/layer_norm.cuh"
#include "demo_trainer/ops/dispatch.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

void LayerNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& y,
               const Tensor& mean, const Tensor& rstd) {
  ForDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    LayerNormBody<T> body;
    body.x = x.data<T>();
    body.gamma = gamma.data<float>();
    body.beta = beta.data<float>();
    body.y = y.data<T>();
    body.mean = mean.data<float>();
    body.rstd = rstd.data<float>();
    body.dim = static_cast<int>(gamma.count());
    x.device().Select();
    LaunchRows(body, mean.count(), x.device().compute_stream());
  });
}

void LayerNormBackward(const Tensor& x, const Tensor& dy, const Tensor& gamma, const Tensor& mean,
                       const Tensor& rstd, const Tensor& dx, const Tensor& dgamma,
                       const Tensor& dbeta, bool accumulate) {
  ForDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    LayerNormWeightGradBody<T> weights;
    weights.x = x.data<T>();
    weights.dy = dy.data<T>();
    weights.mean = mean.data<float>();
    weights.rstd = rstd.data<float>();
    weights.dgamma = dgamma.data<float>();
    weights.dbeta = dbeta.data<float>();
    weights.rows = static_cast<int>(mean.count());
    weights.dim = static_cast<int>(gamma.count());
    weights.accumulate = accumulate;
    x.device().Select();
    const int64_t groups = (weights.dim + weights.kColumns - 1) / weights.kColumns;
    LaunchRows(weights, groups, x.device().compute_stream());

    LayerNormBackwardBody<T> body;
    body.x = weights.x;
    body.dy = weights.dy;
    body.gamma = gamma.data<float>();
    body.mean = weights.mean;
    body.rstd = weights.rstd;
    body.dx = dx.data<T>();
    body.dim = weights.dim;
    LaunchRows(body, mean.count(), x.device().compute_stream());
  });
}

}  // namespace memprof::demo
