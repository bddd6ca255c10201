// Loops told allocation by allocation.
#include "tests/analysis/steps/step_shapes.h"

#include <deque>
#include <map>
#include <random>
#include <string>

namespace memprof::analysis::testing {
namespace {

class Program {
 public:
  Program(std::uint32_t seed, int turns, Layer layer, LogBuilder* log)
      : turns_(turns), layer_(layer), log_(*log), random_(seed) {
    log_.Device(0, std::uint64_t{1} << 40);
    layers_ = 2 + static_cast<int>(random_() % 5);
  }

  std::vector<std::uint32_t> Run(std::string_view shape);

 private:
  using Memory = std::uint64_t;
  using Group = std::vector<Memory>;

  Memory New(const std::string& site, std::uint64_t bytes) {
    auto [it, fresh] = stacks_.try_emplace(site, 0);
    if (fresh) {
      const std::string line = std::to_string(stacks_.size());
      it->second = log_.Stack({"main (train.cc:1)", site + " (train.cc:" + line + ")"});
    }
    const Memory address = next_;
    next_ += (bytes + 511) / 512 * 512;
    log_.Alloc(layer_, address, bytes, {.stack = it->second, .aux0 = bytes});
    ++births_;
    return address;
  }
  void Delete(Memory memory) { log_.Free(layer_, memory); }
  void Delete(Group* group) {
    for (const Memory memory : *group) Delete(memory);
    group->clear();
  }
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  void Begin() { begins_.push_back(births_); }

  static std::uint64_t Weight(int layer) {
    return 40'000u * (static_cast<unsigned>(layer) % 3 + 1);
  }
  void SetUp() {
    for (int layer = 0; layer < layers_; ++layer) {
      New("Weight", Weight(layer));
      New("Moment", Weight(layer));
    }
  }
  void Forward(const std::string& phase, std::uint64_t rows, Group* activations) {
    for (int layer = 0; layer < layers_; ++layer) {
      activations->push_back(
          New(phase + "Matmul", 2048 * rows * (static_cast<unsigned>(layer) + 1)));
      activations->push_back(New(phase + "Relu", 1024 * rows));
    }
  }
  void Backward(const std::string& phase, std::uint64_t rows, Group* activations,
                Group* gradients) {
    for (int layer = layers_; layer-- > 0;) {
      const Memory above = New(phase + "MatmulBackward", 2048 * rows);
      if (gradients != nullptr && static_cast<int>(gradients->size()) < layers_)
        gradients->push_back(New(phase + "Gradient", Weight(layer)));
      for (int i = 0; i < 2; ++i) {
        Delete(activations->back());
        activations->pop_back();
      }
      Delete(above);
    }
  }
  void Evaluate(std::uint64_t rows) {
    Group activations;
    Forward("Evaluate", rows, &activations);
    Delete(&activations);
  }
  // A whole step but for its batch: `micro` portions, then the optimizer.
  void Learn(std::uint64_t rows, int micro = 1, const std::string& phase = "") {
    Group gradients, activations;
    for (int i = 0; i < micro; ++i) {
      Forward(phase, rows, &activations);
      Backward(phase, rows, &activations, &gradients);
    }
    Delete(New(phase + "Norm", 256));
    Delete(&gradients);
  }
  void Step(std::uint64_t rows, int micro = 1, const std::string& phase = "") {
    const Memory batch = New(phase + "Batch", 4096 * rows);
    Learn(rows, micro, phase);
    Delete(batch);
  }

  void Prefetched(int micro, bool leaks);
  void Epochs(bool metrics);
  void Turn(std::string_view shape, int turn);

  const int turns_;
  const Layer layer_;
  LogBuilder& log_;
  std::mt19937 random_;
  int layers_ = 0;
  std::map<std::string, int> stacks_;
  std::vector<std::uint32_t> begins_;
  Group kept_;
  std::deque<Memory> queue_;
  Memory held_ = 0;
  std::uint64_t next_ = 0x7f0000000000;
  std::uint32_t births_ = 0;
};

// The next batch is uploaded, and lies in memory, while this one is learnt from.
void Program::Prefetched(int micro, bool leaks) {
  for (int turn = 0; turn < turns_; ++turn) {
    Begin();
    const Memory next = New("Upload", 8192u * static_cast<unsigned>(6 + (leaks ? Below(5) : 0)));
    if (leaks) {
      New("Remember", 3000);
      if (Below(4) == 0)
        queue_.push_back(New("Cache", 1000u * static_cast<unsigned>(1 + Below(9))));
      if (queue_.size() > 6) {
        Delete(queue_.front());
        queue_.pop_front();
      }
    }
    Learn(16, micro);
    if (held_ != 0) Delete(held_);
    held_ = next;
  }
}

// An evaluation between epochs; where there are `metrics`, each step adds to a list on the device
// that the next epoch begins anew.
void Program::Epochs(bool metrics) {
  const int epoch = std::max(4, turns_ / 5);
  for (int turn = 0; turn < turns_; ++turn) {
    Begin();
    Step(16);
    if (metrics) kept_.push_back(New("Metric", 2000));
    if (turn % epoch != epoch - 1) continue;
    Delete(&kept_);
    for (int i = 0; i < 3; ++i) Evaluate(32);
  }
}

void Program::Turn(std::string_view shape, int turn) {
  if (shape == "plain") {
    Step(16);
  } else if (shape == "three buffers") {
    Group buffers = {New("Input", 65536), New("Work", 1 << 20), New("Output", 65536)};
    Delete(&buffers);
  } else if (shape == "three buffers, one leaks") {
    New("Input", 65536);
    Group buffers = {New("Work", 1 << 20), New("Output", 65536)};
    Delete(&buffers);
  } else if (shape == "leak") {
    Step(16);
    New("History", 5000);
  } else if (shape == "leak and cache") {
    Step(16);
    New("History", 5000);
    queue_.push_back(New("Cache", 500u * static_cast<unsigned>(1 + Below(60))));
    if (queue_.size() > 8) {  // not the oldest one: some are used for long
      const auto victim = queue_.begin() + Below(8);
      Delete(*victim);
      queue_.erase(victim);
    }
  } else if (shape == "accumulation") {
    Step(16, 4);
  } else if (shape == "accumulation of portions") {
    const Memory batch = New("Batch", 262144);
    Learn(4, 8);
    Delete(batch);
    if (turn % 3 == 0) New("Log", 700);
  } else if (shape == "evaluation every 5") {
    Step(16);
    if (turn % 5 == 4) Evaluate(32);
  } else if (shape == "random lengths") {
    Step(static_cast<unsigned>(1 + Below(60)));
  } else if (shape == "random lengths, leak") {
    Step(static_cast<unsigned>(1 + Below(60)));
    New("History", 5000);
  } else if (shape == "carried state") {
    const Memory state = New("State", 100'000);
    Step(16);
    if (held_ != 0) Delete(held_);
    held_ = state;
  } else if (shape == "carried state of random size") {
    const Memory state = New("State", 4096u * static_cast<unsigned>(1 + Below(64)));
    Step(16);
    if (held_ != 0) Delete(held_);
    held_ = state;
  } else if (shape == "warm-up") {
    for (int i = 0; turn < 4 && i < 30; ++i) Delete(New("Try" + std::to_string(i), 1 << 20));
    Step(16);
  } else if (shape == "last ten") {
    Step(16);
    queue_.push_back(New("Recent", 9000));
    if (queue_.size() > 10) {
      Delete(queue_.front());
      queue_.pop_front();
    }
  } else if (shape == "checkpoints") {
    Step(16);
    if (turn % 10 == 9)
      for (int layer = 0; layer < layers_; ++layer) Delete(New("Save", Weight(layer)));
  } else if (shape == "branches") {
    const Memory batch = New("Batch", 65536);
    Group taken;
    for (int i = 0; i < 20; ++i)
      if (Below(10) > 0) taken.push_back(New("Branch" + std::to_string(i), 10'000));
    Delete(&taken);
    Delete(batch);
  } else if (shape == "adversaries") {
    const Memory batch = New("Batch", 65536);
    Learn(16, 1, "Judge");
    Learn(16, 1, "Forge");
    Delete(batch);
  } else if (shape == "longer each turn") {
    Step(static_cast<unsigned>(8 + turn));
  } else if (shape == "frees in bulk") {
    Step(16);
    kept_.push_back(New("Metric", 20'000));
    if (turn % 10 == 9) Delete(&kept_);
  } else if (shape == "rare leak") {
    Step(16);
    if (Below(12) == 0) New("Error", 50'000);
  } else if (shape == "requests") {
    const Memory request = New("Request", 512u * static_cast<unsigned>(1 + Below(30)));
    Evaluate(static_cast<unsigned>(1 + Below(8)));
    Delete(request);
  }
}

std::vector<std::uint32_t> Program::Run(std::string_view shape) {
  if (shape != "set-up alone") SetUp();
  if (shape == "set-up alone") {
    for (int turn = 0; turn < turns_; ++turn) SetUp();
    return {};
  }
  if (shape == "one step of many layers") {
    layers_ = turns_;
    Step(16);
    return {};
  }
  if (shape == "one step and its optimizer") {
    Group moments;
    layers_ = turns_ / 2;
    Step(16);
    for (int layer = 0; layer < turns_; ++layer) {  // a hand-written optimizer, one by one
      Group work = {New("Square", 40'000), New("Root", 40'000)};
      New("Moment1", 40'000);
      New("Moment2", 40'000);
      Delete(&work);
    }
    return {};
  }
  if (shape == "prefetched") Prefetched(1, false);
  if (shape == "prefetched, accumulated, leak") Prefetched(4, true);
  if (shape == "epochs") Epochs(false);
  if (shape == "epochs with metrics") Epochs(true);
  if (shape == "stages") {
    for (int turn = 0; turn < turns_; ++turn) {
      Begin();
      if (turn == turns_ / 2) layers_ *= 2;
      Step(16, 1, turn < turns_ / 2 ? "" : "Second");
    }
  }
  if (!begins_.empty()) return begins_;
  for (int turn = 0; turn < turns_; ++turn) {
    Begin();
    Turn(shape, turn);
  }
  return begins_;
}

}  // namespace

const std::vector<StepShape>& StepShapes() {
  static const std::vector<StepShape> shapes = {{"plain"},
                                                {"three buffers"},
                                                {"three buffers, one leaks"},
                                                {"leak"},
                                                {"leak and cache"},
                                                {"rare leak"},
                                                {"frees in bulk"},
                                                {"last ten"},
                                                {"prefetched"},
                                                {"prefetched, accumulated, leak"},
                                                {"accumulation"},
                                                {"accumulation of portions"},
                                                {"evaluation every 5"},
                                                {"epochs"},
                                                {"epochs with metrics"},
                                                {"stages"},
                                                {"random lengths"},
                                                {"random lengths, leak"},
                                                {"longer each turn"},
                                                {"carried state"},
                                                {"carried state of random size"},
                                                {"warm-up"},
                                                {"checkpoints"},
                                                {"branches"},
                                                {"adversaries"},
                                                {"requests"},
                                                {"set-up alone", false},
                                                {"one step of many layers", false},
                                                {"one step and its optimizer", false}};
  return shapes;
}

std::vector<std::uint32_t> WriteStepShape(std::string_view shape, std::uint32_t seed, int turns,
                                          Layer layer, LogBuilder* log) {
  return Program(seed, turns, layer, log).Run(shape);
}

}  // namespace memprof::analysis::testing
