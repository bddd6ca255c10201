// A copy of the model on one device with its optimizer and data; data parallel training has
// several.
#ifndef DEMO_TRAINER_TRAIN_REPLICA_H_
#define DEMO_TRAINER_TRAIN_REPLICA_H_

#include <memory>

#include "demo_trainer/model/gpt.h"
#include "demo_trainer/options.h"
#include "demo_trainer/train/loader.h"
#include "demo_trainer/train/optimizer.h"

namespace memprof::demo {

class Replica {
 public:
  Replica(Device& device, const Options& options, const Text& text, int64_t shard);

  // Forward and backward pass of the next micro-batch; gradients add up. The loss is multiplied by
  // `loss_scale` and divided by the micro-batches of a step.
  void RunMicroBatch(int64_t step, float loss_scale);
  // Mean loss of the micro-batches since the last call, in nats per byte. Waits for them.
  float TakeLoss();
  // Mean loss over held-out windows.
  float Evaluate(const Text& text, bool leak);

  Device& device() const { return device_; }
  Gpt& model() { return model_; }
  Optimizer& optimizer() { return optimizer_; }

 private:
  struct Loss {
    Tensor rows;  // of each position
    Tensor mean;  // one number
  };
  Loss ComputeLoss(const Tensor& logits, const Tensor& targets, const char* name);
  void LeakAfterForward(const Batch& batch, const Tensor& logits, const Loss& loss, int64_t step);

  Device& device_;
  const Options& options_;
  Gpt model_;
  Optimizer optimizer_;
  std::unique_ptr<Loader> loader_;
  std::vector<Tensor> losses_;
};

// Averages the gradients of several devices by copies between them, so that all have the mean.
void AverageGradients(const std::vector<std::unique_ptr<Replica>>& replicas);

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_TRAIN_REPLICA_H_
