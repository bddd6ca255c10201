// Matrix products and their helpers.
#include "demo_trainer/kernels/matmul.cuh"
#include "demo_trainer/ops/dispatch.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {
namespace {

template <typename T, typename TC, bool kTransposeA>
void Launch(const Tensor& a, const Tensor& b, const Tensor* bias, const Tensor& c,
            bool accumulate) {
  MatMulTile<T, T, TC, kTransposeA> body;
  body.a = a.data<T>();
  body.b = b.data<T>();
  body.c = c.data<TC>();
  body.bias = bias != nullptr ? bias->data<float>() : nullptr;
  body.m = static_cast<int>(kTransposeA ? a.dim(1) : a.dim(0));
  body.k = static_cast<int>(kTransposeA ? a.dim(0) : a.dim(1));
  body.n = static_cast<int>(b.dim(1));
  body.accumulate = accumulate;
  a.device().Select();
  LaunchEach(body, body.Tiles(body.m, body.n), a.device().compute_stream());
}

}  // namespace

void MatMul(const Tensor& a, const Tensor& b, const Tensor* bias, const Tensor& c) {
  ForDType(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Launch<T, T, false>(a, b, bias, c, false);
  });
}

void MatMulTransposedA(const Tensor& a, const Tensor& b, const Tensor& c, bool accumulate) {
  ForDType(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Launch<T, float, true>(a, b, nullptr, c, accumulate);
  });
}

void MatMulTransposedB(const Tensor& a, const Tensor& b, const Tensor& c,
                       const std::string& workspace) {
  const Tensor transposed(b.device(), workspace, b.dtype(), {b.dim(1), b.dim(0)});
  ForDType(b.dtype(), [&](auto zero) {
    using T = decltype(zero);
    TransposeBody<T> body;
    body.in = b.data<T>();
    body.out = transposed.data<T>();
    body.rows = static_cast<int>(b.dim(0));
    body.cols = static_cast<int>(b.dim(1));
    b.device().Select();
    LaunchEach(body, b.count(), b.device().compute_stream());
  });
  MatMul(a, transposed, nullptr, c);
}

void ColumnSum(const Tensor& x, const Tensor& out, bool accumulate) {
  ForDType(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    ColumnSumBody<T> body;
    body.x = x.data<T>();
    body.out = out.data<float>();
    body.cols = static_cast<int>(out.count());
    body.rows = static_cast<int>(x.count() / out.count());
    body.accumulate = accumulate;
    x.device().Select();
    const int64_t groups = (body.cols + body.kColumns - 1) / body.kColumns;
    LaunchRows(body, groups, x.device().compute_stream());
  });
}

}  // namespace memprof::demo
