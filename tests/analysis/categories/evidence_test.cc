// How much each kind of evidence contributes to the categories of a training run.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "analysis/categories/categories.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

// A training run with a framework's allocator, two layers of known sizes, and the true category of
// each block.
class Training {
 public:
  struct Options {
    bool named = false, symbols = true, ranges = false, keep_gradients = false, again = false;
    int steps = 6, micro_batches = 1;
  };
  explicit Training(const Options& options) : options_(options) {
    log_.Device(0, std::uint64_t{8} << 30);
    log_.Alloc(Layer::kLinear, kBase, kSegment);
    log_.Alloc(Layer::kSegment, kBase, kSegment);
    for (const std::uint64_t bytes : kWeights)
      New(Category::kParameters, "Model", "Weight", bytes, "w.weight");
    for (int step = 0; step < options.steps; ++step) Step(step);
  }

  LogBuilder& log() { return log_; }
  Category TruthOf(std::size_t block) const { return truth_[block]; }

 private:
  static constexpr std::uint64_t kBase = 0x7f0000000000, kSegment = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kWeights[] = {40'960, 81'920, 163'840, 20'480};

  std::uint64_t New(Category truth, const std::string& phase, const std::string& what,
                    std::uint64_t bytes, const std::string& name) {
    const std::string caller = options_.symbols ? phase : "f" + std::to_string(phase.size());
    const std::string function = options_.symbols ? what : "g" + std::to_string(what.size());
    const std::string key = phase + "/" + what;
    auto [it, fresh] = stacks_.try_emplace(key, 0);
    if (fresh) {
      const int line = static_cast<int>(stacks_.size());
      it->second = log_.Stack({"main (main.cc:1)", caller + " (a.cc:" + std::to_string(line) + ")",
                               function + " (b.cc:" + std::to_string(line) + ")",
                               "Allocate (allocator.cc:1)"});
    }
    const std::uint64_t address = next_;
    next_ += (bytes + 511) / 512 * 512;
    log_.Alloc(Layer::kBlock, address, (bytes + 511) / 512 * 512,
               {.stack = it->second, .aux0 = bytes});
    truth_.push_back(truth);
    if (options_.named) {
      log_.TensorCreate(address, bytes, log_.Tensor(name, "float32", {bytes / 4}),
                        {.stack = it->second});
      named_.insert({address, true});
    }
    return address;
  }
  void Delete(std::uint64_t address) {
    if (named_.contains(address)) log_.Free(Layer::kTensor, address);
    log_.Free(Layer::kBlock, address);
  }
  void Push(const std::string& name) {
    if (options_.ranges) log_.RangePush(name);
  }
  void Pop() {
    if (options_.ranges) log_.RangePop();
  }

  void MicroBatch(bool first) {
    const std::uint64_t batch = New(Category::kInputs, "DataLoader", "Upload", 3000, "batch");
    std::vector<std::uint64_t> saved;
    Push("forward");
    for (std::uint64_t i = 0; i < 8; ++i)
      saved.push_back(New(Category::kActivations, "Forward", "Layer" + std::to_string(i),
                          300'000 + 7000 * i, "act"));
    const std::uint64_t loss = New(Category::kActivations, "Forward", "Loss", 4, "loss");
    Pop();
    Push("backward");
    for (std::uint64_t i = 8; i-- > 0;) {
      if (first && i < std::size(kWeights) && gradients_.size() < std::size(kWeights))
        gradients_.push_back(
            New(Category::kGradients, "Backward", "AccumulateGrad", kWeights[i], "w.weight.grad"));
      const std::uint64_t gradient = New(Category::kTemporaries, "Backward",
                                         "Layer" + std::to_string(i), 200'000 + 3000 * i, "x.grad");
      // Another allocation during its life, so that it does not count as scratch.
      const std::uint64_t scratch =
          New(Category::kWorkspaces, "Backward", "MatMul", 9000, "workspace");
      Delete(scratch);
      Delete(saved.back());
      saved.pop_back();
      Delete(gradient);
    }
    Pop();
    Delete(loss);
    Delete(batch);
  }
  void Step(int step) {
    log_.Step(static_cast<std::uint64_t>(step));
    for (int i = 0; i < options_.micro_batches; ++i) MicroBatch(i == 0);
    Push("optimizer");
    if (step == 0)
      for (const std::uint64_t bytes : kWeights)
        New(Category::kOptimizerState, "Optimizer::Step", "State", bytes, "w.weight.exp_avg");
    Pop();
    if (options_.keep_gradients) return;
    for (const std::uint64_t gradient : gradients_) Delete(gradient);
    gradients_.clear();
  }

  Options options_;
  LogBuilder log_;
  std::map<std::string, int> stacks_;
  std::map<std::uint64_t, bool> named_;
  std::vector<Category> truth_;
  std::vector<std::uint64_t> gradients_;
  std::uint64_t next_ = kBase;
};

// The share of bytes in blocks with the right category.
double RightShare(Training& training, const CategoryOptions& options) {
  const auto session = LoadLog(training.log());
  Symbols symbols(session);
  const Categories categories(*session, &symbols, options);
  double right = 0, total = 0;
  std::size_t block = 0;
  for (std::uint32_t i = 0; i < session->records().size(); ++i) {
    const AllocationRecord& a = session->records()[i];
    if (a.layer != Layer::kBlock) continue;
    const bool is_right = categories.Of(AllocationId(i)).category == training.TruthOf(block++);
    right += is_right ? static_cast<double>(a.bytes) : 0;
    total += static_cast<double>(a.bytes);
  }
  return right / total;
}

TEST(CategoriesTest, NamesSayAll) {
  Training training({.named = true});
  EXPECT_EQ(RightShare(training, {}), 1);
  const auto session = LoadLog(training.log());
  const Categories categories(*session);
  for (std::uint32_t i = 0; i < session->records().size(); ++i)
    if (session->records()[i].layer == Layer::kTensor) {
      EXPECT_EQ(categories.Of(AllocationId(i)).reason, CategoryReason::kName);
    }
}

TEST(CategoriesTest, StacksSayNearlyAll) {
  for (const int micro_batches : {1, 3}) {
    for (const bool keep : {false, true}) {
      Training training({.keep_gradients = keep, .micro_batches = micro_batches});
      EXPECT_GE(RightShare(training, {}), 0.999) << micro_batches << keep;
    }
  }
}

TEST(CategoriesTest, RangesSayTheMost) {
  for (const bool keep : {false, true}) {
    Training training(
        {.symbols = false, .ranges = true, .keep_gradients = keep, .micro_batches = 2});
    EXPECT_GE(RightShare(training, {.symbols = false}), 0.99) << keep;
  }
}

TEST(CategoriesTest, LifetimesAndSizesSayTheMost) {
  for (const int micro_batches : {1, 2}) {
    Training training({.symbols = false, .micro_batches = micro_batches});
    EXPECT_GE(RightShare(training, {.symbols = false}), 0.99) << micro_batches;
    EXPECT_GE(RightShare(training, {.symbols = false, .stacks = false}), 0.97) << micro_batches;
  }
}

TEST(CategoriesTest, WhatIsMadeAgainIsStillAnActivation) {
  // Without symbols: the same two innermost frames, called from the backward pass.
  LogBuilder log;
  log.Device(0, std::uint64_t{8} << 30);
  std::map<std::string, int> stacks;
  std::uint64_t next = 0x7f0000000000;
  const auto make = [&](const std::string& pass, const std::string& layer, std::uint64_t bytes) {
    auto [it, fresh] = stacks.try_emplace(pass + layer, 0);
    if (fresh)
      it->second = log.Stack({"main (m.cc:1)", pass, layer + "Caller (c.cc:1)", layer + " (c.cc:2)",
                              "Allocate (a.cc:1)"});
    const std::uint64_t address = next;
    next += bytes;
    log.Alloc(Layer::kBlock, address, bytes, {.stack = it->second});
    return address;
  };
  make("Init (i.cc:1)", "W", 512);
  std::vector<std::size_t> rows;
  std::size_t row = 1;
  for (int step = 0; step < 5; ++step) {
    log.Step(static_cast<std::uint64_t>(step));
    std::vector<std::uint64_t> kept;
    const char* const kLayers[] = {"A", "B", "C", "D"};
    for (const char* layer : kLayers) {
      kept.push_back(make("P (p.cc:1)", layer, 51'200));
      const std::uint64_t dropped = make("P (p.cc:1)", std::string(layer) + "in", 25'600);
      log.Free(Layer::kBlock, dropped);
      row += 2;
    }
    for (int i = 4; i-- > 0;) {
      rows.push_back(row);
      const std::uint64_t remade = make("Q (q.cc:1)", std::string(kLayers[i]) + "in", 25'600);
      const std::uint64_t gradient = make("Q (q.cc:1)", std::string(kLayers[i]) + "back", 26'112);
      row += 2;
      log.Free(Layer::kBlock, remade);
      log.Free(Layer::kBlock, gradient);
      log.Free(Layer::kBlock, kept[static_cast<std::size_t>(i)]);
    }
    log.Free(Layer::kBlock, make("O (o.cc:1)", "Norm", 512));
    ++row;
  }
  const auto session = LoadLog(log);
  const Categories categories(*session);
  std::size_t right = 0;
  for (const std::size_t r : rows)
    right += categories.Of(AllocationId(static_cast<std::uint32_t>(r))).category ==
             Category::kActivations;
  EXPECT_EQ(right, rows.size());
}

}  // namespace
}  // namespace memprof::analysis
