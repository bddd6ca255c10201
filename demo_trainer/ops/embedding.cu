// Token and position embedding.
#include "demo_trainer/kernels/embedding.cuh"
#include "demo_trainer/ops/dispatch.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

void Embedding(const Tensor& tokens, const Tensor& token_table, const Tensor& position_table,
               const Tensor& out) {
  ForDType(out.dtype(), [&](auto zero) {
    using T = decltype(zero);
    EmbeddingBody<T> body;
    body.tokens = tokens.data<int>();
    body.token_table = token_table.data<float>();
    body.position_table = position_table.data<float>();
    body.out = out.data<T>();
    body.context = static_cast<int>(tokens.dim(1));
    body.dim = static_cast<int>(out.dim(1));
    out.device().Select();
    LaunchRows(body, tokens.count(), out.device().compute_stream());
  });
}

void EmbeddingBackward(const Tensor& tokens, const Tensor& dout, const Tensor& dtoken_table,
                       const Tensor& dposition_table, bool accumulate) {
  ForDType(dout.dtype(), [&](auto zero) {
    using T = decltype(zero);
    dout.device().Select();
    const cudaStream_t stream = dout.device().compute_stream();

    TokenGradBody<T> token;
    token.tokens = tokens.data<int>();
    token.dout = dout.data<T>();
    token.dtable = dtoken_table.data<float>();
    token.positions = static_cast<int>(tokens.count());
    token.dim = static_cast<int>(dout.dim(1));
    token.accumulate = accumulate;
    LaunchRows(token, dtoken_table.dim(0), stream);

    PositionGradBody<T> position;
    position.dout = dout.data<T>();
    position.dtable = dposition_table.data<float>();
    position.batch = static_cast<int>(tokens.dim(0));
    position.context = static_cast<int>(tokens.dim(1));
    position.dim = static_cast<int>(dout.dim(1));
    position.accumulate = accumulate;
    LaunchRows(position, tokens.dim(1), stream);
  });
}

}  // namespace memprof::demo
