// Options of advice: findings below the noise limit, number of examples, the time limit, and
// findings that a filter lets pass.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "analysis/advice/passing.h"
#include "analysis/store/allocation_set.h"
#include "analysis/symbols/symbols.h"
#include "tests/analysis/advice/scenario.h"

namespace memprof::analysis {
namespace {

using testing::Scenario;

// Large and small allocations that are never used, and one that is used.
void Fill(Scenario& s) {
  const auto used = s.Alloc("Used", 64 << 20);
  for (int i = 0; i < 5; ++i) s.Alloc("Large", (1 + i) << 20);
  s.Alloc("Small", 512);
  s.Launch({used, used + 1});
  s.Free(used);
}

TEST(AdviceOptions, WhatIsBelowTheNoiseIsKeptIfAsked) {
  Scenario s;
  Fill(s);
  s.Advice();
  const AdviceReport plain = FindAdvice(s.session());
  const AdviceReport all = FindAdvice(s.session(), {.keep_noise = true});
  EXPECT_GT(plain.hidden, 0u);
  EXPECT_EQ(all.hidden, plain.hidden);
  EXPECT_EQ(all.findings.size(), plain.findings.size() + plain.hidden);
  std::uint64_t noise = 0;
  for (const Finding& finding : all.findings) noise += finding.below_noise;
  EXPECT_EQ(noise, plain.hidden);
  for (const Finding& finding : plain.findings) EXPECT_FALSE(finding.below_noise);
}

TEST(AdviceOptions, NamesAsManyCasesAsWanted) {
  Scenario s;
  Fill(s);
  s.Advice();
  for (const std::size_t most : {1u, 3u, 100u}) {
    bool found = false;
    for (const Finding& finding : FindAdvice(s.session(), {.max_examples = most}).findings) {
      EXPECT_LE(finding.examples.size(), most);
      if (finding.pattern != Pattern::kUnused || finding.count < 5) continue;
      found = true;
      EXPECT_EQ(finding.examples.size(), std::min<std::size_t>(most, 5));
      for (std::size_t i = 1; i < finding.examples.size(); ++i)
        EXPECT_GE(s.session().record(finding.examples[i - 1].allocation).bytes,
                  s.session().record(finding.examples[i].allocation).bytes);
    }
    EXPECT_TRUE(found);
  }
}

TEST(AdviceOptions, ReportsProgressAndGivesUp) {
  Scenario s;
  Fill(s);
  s.Advice();
  std::vector<double> shares;
  AdviceOptions options;
  options.progress = [&](double share) {
    shares.push_back(share);
    return true;
  };
  EXPECT_FALSE(FindAdvice(s.session(), options).findings.empty());
  EXPECT_GT(shares.size(), 5u);
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_LE(shares.back(), 1.0);
  for (std::size_t stop = 1; stop <= shares.size(); ++stop) {
    std::size_t asked = 0;
    options.progress = [&](double) { return ++asked < stop; };
    const AdviceReport report = FindAdvice(s.session(), options);
    EXPECT_TRUE(report.findings.empty());
    EXPECT_EQ(asked, stop);
  }
}

// The reference loops over all allocations for each finding.
TEST(PassingFindings, AreThoseOfWhichAnAllocationPasses) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    Scenario s;
    for (int i = 0; i < 60; ++i) s.Alloc("Site" + std::to_string(random() % 8), 1000 + i);
    s.Advice();
    const Session& session = s.session();
    std::vector<Finding> findings;
    for (const AllocationRecord& a : session.records()) {
      Finding& finding = findings.emplace_back();
      finding.stack = a.stack;
      finding.device = a.device;
      // no allocation of the site has this layer
      finding.layer = random() % 3 == 0 ? Layer::kSegment : a.layer;
    }
    findings.emplace_back().device = 0;  // without a stack
    std::vector<bool> chosen(session.records().size());
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = random() % 12 == 0;
    if (round == 0) chosen.assign(chosen.size(), true);
    // Two stacks form one site.
    const auto site_of = [](StackId stack) { return stack.value / 2; };
    const std::vector<bool> shown =
        PassingFindings(session, findings, site_of, AllocationSet(chosen));
    ASSERT_EQ(shown.size(), findings.size());
    for (std::size_t f = 0; f + 1 < findings.size(); ++f) {
      bool expected = false;
      for (std::size_t i = 0; i < chosen.size(); ++i)
        expected |= chosen[i] && site_of(session.records()[i].stack) == site_of(findings[f].stack);
      EXPECT_EQ(shown[f], expected);
    }
    EXPECT_EQ(shown.back(), round == 0);
  }
}

TEST(PassingFindings, AreOfTheLayerIfTheSiteHasIt) {
  testing::LogBuilder log;
  log.Device(0, 1 << 30);
  const int stack = log.Stack({"main (a.cc:1)", "Both (a.cc:2)"});
  log.Alloc(Layer::kLinear, 0x100000, 4096, {.stack = stack});
  log.Alloc(Layer::kPinned, 0x900000, 4096, {.device = -1, .stack = stack});
  const auto session = testing::LoadLog(log);
  std::vector<Finding> findings(3);
  for (Finding& finding : findings) finding.stack = session->record(AllocationId(0)).stack;
  findings[0].layer = Layer::kLinear;
  findings[1].layer = Layer::kPinned;
  findings[2].layer = Layer::kUnspecified;
  const AllocationSet pinned(std::vector<bool>{false, true});
  EXPECT_THAT(PassingFindings(*session, findings, nullptr, pinned),
              ::testing::ElementsAre(false, true, true));
}

}  // namespace
}  // namespace memprof::analysis
