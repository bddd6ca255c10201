// The stages of attention.
#include <cmath>

#include "demo_trainer/kernels/attention.cuh"
#include "demo_trainer/ops/dispatch.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {
namespace {

// From qkv [batch * context, 3 * dim] and probs [batch, heads, context, context].
AttentionShape ShapeOf(const Tensor& qkv, const Tensor& probs) {
  AttentionShape shape;
  shape.heads = static_cast<int>(probs.dim(1));
  shape.context = static_cast<int>(probs.dim(2));
  shape.head_dim = static_cast<int>(qkv.dim(1)) / 3 / shape.heads;
  return shape;
}

AttentionShape ShapeOf(const Tensor& probs) {
  return AttentionShape{static_cast<int>(probs.dim(2)), static_cast<int>(probs.dim(1)), 0};
}

float ScaleOf(const AttentionShape& shape) {
  return 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
}

// One row per query position: as many as there are rows in `probs`.
template <typename Body>
void Launch(const Body& body, const Tensor& probs) {
  probs.device().Select();
  LaunchRows(body, probs.count() / probs.dim(3), probs.device().compute_stream());
}

}  // namespace

void AttentionScores(const Tensor& qkv, const Tensor& scores) {
  ForDType(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    AttentionScoresBody<T> body;
    body.qkv = qkv.data<T>();
    body.scores = scores.data<T>();
    body.shape = ShapeOf(qkv, scores);
    body.scale = ScaleOf(body.shape);
    Launch(body, scores);
  });
}

void CausalSoftmax(const Tensor& scores, const Tensor& probs) {
  ForDType(scores.dtype(), [&](auto zero) {
    using T = decltype(zero);
    CausalSoftmaxBody<T> body;
    body.scores = scores.data<T>();
    body.probs = probs.data<T>();
    body.shape = ShapeOf(probs);
    Launch(body, probs);
  });
}

void AttentionValues(const Tensor& qkv, const Tensor& probs, const Tensor& out) {
  ForDType(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    AttentionValuesBody<T> body;
    body.qkv = qkv.data<T>();
    body.probs = probs.data<T>();
    body.out = out.data<T>();
    body.shape = ShapeOf(qkv, probs);
    Launch(body, probs);
  });
}

void AttentionProbsGrad(const Tensor& dout, const Tensor& qkv, const Tensor& dprobs) {
  ForDType(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    AttentionProbsGradBody<T> body;
    body.dout = dout.data<T>();
    body.qkv = qkv.data<T>();
    body.dprobs = dprobs.data<T>();
    body.shape = ShapeOf(qkv, dprobs);
    Launch(body, dprobs);
  });
}

void CausalSoftmaxBackward(const Tensor& probs, const Tensor& dprobs, const Tensor& dscores) {
  ForDType(probs.dtype(), [&](auto zero) {
    using T = decltype(zero);
    CausalSoftmaxBackwardBody<T> body;
    body.probs = probs.data<T>();
    body.dprobs = dprobs.data<T>();
    body.dscores = dscores.data<T>();
    body.shape = ShapeOf(probs);
    Launch(body, probs);
  });
}

void AttentionQkvGrad(const Tensor& dout, const Tensor& qkv, const Tensor& probs,
                      const Tensor& dscores, const Tensor& dqkv) {
  ForDType(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    AttentionQkvGradBody<T> body;
    body.dout = dout.data<T>();
    body.qkv = qkv.data<T>();
    body.probs = probs.data<T>();
    body.dscores = dscores.data<T>();
    body.dqkv = dqkv.data<T>();
    body.shape = ShapeOf(qkv, probs);
    body.scale = ScaleOf(body.shape);
    Launch(body, probs);
  });
}

}  // namespace memprof::demo
