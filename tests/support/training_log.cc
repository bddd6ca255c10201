// A training program, described allocation by allocation.
#include "tests/support/training_log.h"

#include <map>

namespace memprof::analysis::testing {
namespace {

class Training {
 public:
  Training(const TrainingOptions& options, LogBuilder* log)
      : options_(options), log_(*log), random_(options.seed) {}

  TrainingTruth Run() {
    log_.Device(0, std::uint64_t{8} << 30);
    for (int layer = 0; layer < options_.layers; ++layer)
      New("Model", "Linear", WeightBytes(layer));
    for (int step = 0; step < options_.steps; ++step) Step(step);
    return std::move(truth_);
  }

 private:
  struct Block {
    std::uint64_t address = 0;
  };

  static std::uint64_t WeightBytes(int layer) {
    return 4096u * (static_cast<unsigned>(layer) % 3 + 2);
  }

  // Rows of the batch; sizes of activations are multiples of this.
  std::uint64_t Rows() const { return rows_; }

  Block New(const std::string& phase, const std::string& function, std::uint64_t bytes) {
    const std::string key = phase + "/" + function;
    auto [it, fresh] = stacks_.try_emplace(key, 0);
    if (fresh && options_.stacks) {
      const int line = static_cast<int>(stacks_.size());
      it->second =
          log_.Stack({"main (train.cc:1)", phase + " (train.cc:" + std::to_string(line) + ")",
                      function + " (layers.cc:" + std::to_string(line) + ")"});
    }
    const Block block{next_};
    next_ += (bytes + 511) / 512 * 512;
    log_.Alloc(Layer::kBlock, block.address, (bytes + 511) / 512 * 512,
               {.stack = it->second, .aux0 = bytes});
    ++births_;
    return block;
  }
  void Delete(const Block& block) { log_.Free(Layer::kBlock, block.address); }
  void DeleteAll(std::vector<Block>* blocks) {
    for (const Block& block : *blocks) Delete(block);
    blocks->clear();
  }

  void Forward(const std::string& phase, std::vector<Block>* activations) {
    activations->push_back(New(phase, "Embedding", 3000 * Rows()));
    for (int layer = 0; layer < options_.layers; ++layer)
      for (int i = 0; i < options_.tensors_per_layer; ++i)
        activations->push_back(New(phase, "Layer" + std::to_string(i), 512u * Rows() * (i + 3u)));
  }

  void MicroBatch(bool first) {
    const Block batch = New("Load", "Upload", 1024 * Rows());
    std::vector<Block> activations;
    Forward("Forward", &activations);
    const Block loss = New("Forward", "Loss", 4);
    if (first && options_.leak) New("Forward", "Remember", 700);
    for (int layer = options_.layers; layer-- > 0;) {
      for (int i = options_.tensors_per_layer; i-- > 0;) {
        const Block gradient =
            New("Backward", "Layer" + std::to_string(i), 512u * Rows() * (i + 3u));
        Delete(activations.back());
        activations.pop_back();
        Delete(gradient);
      }
      if (first && static_cast<int>(gradients_.size()) < options_.layers)
        gradients_.push_back(New("Backward", "Grad", WeightBytes(layer)));
    }
    DeleteAll(&activations);
    Delete(loss);
    Delete(batch);
  }

  void Optimize(int step) {
    if (options_.optimizer_range) log_.RangePush("Optimizer.step#Adam.step");
    const Block norm = New("Optimize", "Norm", 256);
    if (step == 0)
      for (int layer = 0; layer < 2 * options_.layers; ++layer)
        New("Optimize", "State", WeightBytes(layer / 2));
    Delete(norm);
    if (!options_.keep_gradients) DeleteAll(&gradients_);
    if (options_.optimizer_range) log_.RangePop();
  }

  void Step(int step) {
    if (options_.vary_batch) rows_ = 1 + random_() % 64;
    if (options_.marks) log_.Step(static_cast<std::uint64_t>(step));
    if (!options_.range.empty()) log_.RangePush(options_.range + std::to_string(step));
    truth_.births_before_step.push_back(births_);
    for (int i = 0; i < options_.micro_batches; ++i) MicroBatch(i == 0);
    Optimize(step);
    const int every = options_.evaluate_every;
    if (every > 0 && step % every == every - 1) {
      std::vector<Block> activations;
      Forward("Evaluate", &activations);
      DeleteAll(&activations);
    }
    if (!options_.range.empty()) log_.RangePop();
  }

  const TrainingOptions& options_;
  LogBuilder& log_;
  std::mt19937 random_;
  TrainingTruth truth_;
  std::map<std::string, int> stacks_;
  std::vector<Block> gradients_;
  std::uint64_t next_ = 0x7f0000000000, rows_ = 16;
  std::uint32_t births_ = 0;
};

}  // namespace

TrainingTruth WriteTrainingRun(const TrainingOptions& options, LogBuilder* log) {
  return Training(options, log).Run();
}

}  // namespace memprof::analysis::testing
