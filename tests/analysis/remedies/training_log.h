// The log of a small training, as it is and with each remedy really made: what is predicted from
// the first must be the peak of the second.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/base/sizes.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

struct TrainedAs {
  int modules = 4, steps = 3;
  std::uint64_t parameter = kMiB + 1536;  // bytes of each of the modules' weights
  std::uint64_t kept = 6 * kMiB, result = 2 * kMiB, scratch = kMiB;  // activations of each module
  std::uint64_t logits = 0;                                          // 0 = no large loss
  bool wide_loss = false;             // computed from a copy of the logits with twice their bytes
  std::uint64_t bucket = 0;           // of DistributedDataParallel; 0 = none
  bool temporaries = true;            // of the optimizer's step
  std::uint64_t state = kMiB + 1536;  // bytes of each of two moments; 0 = none
  bool keep_gradients = false;
  bool checkpointed = false;
  int parts = 1;          // of a batch
  bool runs_out = false;  // of memory, at the end of the last forward pass
  bool torch = true;      // says that it is PyTorch
};

class TrainingLog {
 public:
  explicit TrainingLog(const TrainedAs& options) : o_(options) {
    log_.Device(0, 4096 * kMiB);
    log_.header().set_executable("/opt/tool/python");
    log_.header().set_pid(4711);
    log_.header().set_hostname("gpu-host");
    if (o_.torch) {
      log::Framework* framework = log_.definitions().add_framework();
      framework->set_name("PyTorch");
      framework->set_release("2.15.0");
    }
    for (int i = 0; i < o_.modules; ++i) Make(o_.parameter, kInit);
    if (o_.logits > 0) Make(8 * o_.parameter, kInit);
    if (o_.bucket > 0) Make(o_.bucket, kReducer);
    for (int step = 0; step < o_.steps; ++step) Step(step);
  }
  LogBuilder& log() { return log_; }
  std::shared_ptr<const Session> Load() { return LoadLog(log_); }

 private:
  using Frames = std::vector<std::string>;
  static inline const Frames kInit = {"main (train.py:3)",
                                      "Linear.__init__ (/x/torch/nn/modules/linear.py:9)"};
  static inline const Frames kReducer = {"main (train.py:4)", "c10d::Reducer::Reducer (r.cpp:1)"};
  static inline const Frames kOptimizer = {"main (train.py:9)",
                                           "Adam.step (/x/torch/optim/adam.py:7)"};

  static Frames Forward(int line) {
    return {"main (train.py:7)", "Model.forward (model.py:30)",
            "Block.forward (model.py:" + std::to_string(line) + ")"};
  }
  static Frames Loss(const std::string& line) {
    return {"main (train.py:7)", "loss_function (loss.py:" + line + ")"};
  }
  static Frames Backward(const std::string& what) {
    return {"main (train.py:8)", "torch::autograd::Engine::execute (engine.cpp:1)", what};
  }

  std::uint64_t Make(std::uint64_t bytes, const Frames& frames) {
    const std::uint64_t address = next_;
    next_ += (bytes + kMiB) / kMiB * kMiB;
    log_.Alloc(Layer::kBlock, address, bytes, {.stack = log_.Stack(frames)});
    return address;
  }
  void Drop(std::uint64_t address) { log_.Free(Layer::kBlock, address); }
  std::uint64_t Part(std::uint64_t bytes) const {
    return bytes / static_cast<std::uint64_t>(o_.parts);
  }

  // What a module keeps for its backward pass.
  std::uint64_t RunModule(std::uint64_t* result) {
    const std::uint64_t scratch = Make(Part(o_.scratch), Forward(11));
    const std::uint64_t kept = Make(Part(o_.kept), Forward(12));
    Drop(scratch);
    if (result != nullptr) *result = Make(Part(o_.result), Forward(13));
    return kept;
  }

  void AddGradient(std::size_t module, std::uint64_t bytes, const std::string& what) {
    const std::uint64_t fresh = Make(bytes, Backward(what));
    if (gradients_.size() <= module) gradients_.resize(module + 1);
    if (gradients_[module] != 0)
      Drop(fresh);
    else
      gradients_[module] = fresh;
  }

  void Pass(bool last) {
    const auto modules = static_cast<std::size_t>(o_.modules);
    std::vector<std::uint64_t> kept(modules), results(modules);
    for (std::size_t i = 0; i < modules; ++i) {
      kept[i] = RunModule(&results[i]);
      if (!o_.checkpointed) continue;
      // When the module has returned.
      Drop(kept[i]);
    }
    if (last && o_.runs_out) {  // what the exception held is freed, in the order of its making
      for (std::size_t i = 0; i < modules; ++i) {
        if (!o_.checkpointed) Drop(kept[i]);
        Drop(results[i]);
      }
      return;
    }
    const std::uint64_t wide = Part(o_.logits) * (o_.wide_loss ? 2 : 1);
    std::vector<std::uint64_t> losses;
    if (o_.logits > 0) {
      losses.push_back(Make(Part(o_.logits), Loss("1")));
      if (o_.wide_loss) {
        losses.push_back(Make(wide, Loss("2")));
        Drop(losses[0]);
        losses.erase(losses.begin());
      }
      losses.push_back(Make(wide, {"main (train.py:7)", "loss_function (loss.py:2)",
                                   "cross_entropy (functional.py:1)"}));
    }
    const std::uint64_t loss = Make(512, Loss("3"));
    std::uint64_t gradient = Make(Part(o_.result), Backward("LossBackward (f.cpp:1)"));
    if (o_.logits > 0) {
      std::uint64_t logits = Make(wide, Backward("SoftmaxBackward (f.cpp:2)"));
      for (const std::uint64_t address : losses) Drop(address);
      if (o_.wide_loss) {
        const std::uint64_t narrow = Make(Part(o_.logits), Backward("ToCopyBackward (f.cpp:7)"));
        Drop(logits);
        logits = narrow;
      }
      Drop(gradient);
      gradient = Make(Part(o_.result), Backward("MmBackward (f.cpp:3)"));
      AddGradient(modules, 8 * o_.parameter, "MmBackward (f.cpp:4)");
      Drop(logits);
    }
    for (std::size_t i = modules; i-- > 0;) {
      if (o_.checkpointed) kept[i] = RunModule(nullptr);
      const std::uint64_t next = Make(Part(o_.result), Backward("BlockBackward (f.cpp:5)"));
      AddGradient(i, o_.parameter, "BlockBackward (f.cpp:6)");
      Drop(kept[i]);
      Drop(results[i]);
      Drop(gradient);
      gradient = next;
    }
    Drop(gradient);
    Drop(loss);
  }

  void Step(int step) {
    log_.Step(static_cast<std::uint64_t>(step));
    for (int part = 0; part < o_.parts; ++part) Pass(step + 1 == o_.steps);
    if (o_.runs_out && step + 1 == o_.steps) return;
    if (step == 0 && o_.state > 0)
      for (int i = 0; i < 2 * o_.modules; ++i) Make(o_.state, kOptimizer);
    std::vector<std::uint64_t> temporaries;
    for (int i = 0; o_.temporaries && i < o_.modules; ++i)
      temporaries.push_back(
          Make(o_.parameter, {"main (train.py:9)", "Adam.step (/x/torch/optim/adam.py:8)"}));
    for (const std::uint64_t address : temporaries) Drop(address);
    if (o_.keep_gradients) return;
    for (const std::uint64_t address : gradients_) Drop(address);
    gradients_.clear();
  }

  const TrainedAs o_;
  LogBuilder log_;
  std::uint64_t next_ = 0x7f0000000000;
  std::vector<std::uint64_t> gradients_;
};

}  // namespace memprof::analysis::testing
