// What the optimizer allocates: temporaries of its step, and its state.
#include <algorithm>
#include <unordered_map>

#include "analysis/remedies/internal/finders.h"

namespace memprof::analysis::remedies {
namespace {

// Of an optimizer of 8 bits: a byte for each number of 32 bits, and a scale of 32 bits for each
// block of 256 (bitsandbytes; its states of fewer than 4,096 numbers keep 32 bits).
constexpr std::uint64_t kLeastQuantised = 4096 * 4;
constexpr std::uint64_t QuantisedBytes(std::uint64_t bytes) {
  return (bytes / 4 + bytes / 256 + 511) / 512 * 512;
}

// The optimizers of PyTorch whose step runs in one kernel with fused=True.
bool HasFusedStep(const SourceFrame& frame) {
  for (const std::string_view file : {"/adam.py", "/adamw.py", "/sgd.py", "/adagrad.py"})
    if (frame.file.ends_with(file)) return true;
  return false;
}

class Optimizer {
 public:
  explicit Optimizer(const Input& input) : input_(input) {
    const std::vector<Pass>& passes = input.training.passes;
    for (const Block& block : input.training.blocks) {
      const bool in_step = block.part == Part::kOptimizer && block.pass < passes.size();
      const bool stays = in_step && block.death > passes[block.pass].end;
      if (block.category == Category::kOptimizerState ||
          (stays && block.category == Category::kTemporaries)) {
        state_.push_back(block.id);  // also of a run that ended before its steps could be found
      } else if (in_step && block.category == Category::kTemporaries) {
        const SourceFrame& frame = FrameOf(block.stack);
        if (frame.function.empty()) continue;
        temporaries_.push_back(block.id);
        fused_ = fused_ && HasFusedStep(frame);
      }
    }
  }

  void FindFusedStep(Found* found) const {
    if (temporaries_.empty() || !fused_) return;
    PeakRemedy remedy{.kind = RemedyOfPeak::kFusedStep};
    remedy.changes.gone = temporaries_;
    remedy.seen = "temporaries of the optimizer's step, one for each parameter at once";
    remedy.change =
        "Construct the optimizer with fused=True: its step then runs in one kernel for many "
        "parameters, without temporaries (and is faster). foreach=False has temporaries of one "
        "parameter at a time.";
    found->push_back(std::move(remedy));
  }

  void FindSmallState(Found* found) const {
    if (state_.empty()) return;
    PeakRemedy small{.kind = RemedyOfPeak::kSmallState, .predicts = true};
    small.changes.gone = temporaries_;
    for (const AllocationId id : state_) {
      const AllocationRecord& a = input_.session.record(id);
      if (a.bytes < kLeastQuantised) continue;
      small.changes.gone.push_back(id);
      small.changes.added.push_back({a.birth, a.death, QuantisedBytes(a.bytes), id});
    }
    small.seen = "the optimizer's state (moments), and temporaries of its step";
    small.change =
        "Keep the state in 8 bits: bitsandbytes.optim.AdamW8bit (or Adam8bit, SGD8bit) in place "
        "of the optimizer.";
    small.assumption = "The state has 32 bits now. Updates are less precise: compare the losses.";
    found->push_back(std::move(small));

    PeakRemedy none{.kind = RemedyOfPeak::kNoState};
    none.changes.gone = state_;
    none.changes.gone.insert(none.changes.gone.end(), temporaries_.begin(), temporaries_.end());
    none.seen = "the optimizer's state (moments), and temporaries of its step";
    none.change =
        "Keep the state and step on the host (torchao.optim.CPUOffloadOptimizer, DeepSpeed "
        "offload_optimizer, FSDP CPUOffload): gradients are copied there, and parameters back, in "
        "each step.";
    found->push_back(std::move(none));
  }

 private:
  const SourceFrame& FrameOf(StackId stack) {
    const auto [it, fresh] = frames_.try_emplace(stack.value);
    if (fresh) it->second = PythonFrameIn(input_.symbols, stack, "/torch/optim/");
    return it->second;
  }

  const Input& input_;
  std::vector<AllocationId> state_, temporaries_;
  bool fused_ = true;
  std::unordered_map<std::uint32_t, SourceFrame> frames_;
};

}  // namespace

void FindOptimizerRemedies(const Input& input, Found* found) {
  const Optimizer optimizer(input);
  optimizer.FindFusedStep(found);
  optimizer.FindSmallState(found);
}

}  // namespace memprof::analysis::remedies
