// A training program, described allocation by allocation and free by free, from which loops of any
// shape are built.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analysis/testing/log_builder.h"

namespace memprof::analysis::testing {

class StepProgram {
 public:
  StepProgram(std::uint32_t seed, Layer layer, LogBuilder* log)
      : layer_(layer), log_(*log), random_(seed) {
    log_.Device(0, std::uint64_t{1} << 40);
    layers = 2 + static_cast<int>(random_() % 5);
  }

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
    for (int layer = 0; layer < layers; ++layer) {
      New("Weight", Weight(layer));
      New("Moment", Weight(layer));
    }
  }
  void Forward(const std::string& phase, std::uint64_t rows, Group* activations) {
    for (int layer = 0; layer < layers; ++layer) {
      activations->push_back(
          New(phase + "Matmul", 2048 * rows * (static_cast<unsigned>(layer) + 1)));
      activations->push_back(New(phase + "Relu", 1024 * rows));
    }
  }
  void Backward(const std::string& phase, std::uint64_t rows, Group* activations,
                Group* gradients) {
    for (int layer = layers; layer-- > 0;) {
      const Memory above = New(phase + "MatmulBackward", 2048 * rows);
      if (gradients != nullptr && static_cast<int>(gradients->size()) < layers)
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
  // A whole step without its batch: `micro` micro-batches, then the optimizer.
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

  // Allocations before each step that began.
  const std::vector<std::uint32_t>& begins() const { return begins_; }

  int layers = 0;
  // Memory that a loop keeps from one iteration to the next.
  Group kept;
  std::deque<Memory> queue;
  Memory held = 0;

 private:
  const Layer layer_;
  LogBuilder& log_;
  std::mt19937 random_;
  std::map<std::string, int> stacks_;
  std::vector<std::uint32_t> begins_;
  std::uint64_t next_ = 0x7f0000000000;
  std::uint32_t births_ = 0;
};

}  // namespace memprof::analysis::testing
