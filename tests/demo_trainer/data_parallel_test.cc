// Data parallel training in one process, and optimizer steps, against a single device that
// processes all data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "demo_trainer/options.h"
#include "demo_trainer/train/replica.h"
#include "tests/demo_trainer/reference.h"

namespace memprof::demo {
namespace {

// Must be set before the stand-in reads it.
const int kThreeDevices = setenv("SIMCUDA", "devices=3", 1);

using Gradients = std::vector<std::vector<float>>;

// Replicas on the first `count` devices, one shard each.
class Replicas {
 public:
  explicit Replicas(int count, const std::vector<std::string>& extra = {})
      : options_(Parse(count, extra)), text_("", options_.model.context, options_.seed) {
    for (int id = 0; id < count; ++id) {
      devices_.push_back(
          std::make_unique<Device>(id, options_.allocator, options_.max_split_bytes));
      all_.push_back(std::make_unique<Replica>(*devices_.back(), options_, text_, id));
    }
  }

  void RunStep(int64_t step, float loss_scale = 1.0f) {
    for (int64_t micro = 0; micro < options_.grad_accum; ++micro) {
      for (const auto& replica : all_) replica->RunMicroBatch(step, loss_scale);
    }
  }
  Gradients Of(size_t replica) {
    Gradients gradients;
    for (const Parameter* parameter : all_[replica]->model().parameters()) {
      gradients.push_back(Read(parameter->grad));
    }
    return gradients;
  }
  std::vector<std::unique_ptr<Replica>>& all() { return all_; }
  Replica& operator[](size_t i) { return *all_[i]; }
  const Text& text() const { return text_; }

 private:
  static Options Parse(int count, const std::vector<std::string>& extra) {
    std::vector<std::string> arguments = {"--layers",  "1", "--dim",   "16", "--heads", "2",
                                          "--context", "8", "--batch", "6",  "--steps", "4"};
    arguments.push_back("--devices=" + std::to_string(count));
    arguments.insert(arguments.end(), extra.begin(), extra.end());
    return ParseOptions(arguments);
  }

  const Options options_;
  const Text text_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<Replica>> all_;
};

void ExpectSameGradients(const Gradients& actual, const Gradients& expected, double factor = 1.0) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    reference::Values wide = reference::Wide(expected[i]);
    for (double& value : wide) value *= factor;
    reference::ExpectClose(actual[i], wide, 1e-4, "parameter " + std::to_string(i));
  }
}

TEST(DataParallelTest, EveryDeviceGetsTheMean) {
  ASSERT_EQ(kThreeDevices, 0);
  Replicas replicas(3);
  replicas.RunStep(0);
  const Gradients parts[] = {replicas.Of(0), replicas.Of(1), replicas.Of(2)};
  ASSERT_NE(parts[0], parts[1]) << "each has its own rows";
  Gradients mean = parts[0];
  for (size_t i = 0; i < mean.size(); ++i) {
    for (size_t j = 0; j < mean[i].size(); ++j) {
      mean[i][j] = (parts[0][i][j] + parts[1][i][j] + parts[2][i][j]) / 3;
    }
  }
  AverageGradients(replicas.all());
  ExpectSameGradients(replicas.Of(0), mean);
  EXPECT_EQ(replicas.Of(1), replicas.Of(0));
  EXPECT_EQ(replicas.Of(2), replicas.Of(0));
}

TEST(DataParallelTest, DevicesTogetherAreOneWithTheWholeBatch) {
  for (const int count : {2, 3}) {
    Replicas one(1);
    Replicas several(count);
    one.RunStep(0);
    several.RunStep(0);
    AverageGradients(several.all());
    ExpectSameGradients(several.Of(0), one.Of(0));
    float loss = 0.0f;
    for (const auto& replica : several.all())
      loss += replica->TakeLoss() / static_cast<float>(count);
    EXPECT_NEAR(loss, one[0].TakeLoss(), 1e-5);
  }
}

TEST(DataParallelTest, OneDeviceNeedsNoAverage) {
  Replicas one(1);
  one.RunStep(0);
  const Gradients before = one.Of(0);
  const uint64_t allocations = one[0].device().allocator().stats().allocations;
  AverageGradients(one.all());
  EXPECT_EQ(one.Of(0), before);
  EXPECT_EQ(one[0].device().allocator().stats().allocations, allocations);
}

TEST(ReplicaTest, LossScaleScalesGradientsAndNotTheLoss) {
  Replicas plain(1);
  Replicas scaled(1);
  plain.RunStep(0);
  scaled.RunStep(0, 64.0f);
  ExpectSameGradients(scaled.Of(0), plain.Of(0), 64.0);
  EXPECT_EQ(scaled[0].TakeLoss(), plain[0].TakeLoss());
}

TEST(ReplicaTest, PrefetchingChangesNoBit) {
  Replicas plain(1, {"--grad-accum", "2"});
  Replicas ahead(1, {"--grad-accum", "2", "--prefetch"});
  for (int64_t step = 0; step < 4; ++step) {
    plain.RunStep(step);
    ahead.RunStep(step);
    EXPECT_EQ(ahead.Of(0), plain.Of(0)) << step;
    EXPECT_EQ(ahead[0].TakeLoss(), plain[0].TakeLoss()) << step;
  }
}

TEST(ReplicaTest, EvaluationTouchesNoGradientAndKeepsNothing) {
  Replicas one(1, {"--dtype", "bf16"});
  one.RunStep(0);
  one[0].model().DropLowPrecisionWeights();
  const Gradients before = one.Of(0);
  const uint64_t blocks = one[0].device().allocator().stats().blocks.current;
  const float first = one[0].Evaluate(one.text(), false);
  EXPECT_NEAR(first, std::log(256.0), 0.1);
  EXPECT_EQ(one[0].Evaluate(one.text(), false), first);
  EXPECT_EQ(one.Of(0), before);
  EXPECT_EQ(one[0].device().allocator().stats().blocks.current, blocks);
}

TEST(OptimizerTest, StepsAreAdamWOnEveryParameter) {
  Replicas one(1);
  std::vector<reference::AdamW> references;
  for (const Parameter* parameter : one[0].model().parameters()) {
    references.emplace_back(Read(parameter->weight));
  }
  for (int64_t step = 0; step < 3; ++step) {
    one.RunStep(step, 4.0f);
    // Large, so that weight decay of a wrong parameter is detected.
    const float lr = 0.2f * static_cast<float>(step + 1);
    for (size_t i = 0; i < references.size(); ++i) {
      const Parameter* parameter = one[0].model().parameters()[i];
      const bool matrix = parameter->weight.shape().size() == 2;
      references[i].Step(Read(parameter->grad), lr, matrix ? 0.01 : 0.0, 0.25);
    }
    one[0].optimizer().Step(lr, 0.25f);
    one[0].optimizer().ClearGradients();
  }
  EXPECT_EQ(one[0].optimizer().steps(), 3);
  for (size_t i = 0; i < references.size(); ++i) {
    const Parameter* parameter = one[0].model().parameters()[i];
    // Where gradients are nearly zero, the update depends on rounding.
    reference::ExpectClose(Read(parameter->weight), references[i].weight, 1e-3, parameter->name);
  }
}

}  // namespace
}  // namespace memprof::demo
