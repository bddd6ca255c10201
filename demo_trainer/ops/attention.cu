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

enum Part { kQueries = 0, kKeys = 1, kValues = 2 };

// One part of qkv, or of its gradient; T may be const.
template <typename T>
HeadVectors<T> PartOf(const Tensor& qkv, const AttentionShape& shape, Part part) {
  return {qkv.data<T>() + static_cast<int64_t>(part) * shape.Dim(), 3 * int64_t{shape.Dim()}};
}

// The heads of a [batch * context, dim] matrix.
template <typename T>
HeadVectors<T> Heads(const Tensor& matrix, const AttentionShape& shape) {
  return {matrix.data<T>(), shape.Dim()};
}

template <typename T>
void LaunchDots(HeadVectors<const T> left, HeadVectors<const T> right, const AttentionShape& shape,
                float scale, const Tensor& out) {
  CausalDotsBody<T> body;
  body.left = left;
  body.right = right;
  body.out = out.data<T>();
  body.shape = shape;
  body.scale = scale;
  Launch(body, out);
}

template <bool kColumns, typename T>
void LaunchSums(const Tensor& weights, HeadVectors<const T> in, const AttentionShape& shape,
                float scale, HeadVectors<T> out) {
  CausalSumsBody<T, kColumns> body;
  body.weights = weights.data<T>();
  body.in = in;
  body.out = out;
  body.shape = shape;
  body.scale = scale;
  Launch(body, weights);
}

}  // namespace

void AttentionScores(const Tensor& qkv, const Tensor& scores) {
  ForDType(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const AttentionShape shape = ShapeOf(qkv, scores);
    LaunchDots<T>(PartOf<const T>(qkv, shape, kQueries), PartOf<const T>(qkv, shape, kKeys), shape,
                  ScaleOf(shape), scores);
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
    const AttentionShape shape = ShapeOf(qkv, probs);
    LaunchSums<false, T>(probs, PartOf<const T>(qkv, shape, kValues), shape, 1.0f,
                         Heads<T>(out, shape));
  });
}

void AttentionProbsGrad(const Tensor& dout, const Tensor& qkv, const Tensor& dprobs) {
  ForDType(qkv.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const AttentionShape shape = ShapeOf(qkv, dprobs);
    LaunchDots<T>(Heads<const T>(dout, shape), PartOf<const T>(qkv, shape, kValues), shape, 1.0f,
                  dprobs);
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
    const AttentionShape shape = ShapeOf(qkv, probs);
    const float scale = ScaleOf(shape);
    LaunchSums<false, T>(dscores, PartOf<const T>(qkv, shape, kKeys), shape, scale,
                         PartOf<T>(dqkv, shape, kQueries));
    LaunchSums<true, T>(dscores, PartOf<const T>(qkv, shape, kQueries), shape, scale,
                        PartOf<T>(dqkv, shape, kKeys));
    LaunchSums<true, T>(probs, Heads<const T>(dout, shape), shape, 1.0f,
                        PartOf<T>(dqkv, shape, kValues));
  });
}

}  // namespace memprof::demo
