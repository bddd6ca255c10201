// Cross-entropy and reductions.
#include "demo_trainer/kernels/loss.cuh"
#include "demo_trainer/ops/dispatch.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

void CrossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& losses) {
  ForDType(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    CrossEntropyBody<T> body;
    body.logits = logits.data<T>();
    body.targets = targets.data<int>();
    body.losses = losses.data<float>();
    body.classes = static_cast<int>(logits.dim(1));
    logits.device().Select();
    LaunchRows(body, logits.dim(0), logits.device().compute_stream());
  });
}

void CrossEntropyBackward(const Tensor& logits, const Tensor& targets, const Tensor& dlogits,
                          float scale) {
  ForDType(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    CrossEntropyBackwardBody<T> body;
    body.logits = logits.data<T>();
    body.targets = targets.data<int>();
    body.dlogits = dlogits.data<T>();
    body.classes = static_cast<int>(logits.dim(1));
    body.scale = scale;
    logits.device().Select();
    LaunchRows(body, logits.dim(0), logits.device().compute_stream());
  });
}

void Sum(const Tensor& values, const Tensor& out, float factor) {
  SumBody body;
  body.values = values.data<float>();
  body.out = out.data<float>();
  body.count = values.count();
  body.factor = factor;
  values.device().Select();
  LaunchRows(body, 1, values.device().compute_stream());
}

int64_t SumSquaresChunks(int64_t count) {
  return (count + SumSquaresBody::kChunk - 1) / SumSquaresBody::kChunk;
}

void SumSquares(const Tensor& values, float factor, const Tensor& partial, int64_t first) {
  SumSquaresBody body;
  body.values = values.data<float>();
  body.partial = partial.data<float>() + first;
  body.count = values.count();
  body.factor = factor;
  values.device().Select();
  LaunchRows(body, SumSquaresChunks(body.count), values.device().compute_stream());
}

void Histogram(const Tensor& tokens, const Tensor& counts) {
  HistogramBody body;
  body.tokens = tokens.data<int>();
  body.counts = counts.data<float>();
  body.positions = static_cast<int>(tokens.count());
  tokens.device().Select();
  LaunchRows(body, counts.count(), tokens.device().compute_stream());
}

}  // namespace memprof::demo
