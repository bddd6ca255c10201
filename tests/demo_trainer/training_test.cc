// Parts of the training: loss scaling, text and loaders, the average over ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

#include "demo_trainer/error.h"
#include "demo_trainer/options.h"
#include "demo_trainer/train/optimizer.h"
#include "demo_trainer/train/ranks.h"
#include "demo_trainer/train/trainer.h"
#include "tests/demo_trainer/blocked_stream.h"
#include "tests/demo_trainer/test_model.h"

namespace memprof::demo {
namespace {

TEST(LossScalerTest, HalvesOnOverflowAndDoublesAfterGoodSteps) {
  LossScaler scaler(1024.0f, true, 3);
  EXPECT_FALSE(scaler.Update(kInfinity));
  EXPECT_EQ(scaler.scale(), 512.0f);
  EXPECT_FALSE(scaler.Update(std::nanf("")));
  EXPECT_EQ(scaler.scale(), 256.0f);
  EXPECT_EQ(scaler.skipped(), 2);
  EXPECT_TRUE(scaler.Update(1.0f));
  EXPECT_TRUE(scaler.Update(1.0f));
  EXPECT_EQ(scaler.scale(), 256.0f);
  EXPECT_TRUE(scaler.Update(1.0f));
  EXPECT_EQ(scaler.scale(), 512.0f);
}

TEST(LossScalerTest, AnOverflowBeginsTheCountAgain) {
  LossScaler scaler(8.0f, true, 2);
  scaler.Update(1.0f);
  scaler.Update(kInfinity);
  scaler.Update(1.0f);
  EXPECT_EQ(scaler.scale(), 4.0f);
  scaler.Update(1.0f);
  EXPECT_EQ(scaler.scale(), 8.0f);
}

TEST(LossScalerTest, NeverGrowsToInfinity) {
  LossScaler scaler(2e38f, true, 1);
  EXPECT_TRUE(scaler.Update(1.0f));
  EXPECT_EQ(scaler.scale(), 2e38f);
}

TEST(LossScalerTest, WithoutScalingOnlySkips) {
  LossScaler scaler(1.0f, false);
  EXPECT_FALSE(scaler.Update(kInfinity));
  EXPECT_EQ(scaler.scale(), 1.0f);
}

TEST(OptimizerTest, GradientNormCoversAllParameters) {
  const auto device = MakeDevice();
  Gpt model(*device, SmallConfig(), 1);
  ComputeGradients(model, SmallBatch(*device, SmallConfig(), 2));
  double squares = 0.0;
  for (const Parameter* parameter : model.parameters()) {
    for (const float value : Read(parameter->grad)) squares += static_cast<double>(value) * value;
  }
  Optimizer optimizer(*device, model.parameters());
  EXPECT_NEAR(optimizer.GradientNorm(0.5f), 0.5 * std::sqrt(squares), 1e-4 * std::sqrt(squares));

  std::vector<float> bad = Read(model.parameters()[5]->grad);
  bad[1] = kInfinity;
  model.parameters()[5]->grad.CopyFromHost(bad.data());
  EXPECT_FALSE(std::isfinite(optimizer.GradientNorm(1.0f)));
}

TEST(OptimizerTest, StateComesWithTheFirstStepAndGradientsGo) {
  const auto device = MakeDevice();
  Gpt model(*device, SmallConfig(), 1);
  Optimizer optimizer(*device, model.parameters());
  ComputeGradients(model, SmallBatch(*device, SmallConfig(), 2));
  EXPECT_FALSE(model.parameters()[0]->exp_avg);
  optimizer.Step(0.01f, 1.0f);
  optimizer.ClearGradients();
  for (const Parameter* parameter : model.parameters()) {
    EXPECT_TRUE(parameter->exp_avg && parameter->exp_avg_sq) << parameter->name;
    EXPECT_FALSE(parameter->grad) << parameter->name;
  }
}

TEST(ModelTest, ParameterCountIsTrue) {
  const auto device = MakeDevice();
  const Gpt model(*device, SmallConfig(), 1);
  int64_t count = 0;
  for (const Parameter* parameter : model.parameters()) count += parameter->weight.count();
  EXPECT_EQ(Gpt::ParameterCount(SmallConfig()), count);
}

TEST(TextTest, BundledTextIsFoundAndLongEnough) {
  const Text text("", 128, 1);
  EXPECT_GT(text.bytes(), 20 * 1024);
}

TEST(TextTest, RowsDoNotDependOnTheSharing) {
  const Text text("", 16, 1);
  const HostBatch whole = text.TrainingBatch(3, 0, 4);
  const HostBatch half = text.TrainingBatch(3, 2, 2);
  EXPECT_THAT(std::vector<int>(whole.tokens.begin() + 32, whole.tokens.end()),
              testing::ElementsAreArray(half.tokens));
  EXPECT_NE(text.TrainingBatch(4, 0, 4).tokens, whole.tokens);
  EXPECT_NE(Text("", 16, 2).TrainingBatch(3, 0, 4).tokens, whole.tokens);
}

TEST(TextTest, TargetsAreTheNextBytes) {
  const Text text("", 16, 1);
  const HostBatch batch = text.TrainingBatch(0, 0, 1);
  for (size_t i = 0; i + 1 < 16; ++i) EXPECT_EQ(batch.targets[i], batch.tokens[i + 1]);
}

TEST(TextTest, TrainingNeverSeesTheHeldOutTenth) {
  const auto path =
      std::filesystem::temp_directory_path() / ("demo_trainer_text_" + std::to_string(getpid()));
  std::ofstream(path) << std::string(900, 'a') << std::string(100, 'b');
  const Text text(path.string(), 20, 1);
  for (int64_t step = 0; step < 200; ++step) {
    const HostBatch batch = text.TrainingBatch(step, 0, 4);
    EXPECT_THAT(batch.tokens, testing::Each('a'));
    EXPECT_THAT(text.EvaluationBatch(step, 4).tokens, testing::Each('b'));
  }
  std::filesystem::remove(path);
}

TEST(TextTest, MissingAndShortTextsAreErrors) {
  EXPECT_THROW(Text("/nonexistent/text", 16, 1), Error);
  EXPECT_THROW(Text("/", 16, 1), Error);
  EXPECT_THROW(Text("", 100'000, 1), Error);
}

TEST(LoaderTest, PrefetchingDeliversTheSameBatches) {
  const auto device = MakeDevice();
  const Text text("", 16, 1);
  LoaderPlan plan;
  plan.steps = 5;
  plan.grad_accum = 2;
  plan.batch = 6;
  plan.shard = 1;
  plan.shard_rows = 3;
  const auto plain = MakeLoader(*device, text, plan);
  const auto ahead = MakePrefetchingLoader(*device, text, plan);
  for (int64_t i = 0; i < plan.steps * plan.grad_accum; ++i) {
    const Batch a = plain->Next();
    const Batch b = ahead->Next();
    std::vector<int> from_plain(static_cast<size_t>(a.tokens.count()));
    std::vector<int> from_ahead(from_plain.size());
    for (const auto& [x, y] : {std::pair(a.tokens, b.tokens), std::pair(a.targets, b.targets)}) {
      x.CopyToHost(from_plain.data());
      y.CopyToHost(from_ahead.data());
      ASSERT_EQ(from_plain, from_ahead) << "micro-batch " << i;
    }
    const int64_t step = i / 2;
    const int64_t first = i % 2 * 6 + 3;
    EXPECT_EQ(text.TrainingBatch(step, first, 3).targets, from_plain);
  }
}

TEST(LoaderTest, PrefetchedBatchesAreWaitedForOnTheStream) {
  const auto device = MakeDevice();
  const Text text("", 16, 1);
  LoaderPlan plan;
  plan.steps = 2;
  BlockedStream copies(device->copy_stream());
  const auto ahead = MakePrefetchingLoader(*device, text, plan);
  const Batch batch = ahead->Next();  // the host does not wait
  EXPECT_EQ(cudaStreamQuery(device->compute_stream()), cudaErrorNotReady);
  copies.Open();
  std::vector<int> tokens(16);
  batch.tokens.CopyToHost(tokens.data());
  EXPECT_EQ(tokens, text.TrainingBatch(0, 0, 1).tokens);
}

TEST(RankGroupTest, AveragesOverRanksAgainAndAgain) {
  constexpr int kRanks = 3;
  constexpr int64_t kCount = 1000;
  const int fd = memfd_create("test", 0);
  ASSERT_GE(fd, 0);
  std::vector<std::thread> threads;
  std::vector<int> wrong(kRanks, 0);
  for (int rank = 0; rank < kRanks; ++rank) {
    const int own_fd = dup(fd);
    threads.emplace_back([rank, own_fd, &wrong] {
      Options options;
      options.ranks = kRanks;
      options.rank = rank;
      options.rank_fd = own_fd;
      RankGroup group(options, kCount);
      for (int round = 0; round < 200; ++round) {
        std::vector<float> values(kCount, static_cast<float>(3 * round + rank));
        group.Average(&values);
        for (const float value : values) {
          wrong[static_cast<size_t>(rank)] +=
              std::fabs(value - static_cast<float>(3 * round + 1)) > 1e-3f;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  close(fd);
  EXPECT_THAT(wrong, testing::Each(0));
}

}  // namespace
}  // namespace memprof::demo
