// Forward, backward and evaluation on one device.
#include "demo_trainer/train/replica.h"

#include <utility>

#include "demo_trainer/leaks/leaks.h"
#include "demo_trainer/ops/ops.h"
#include "demo_trainer/profiler.h"

namespace memprof::demo {
namespace {

constexpr int64_t kEvaluationBatches = 2;

LoaderPlan PlanFor(const Options& options, int64_t shard) {
  LoaderPlan plan;
  plan.steps = options.steps;
  plan.grad_accum = options.grad_accum;
  plan.batch = options.batch;
  plan.shard = shard;
  plan.shard_rows = options.ShardBatch();
  return plan;
}

}  // namespace

Replica::Replica(Device& device, const Options& options, const Text& text, int64_t shard)
    : device_(device),
      options_(options),
      model_(device, options.model, options.seed),
      optimizer_(device, model_.parameters()) {
  const LoaderPlan plan = PlanFor(options, shard);
  loader_ =
      options.prefetch ? MakePrefetchingLoader(device, text, plan) : MakeLoader(device, text, plan);
}

Replica::Loss Replica::ComputeLoss(const Tensor& logits, const Tensor& targets, const char* name) {
  Loss loss;
  loss.rows = Tensor(device_, std::string(name) + ".rows", DType::kFloat32, {logits.dim(0)});
  loss.mean = Tensor(device_, name, DType::kFloat32, {1});
  CrossEntropy(logits, targets, loss.rows);
  Sum(loss.rows, loss.mean, 1.0f / static_cast<float>(logits.dim(0)));
  return loss;
}

void Replica::RunMicroBatch(int64_t step, float loss_scale) {
  const bool leaking = step >= options_.leak_after;
  int64_t blocks_seen = 0;
  if (leaking && options_.Leaks("hook")) {
    model_.SetForwardHook([this, &blocks_seen](const Tensor& activation) {
      if (++blocks_seen == options_.model.layers) RetainActivation(activation);
    });
  }
  const Batch batch = loader_->Next();
  Gpt::Saved saved;
  Tensor logits;
  Loss loss;
  {
    const profiler::Range range("forward");
    logits = model_.Forward(batch.tokens, &saved);
    loss = ComputeLoss(logits, batch.targets, "loss");
  }
  model_.SetForwardHook(nullptr);
  if (leaking) LeakAfterForward(batch, logits, loss, step);
  losses_.push_back(loss.mean);

  const profiler::Range range("backward");
  Tensor dlogits = options_.model.inplace
                       ? logits
                       : Tensor(device_, "logits.grad", logits.dtype(), logits.shape());
  const float scale =
      loss_scale / (static_cast<float>(logits.dim(0)) * static_cast<float>(options_.grad_accum));
  CrossEntropyBackward(logits, batch.targets, dlogits, scale);
  logits.Reset();
  model_.Backward(std::move(saved), std::move(dlogits));
}

void Replica::LeakAfterForward(const Batch& batch, const Tensor& logits, const Loss& loss,
                               int64_t step) {
  // Kinds that leak once a step do so in its last micro-batch.
  const int64_t accum = options_.grad_accum;
  const bool last = static_cast<int64_t>(losses_.size()) % accum == accum - 1;
  if (options_.Leaks("history")) RememberHistory(loss.mean, logits);
  if (options_.Leaks("cycle")) BuildGraphCycle(loss.rows);
  if (options_.Leaks("pinned")) StagePinned(std::vector<int>(1024, static_cast<int>(step)));
  if (!last) return;
  if (options_.Leaks("error-path")) AuditBatch(batch.tokens, step);
  // Each batch has a different length here, like texts that are not cut to windows.
  if (options_.Leaks("shape-cache")) PlanForLength(device_, batch.tokens.count() - step);
  if (options_.Leaks("extension")) ExtensionScratch(device_);
}

float Replica::TakeLoss() {
  float sum = 0.0f;
  const std::vector<Tensor> losses = std::exchange(losses_, {});
  for (const Tensor& loss : losses) {
    float value = 0.0f;
    loss.CopyToHost(&value);
    sum += value;
  }
  return losses.empty() ? 0.0f : sum / static_cast<float>(losses.size());
}

float Replica::Evaluate(const Text& text, bool leak) {
  const profiler::Range range("evaluation");
  float sum = 0.0f;
  for (int64_t i = 0; i < kEvaluationBatches; ++i) {
    const int64_t rows = options_.ShardBatch();
    const Batch batch = UploadBatch(device_, text.EvaluationBatch(i, rows), rows);
    const Tensor logits = model_.Forward(batch.tokens, nullptr);
    const Loss loss = ComputeLoss(logits, batch.targets, "eval.loss");
    if (leak && i + 1 == kEvaluationBatches) KeepEvaluation(logits);
    float value = 0.0f;
    loss.mean.CopyToHost(&value);
    sum += value;
  }
  model_.DropLowPrecisionWeights();
  return sum / static_cast<float>(kEvaluationBatches);
}

}  // namespace memprof::demo
