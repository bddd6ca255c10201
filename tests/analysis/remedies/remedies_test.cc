// Each remedy, against the same training with the remedy made; and every saving against a loop over
// all events.
#include "analysis/remedies/remedies.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/analysis/remedies/training_log.h"

namespace memprof::analysis {
namespace {

using testing::TrainedAs;
using testing::TrainingLog;

struct Judged {
  std::shared_ptr<const Session> session;
  PeakRemedies found;
  std::uint64_t peak = 0;

  const PeakRemedy* Of(RemedyOfPeak kind) const {
    for (const PeakRemedy& remedy : found.remedies)
      if (remedy.kind == kind) return &remedy;
    return nullptr;
  }
};

Judged Judge(const TrainedAs& options) {
  Judged judged{.session = TrainingLog(options).Load()};
  Symbols symbols(judged.session);
  const Categories categories(*judged.session, &symbols);
  const PeakLevels levels(*judged.session);
  judged.peak = levels.Find(0, PeakLayer::kBlocks)->peak().bytes;
  judged.found = FindPeakRemedies(*judged.session, &symbols, categories, levels);
  return judged;
}

std::uint64_t PeakOf(const TrainedAs& options) { return Judge(options).peak; }

std::uint64_t Predicted(const Judged& judged, RemedyOfPeak kind) {
  const PeakRemedy* remedy = judged.Of(kind);
  return remedy == nullptr ? 0 : remedy->saving.without.bytes;
}

// Small activations: the peak is in the optimizer's step.
TrainedAs Narrow() { return {.kept = 512 * 1024, .result = 128 * 1024, .scratch = 64 * 1024}; }

TEST(Remedies, FusedStep) {
  TrainedAs options = Narrow();
  const Judged judged = Judge(options);
  options.temporaries = false;
  EXPECT_EQ(Predicted(judged, RemedyOfPeak::kFusedStep), PeakOf(options));
  const PeakRemedy* remedy = judged.Of(RemedyOfPeak::kFusedStep);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->count, 4u);
  EXPECT_EQ(remedy->bytes, 4 * options.parameter);
  EXPECT_EQ(remedy->examples.size(), 3u);
  EXPECT_EQ(judged.peak, remedy->saving.without.bytes + remedy->saving.saves_bytes);
}

TEST(Remedies, StateOnTheHostAndOf8Bits) {
  TrainedAs options = Narrow();
  const Judged judged = Judge(options);
  options.temporaries = false;
  options.state = (options.parameter / 4 + options.parameter / 256 + 511) / 512 * 512;
  EXPECT_EQ(Predicted(judged, RemedyOfPeak::kSmallState), PeakOf(options));
  options.state = 0;
  EXPECT_EQ(Predicted(judged, RemedyOfPeak::kNoState), PeakOf(options));
}

TEST(Remedies, FreedGradients) {
  TrainedAs options;
  options.keep_gradients = true;
  const Judged judged = Judge(options);
  options.keep_gradients = false;
  EXPECT_EQ(Predicted(judged, RemedyOfPeak::kFreedGradients), PeakOf(options));
  EXPECT_EQ(Judge(options).Of(RemedyOfPeak::kFreedGradients), nullptr);
}

TEST(Remedies, Checkpointing) {
  TrainedAs options;
  const Judged judged = Judge(options);
  const PeakRemedy* remedy = judged.Of(RemedyOfPeak::kCheckpointing);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->subject, "Block");
  options.checkpointed = true;
  const std::uint64_t truth = PeakOf(options);
  EXPECT_EQ(Predicted(judged, RemedyOfPeak::kCheckpointing), truth);
  // What is done already is not advised again.
  const Judged again = Judge(options);
  EXPECT_EQ(again.Of(RemedyOfPeak::kCheckpointing), nullptr);
}

// The last pass has no backward pass, and the state seems to be freed like the rest.
TEST(Remedies, OfARunThatRanOutOfMemory) {
  TrainedAs options;
  options.steps = 2;
  options.runs_out = true;
  options.kept = 32 * kMiB;
  const Judged judged = Judge(options);
  options.checkpointed = true;
  EXPECT_EQ(Predicted(judged, RemedyOfPeak::kCheckpointing), PeakOf(options));
  options = Narrow();
  options.steps = 2;
  options.runs_out = true;
  const Judged narrow = Judge(options);
  options.temporaries = false;
  EXPECT_EQ(Predicted(narrow, RemedyOfPeak::kFusedStep), PeakOf(options));
  options.state = 0;
  EXPECT_EQ(Predicted(narrow, RemedyOfPeak::kNoState), PeakOf(options));
}

TEST(Remedies, SmallBatches) {
  TrainedAs options;
  const Judged judged = Judge(options);
  options.parts = 2;
  EXPECT_EQ(Predicted(judged, RemedyOfPeak::kSmallBatches), PeakOf(options));
}

TEST(Remedies, ChunkedLoss) {
  TrainedAs options;
  options.logits = 64 * kMiB;
  const Judged judged = Judge(options);
  const PeakRemedy* remedy = judged.Of(RemedyOfPeak::kChunkedLoss);
  ASSERT_NE(remedy, nullptr);
  // Of bfloat16, say, with a loss in single precision.
  options.wide_loss = true;
  const Judged wide = Judge(options);
  ASSERT_NE(wide.Of(RemedyOfPeak::kChunkedLoss), nullptr);
  EXPECT_GT(wide.peak, judged.peak);
  EXPECT_EQ(wide.Of(RemedyOfPeak::kChunkedLoss)->saving.without.bytes,
            remedy->saving.without.bytes);
  options.wide_loss = false;
  options.logits = 0;
  // Without logits, but with the head's weight and gradient, and pieces as large as its input.
  const std::uint64_t most = PeakOf(options) + 2 * 8 * options.parameter + 3 * options.result;
  EXPECT_LE(remedy->saving.without.bytes, most);
  EXPECT_GE(remedy->saving.without.bytes, PeakOf(options) + 8 * options.parameter);
  EXPECT_EQ(Judge(options).Of(RemedyOfPeak::kChunkedLoss), nullptr);
}

TEST(Remedies, BucketViews) {
  TrainedAs options = Narrow();
  options.bucket = 4 * options.parameter;
  const Judged judged = Judge(options);
  const PeakRemedy* remedy = judged.Of(RemedyOfPeak::kBucketViews);
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->saving.saves_bytes, 4 * options.parameter);
  options.bucket = 0;
  EXPECT_EQ(Judge(options).Of(RemedyOfPeak::kBucketViews), nullptr);
}

TEST(Remedies, CombinationsSaveMoreThanTheirParts) {
  const Judged judged = Judge({});
  ASSERT_FALSE(judged.found.combinations.empty());
  std::uint64_t fewer = 0;
  for (const PeakRemedy& remedy : judged.found.remedies)
    fewer = std::max(fewer, remedy.saving.saves_bytes);
  for (const PeakCombination& combination : judged.found.combinations) {
    EXPECT_GT(combination.saving.saves_bytes, fewer);
    fewer = combination.saving.saves_bytes;
  }
}

TEST(Remedies, OnlyOfPyTorch) {
  TrainedAs options;
  options.torch = false;
  EXPECT_TRUE(Judge(options).found.remedies.empty());
  // A log that names no release has its libraries.
  TrainingLog log(options);
  log::Module* library = log.log().definitions().add_module();
  library->set_id(7);
  library->set_path("/x/torch/lib/libc10_cuda.so");
  const auto session = log.Load();
  Symbols symbols(session);
  EXPECT_FALSE(
      FindPeakRemedies(*session, &symbols, Categories(*session, &symbols), PeakLevels(*session))
          .remedies.empty());
}

TEST(Remedies, NoneWithoutSymbols) {
  const auto session = TrainingLog({}).Load();
  const Categories categories(*session);
  EXPECT_TRUE(
      FindPeakRemedies(*session, nullptr, categories, PeakLevels(*session)).remedies.empty());
}

// By a loop over all events.
std::uint64_t SlowPeak(const Session& session, const BlockChanges& changes) {
  std::vector<std::int64_t> level(session.events().size() + 1);
  const auto add = [&](EventId begin, EventId end, std::uint64_t bytes) {
    for (std::uint32_t e = begin.value; e < std::min<std::uint64_t>(end.value, level.size()); ++e)
      level[e] += static_cast<std::int64_t>(bytes);
  };
  const std::set<AllocationId> gone(changes.gone.begin(), changes.gone.end());
  for (std::uint32_t i = 0; i < session.records().size(); ++i) {
    const AllocationRecord& a = session.record(AllocationId(i));
    if (a.layer == Layer::kBlock && !gone.contains(AllocationId(i))) add(a.birth, a.death, a.bytes);
  }
  for (const HeldPiece& piece : changes.added)
    if (piece.begin < piece.end) add(piece.begin, piece.end, piece.bytes);
  return static_cast<std::uint64_t>(*std::max_element(level.begin(), level.end()));
}

class RemediesTwin : public ::testing::TestWithParam<unsigned> {};

TEST_P(RemediesTwin, SavingsAreThoseOfALoop) {
  std::mt19937 random(GetParam());
  const auto some = [&random](std::uint64_t most) { return (1 + random() % most) * 64 * 1024; };
  const TrainedAs options{.modules = 2 + static_cast<int>(random() % 5),
                          .parameter = some(40),
                          .kept = some(80),
                          .result = some(30),
                          .scratch = some(80),
                          .logits = random() % 2 * some(400),
                          .wide_loss = random() % 2 == 0,
                          .bucket = random() % 2 * some(100),
                          .state = some(40),
                          .keep_gradients = random() % 2 == 0,
                          .parts = 1 + static_cast<int>(random() % 2)};
  const Judged judged = Judge(options);
  EXPECT_EQ(SlowPeak(*judged.session, {}), judged.peak);
  for (const PeakRemedy& remedy : judged.found.remedies) {
    EXPECT_EQ(SlowPeak(*judged.session, remedy.changes), remedy.saving.without.bytes)
        << static_cast<int>(remedy.kind);
    EXPECT_TRUE(std::is_sorted(remedy.changes.gone.begin(), remedy.changes.gone.end()));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RemediesTwin, ::testing::Range(0u, 12u));

}  // namespace
}  // namespace memprof::analysis
