// The training loop.
#ifndef DEMO_TRAINER_TRAIN_TRAINER_H_
#define DEMO_TRAINER_TRAIN_TRAINER_H_

#include <memory>
#include <vector>

#include "demo_trainer/options.h"
#include "demo_trainer/train/ranks.h"
#include "demo_trainer/train/replica.h"

namespace memprof::demo {

class Trainer {
 public:
  explicit Trainer(const Options& options);
  ~Trainer();

  // Trains and prints. Throws Error.
  void Run();

 private:
  // The results of one optimizer step.
  struct Outcome {
    float loss = 0.0f;
    float gradient_norm = 0.0f;  // unscaled
    float scale = 1.0f;          // the loss scale that was used
    bool skipped = false;
  };

  void PrintModel() const;
  Outcome TrainStep(int64_t step);
  void ShareWithRanks(float* loss);
  void AfterStep(int64_t step, const Outcome& outcome);
  void Evaluate(int64_t step);
  void PrintStats(const char* when) const;
  float LearningRate(int64_t step) const;
  bool Prints() const { return !options_.quiet && options_.rank == 0; }

  const Options options_;
  const Text text_;
  RankGroup ranks_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  LossScaler scaler_;
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_TRAIN_TRAINER_H_
