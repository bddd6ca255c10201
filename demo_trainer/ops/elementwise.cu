// Operations on single elements.
#include <cmath>

#include "demo_trainer/kernels/adamw.cuh"
#include "demo_trainer/kernels/elementwise.cuh"
#include "demo_trainer/ops/dispatch.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {
namespace {

template <typename Body>
void Launch(const Body& body, const Tensor& over) {
  over.device().Select();
  LaunchEach(body, over.count(), over.device().compute_stream());
}

}  // namespace

void Add(const Tensor& a, const Tensor& b, const Tensor& out) {
  ForDType(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    AddBody<T> body;
    body.a = a.data<T>();
    body.b = b.data<T>();
    body.out = out.data<T>();
    Launch(body, out);
  });
}

void Cast(const Tensor& in, const Tensor& out) {
  ForDType(in.dtype(), [&](auto from) {
    ForDType(out.dtype(), [&](auto to) {
      CastBody<decltype(from), decltype(to)> body;
      body.in = in.data<decltype(from)>();
      body.out = out.data<decltype(to)>();
      Launch(body, out);
    });
  });
}

void Scale(const Tensor& values, float factor) {
  ScaleBody body;
  body.values = values.data<float>();
  body.factor = factor;
  Launch(body, values);
}

void Gelu(const Tensor& x, const Tensor& y) {
  ForDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    GeluBody<T> body;
    body.x = x.data<T>();
    body.y = y.data<T>();
    Launch(body, y);
  });
}

void GeluBackward(const Tensor& x, const Tensor& dy, const Tensor& dx) {
  ForDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    GeluBackwardBody<T> body;
    body.x = x.data<T>();
    body.dy = dy.data<T>();
    body.dx = dx.data<T>();
    Launch(body, dx);
  });
}

void AdamW(const Tensor& weight, const Tensor& grad, const Tensor& exp_avg,
           const Tensor& exp_avg_sq, const AdamWSettings& settings) {
  AdamWBody body;
  body.weight = weight.data<float>();
  body.grad = grad.data<float>();
  body.exp_avg = exp_avg.data<float>();
  body.exp_avg_sq = exp_avg_sq.data<float>();
  body.grad_scale = settings.grad_scale;
  body.lr = settings.lr;
  body.beta1 = settings.beta1;
  body.beta2 = settings.beta2;
  body.epsilon = settings.epsilon;
  body.weight_decay = settings.weight_decay;
  body.correction1 = 1.0f - std::pow(settings.beta1, static_cast<float>(settings.step));
  body.correction2 = 1.0f - std::pow(settings.beta2, static_cast<float>(settings.step));
  Launch(body, weight);
}

void Zero(const Tensor& tensor) {
  tensor.device().Select();
  Check(cudaMemsetAsync(tensor.raw(), 0, tensor.bytes(), tensor.device().compute_stream()),
        "zeroing a tensor");
}

}  // namespace memprof::demo
