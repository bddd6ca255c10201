// A training of PyTorch with known categories, for tests that add allocations of their own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/categories/categories.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

inline constexpr std::uint64_t kWeights[] = {40'960, 81'920, 20'480};
inline constexpr int kSteps = 8;

// A Python training loop with three weights, all in the function `Loop`: activations in the forward
// pass, gradients in the backward pass, and allocations that a test adds.
class KindsTraining {
 public:
  // `made`: the function that allocates weights.
  explicit KindsTraining(std::string loop = "main",
                         const std::string& made = "_apply (/x/torch/nn/modules/module.py:900)")
      : loop_(std::move(loop)) {
    for (const std::uint64_t bytes : kWeights) Make(bytes, {Loop(3), made}, Category::kParameters);
  }

  std::string Loop(int line) const { return loop_ + " (train.py:" + std::to_string(line) + ")"; }
  std::uint64_t Make(std::uint64_t bytes, const std::vector<std::string>& way, Category truth,
                     Layer layer = Layer::kBlock) {
    address_ += 1 << 20;
    log_.Alloc(layer, address_, bytes, {.stack = log_.Stack(way)});
    truth_.push_back(truth);
    return address_;
  }
  void Free(std::uint64_t address) { log_.Free(Layer::kBlock, address); }
  // Frees the allocations held under `name`, and holds these instead.
  void Replace(const std::string& name, const std::vector<std::uint64_t>& by) {
    for (const std::uint64_t address : held_[name]) Free(address);
    held_[name] = by;
  }

  struct Hooks {
    // before the forward pass, between forward and backward pass, after the backward pass
    std::function<void(int)> before, between, after;
  };
  void Run(const Hooks& hooks, int steps = kSteps) {
    for (int step = 0; step < steps; ++step) {
      log_.Step(static_cast<std::uint64_t>(step));
      if (hooks.before) hooks.before(step);
      std::vector<std::uint64_t> kept;
      for (int i = 0; i < 3; ++i)
        kept.push_back(Make(6'000 + 512u * static_cast<unsigned>(i),
                            {Loop(11), "Net.forward (net.py:5)"}, Category::kActivations));
      if (hooks.between) hooks.between(step);
      std::vector<std::uint64_t> gradients;
      for (const std::uint64_t bytes : kWeights)
        gradients.push_back(
            Make(bytes, {Loop(12), "backward (/x/torch/_tensor.py:500)"}, Category::kGradients));
      for (const std::uint64_t address : kept) Free(address);
      Replace("gradients", gradients);
      if (hooks.after) hooks.after(step);
    }
  }
  LogBuilder& log() { return log_; }
  void Expect() {
    const auto session = LoadLog(log_);
    ASSERT_NE(session, nullptr);
    Symbols symbols(session);
    const Categories categories(*session, &symbols);
    ASSERT_EQ(session->records().size(), truth_.size());
    for (std::uint32_t i = 0; i < truth_.size(); ++i) {
      const AllocationRecord& a = session->record(AllocationId(i));
      EXPECT_EQ(CategoryName(categories.Of(AllocationId(i)).category), CategoryName(truth_[i]))
          << "allocation " << i << " of " << a.bytes << " bytes at "
          << symbols.Site(a.stack).function << ":" << symbols.Site(a.stack).line;
    }
  }

 private:
  const std::string loop_;
  LogBuilder log_;
  std::vector<Category> truth_;
  std::map<std::string, std::vector<std::uint64_t>> held_;
  std::uint64_t address_ = 0x10'0000'0000;
};

}  // namespace memprof::analysis::testing
