// Operations on tensors. Each function enqueues kernels on the compute stream of the tensors'
// device and returns; outputs are allocated by the caller. Activations, and the weights in products
// with them, share one dtype (float32 or bfloat16); norms, losses and weight gradients are float32.
// "May be" marks an output that may be the same tensor as an input.
#ifndef DEMO_TRAINER_OPS_OPS_H_
#define DEMO_TRAINER_OPS_OPS_H_

#include "demo_trainer/tensor.h"

namespace memprof::demo {

// c = a b (+ bias), a [m,k], b [k,n], c [m,n]; bias is float32 [n] or null.
void MatMul(const Tensor& a, const Tensor& b, const Tensor* bias, const Tensor& c);
// c (+)= a^T b: a [k,m], b [k,n], c float32 [m,n]: the gradient of a weight.
void MatMulTransposedA(const Tensor& a, const Tensor& b, const Tensor& c, bool accumulate);
// c = a b^T: a [m,k], b [n,k]. Takes a workspace for the transpose of b, named `workspace`.
void MatMulTransposedB(const Tensor& a, const Tensor& b, const Tensor& c,
                       const std::string& workspace);
// out[n] (+)= column sums of x [m,n]: the gradient of a bias.
void ColumnSum(const Tensor& x, const Tensor& out, bool accumulate);

// out = a + b; out may be a or b.
void Add(const Tensor& a, const Tensor& b, const Tensor& out);
// out = in, converted.
void Cast(const Tensor& in, const Tensor& out);
// values *= factor (float32).
void Scale(const Tensor& values, float factor);
void Gelu(const Tensor& x, const Tensor& y);
// dx may be dy.
void GeluBackward(const Tensor& x, const Tensor& dy, const Tensor& dx);

void LayerNorm(const Tensor& x, const Tensor& gamma, const Tensor& beta, const Tensor& y,
               const Tensor& mean, const Tensor& rstd);
// dx may be dy: the weights' gradients are taken first.
void LayerNormBackward(const Tensor& x, const Tensor& dy, const Tensor& gamma, const Tensor& mean,
                       const Tensor& rstd, const Tensor& dx, const Tensor& dgamma,
                       const Tensor& dbeta, bool accumulate);

// qkv [batch * context, 3 * dim], scores and probs [batch, heads, context, context].
void AttentionScores(const Tensor& qkv, const Tensor& scores);
void CausalSoftmax(const Tensor& scores, const Tensor& probs);  // probs may be scores
void AttentionValues(const Tensor& qkv, const Tensor& probs, const Tensor& out);
void AttentionProbsGrad(const Tensor& dout, const Tensor& qkv, const Tensor& dprobs);
// dscores may be dprobs.
void CausalSoftmaxBackward(const Tensor& probs, const Tensor& dprobs, const Tensor& dscores);
void AttentionQkvGrad(const Tensor& dout, const Tensor& qkv, const Tensor& probs,
                      const Tensor& dscores, const Tensor& dqkv);

// tokens int32 [batch, context]; out [batch * context, dim]
void Embedding(const Tensor& tokens, const Tensor& token_table, const Tensor& position_table,
               const Tensor& out);
void EmbeddingBackward(const Tensor& tokens, const Tensor& dout, const Tensor& dtoken_table,
                       const Tensor& dposition_table, bool accumulate);

// losses[row] in nats; logits [rows, classes], targets int32.
void CrossEntropy(const Tensor& logits, const Tensor& targets, const Tensor& losses);
// dlogits = (softmax - onehot) * scale; may be logits.
void CrossEntropyBackward(const Tensor& logits, const Tensor& targets, const Tensor& dlogits,
                          float scale);
// out[0] = factor * sum of values (float32).
void Sum(const Tensor& values, const Tensor& out, float factor);
// Number of floats that SumSquares writes for `count` values.
int64_t SumSquaresChunks(int64_t count);
// Partial sums of squares of values times `factor` into partial[first ...].
void SumSquares(const Tensor& values, float factor, const Tensor& partial, int64_t first);
// counts float32 [256]: how often each byte value occurs.
void Histogram(const Tensor& tokens, const Tensor& counts);

struct AdamWSettings {
  float lr = 1e-3f;
  float beta1 = 0.9f;
  float beta2 = 0.99f;
  float epsilon = 1e-8f;
  float weight_decay = 0.0f;
  float grad_scale = 1.0f;
  int64_t step = 1;  // from 1
};
void AdamW(const Tensor& weight, const Tensor& grad, const Tensor& exp_avg,
           const Tensor& exp_avg_sq, const AdamWSettings& settings);

// All bytes zero.
void Zero(const Tensor& tensor);

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_OPS_OPS_H_
