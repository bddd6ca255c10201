// Memory of a step that stays until the next one has made its own.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/load/load.h"
#include "tests/analysis/advice/scenario.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using testing::Scenario;

struct Batch {
  std::uint64_t input, activation, score;
};

// `score = model(x)` in every step from `first` on, which nothing deletes before.
void Train(Scenario& s, std::uint64_t steps, std::uint64_t first = 0, bool launches = false) {
  s.Alloc("Weights", 16 * kMiB);
  std::optional<Batch> before;
  for (std::uint64_t step = 0; step < steps; ++step) {
    s.Step(step);
    Batch batch = {};
    batch.input = s.Alloc("Input", 8 * kMiB);
    batch.activation = s.Alloc("Activation", 32 * kMiB);
    batch.score = s.Alloc("Score", 4 * kMiB);
    if (launches) s.Launch({batch.input, batch.activation, batch.score});
    const auto drop = [&s](const Batch& of) {
      for (const std::uint64_t address : {of.score, of.activation, of.input}) s.Free(address);
    };
    if (before) drop(*before);
    before.reset();
    step >= first ? void(before = batch) : drop(batch);
  }
}

TEST(AdviceHeldOverTest, AResultAndItsGraph) {
  Scenario s;
  Train(s, 8);
  const AdviceReport report = s.Advice();
  const auto found = s.Of(report, Pattern::kHeldOver);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(s.SiteOf(found[0].stack), "Score") << "what the variable held";
  EXPECT_EQ(found[0].count, 7u);
  EXPECT_EQ(found[0].bytes, 7 * 44 * kMiB);
  EXPECT_EQ(found[0].new_peak.bytes, (16 + 44) * kMiB);
  EXPECT_EQ(found[0].saves_bytes, 44 * kMiB);
  EXPECT_EQ(found[0].confidence, Confidence::kPossible);
  EXPECT_NE(found[0].why.find("44.0 MiB at most"), std::string::npos) << found[0].why;
  EXPECT_TRUE(report.patterns[static_cast<std::size_t>(Pattern::kHeldOver)].looked_for);
}

// Two ranks at once: what one allocates does not part what the other's assignment freed.
TEST(AdviceHeldOverTest, OfEachProcessByItsOwnSteps) {
  const testing::TempDirectory directory;
  std::vector<std::string> paths;
  for (const std::uint32_t rank : {0u, 1u}) {
    Scenario s;
    s.log().header().set_pid(1 + rank);
    s.log().header().set_hostname("host");
    if (rank == 1) s.log().AdvanceTime(300);
    Train(s, 8);
    paths.push_back(directory.Write(std::to_string(rank) + ".mprof", s.log().Bytes()));
  }
  const auto session = LoadLogs(paths, {});
  ASSERT_TRUE(session.ok()) << session.status();
  std::size_t found = 0;
  for (const Finding& finding : FindAdvice(**session, {.noise = 0}).findings) {
    if (finding.pattern != Pattern::kHeldOver) continue;
    EXPECT_EQ(finding.bytes, finding.count * 44 * kMiB);
    found += finding.count;
  }
  EXPECT_EQ(found, 14u);
}

TEST(AdviceHeldOverTest, OnceIsNoHabit) {
  Scenario s;
  Train(s, 10, 7);
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kHeldOver).empty());
}

TEST(AdviceHeldOverTest, WhereUsesAreSeenALateReleaseSaysMore) {
  Scenario s;
  Train(s, 8, 0, true);
  const AdviceReport report = s.Advice();
  EXPECT_TRUE(s.Of(report, Pattern::kHeldOver).empty());
  EXPECT_EQ(s.Of(report, Pattern::kLateRelease, "Activation").size(), 1u);
}

TEST(AdviceHeldOverTest, NearMisses) {
  Scenario s;
  std::vector<std::uint64_t> gradients, window;
  for (std::uint64_t step = 0; step < 12; ++step) {
    s.Step(step);
    const std::uint64_t activation = s.Alloc("Activation", 8 * kMiB);
    // zero_grad() before the backward pass: there is never a second one.
    if (!gradients.empty()) s.Free(gradients.back());
    gradients.push_back(s.Alloc("Gradient", 4 * kMiB));
    s.Free(activation);
    // Kept for two steps on purpose.
    window.push_back(s.Alloc("Window", kMiB));
    if (step >= 2) s.Free(window[step - 2]);
  }
  EXPECT_TRUE(s.Of(s.Advice(), Pattern::kHeldOver).empty());
}

}  // namespace
}  // namespace memprof::analysis
