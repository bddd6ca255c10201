// Logs that are always on: what was drawn, what stays exact, and logs that contradict themselves.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "analysis/store/sampling.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LogBuilder;

constexpr std::uint64_t kLogBegin = 1'000'000;
constexpr std::uint32_t kWriterThread = 9;

// A log of its own for each test, with times in order.
class SampledTest : public ::testing::Test {
 protected:
  SampledTest() {
    log_.header().set_start_time_ns(kLogBegin);
    log_.header().mutable_always_on()->set_budget_bytes(10 << 20);
    log_.header().mutable_always_on()->set_segment(3);
    log_.SetTime(kLogBegin);
  }
  void Block(std::uint64_t time, std::uint64_t address, std::uint32_t weight, int stack = 0) {
    log_.SetTime(time);
    log_.Alloc(Layer::kBlock, address, 512, {.stack = stack, .aux0 = 500, .weight = weight});
  }
  void Free(std::uint64_t time, std::uint64_t address) {
    log_.SetTime(time);
    log_.Free(Layer::kBlock, address);
  }
  void Thinned(std::uint64_t begin, std::uint64_t end, std::uint64_t events = 0,
               std::uint64_t allocations = 0) {
    log_.SetTime(end);
    log_.Event(Op::kThinned, Layer::kUnspecified, 0, events, 0,
               {.device = kNoDevice, .thread = kWriterThread, .aux0 = begin, .aux1 = allocations});
  }
  void Level(std::uint64_t time, Layer layer, std::uint64_t highest, std::uint64_t at_end = 0) {
    log_.SetTime(time);
    log_.Event(Op::kLevel, layer, 77, highest, 0,
               {.thread = kWriterThread, .aux0 = at_end, .aux1 = 5});
  }
  void Step(std::uint64_t time, std::uint64_t number) {
    log_.SetTime(time);
    log_.Step(number);
  }
  std::shared_ptr<const Session> Load(const LogBuilder::WriteOptions& options = {}) {
    return testing::LoadLog(log_, options);
  }
  static std::uint64_t Odd(const Session& session) {
    for (const AnomalyCount& anomaly : session.anomalies())
      if (anomaly.anomaly == log::Anomaly::kSamplingOdd) return anomaly.count;
    return 0;
  }

  LogBuilder log_;
};

TEST_F(SampledTest, ADrawnBlockIsNoAllocation) {
  const int site = log_.Stack({"main (a.cc:1)"});
  Block(kLogBegin + 10, 0x1000, 0);
  Block(kLogBegin + 20, 0x2000, 640, site);
  Free(kLogBegin + 50, 0x2000);
  Level(kLogBegin + 90, Layer::kBlock, 2048, 512);
  Thinned(kLogBegin + 15, kLogBegin + 90, 6, 3);
  const auto session = Load();
  EXPECT_EQ(session->records().size(), 1u);
  EXPECT_EQ(Odd(*session), 0u);
  const auto sampling = SamplingOf(*session);
  EXPECT_TRUE(sampling->always_on);
  EXPECT_EQ(sampling->recording.budget_bytes, 10u << 20);
  EXPECT_EQ(sampling->recording.segment, 3u);
  ASSERT_EQ(sampling->drawn.size(), 1u);
  const DrawnBlock block = DrawnAt(*session, sampling->drawn[0]);
  EXPECT_EQ(block.bytes, 512u);
  EXPECT_EQ(block.requested, 500u);
  EXPECT_EQ(block.begin, kLogBegin + 20);
  EXPECT_EQ(block.end, kLogBegin + 50);
  EXPECT_EQ(block.weight, 2.5);
  EXPECT_EQ(block.layer, Layer::kBlock);
  EXPECT_TRUE(block.stack.valid());
  ASSERT_EQ(sampling->stretches.size(), 1u);
  EXPECT_EQ(sampling->stretches[0].begin, kLogBegin + 15);
  EXPECT_EQ(sampling->stretches[0].allocations_left_out, 3u);
  ASSERT_EQ(sampling->stretches[0].levels.size(), 1u);
  EXPECT_EQ(sampling->stretches[0].levels[0].highest, 2048u);
  EXPECT_EQ(sampling->stretches[0].levels[0].bytes, 77u);
  EXPECT_EQ(HighestKnown(*session, 0, Layer::kBlock, 512), 2048u);
  EXPECT_EQ(HighestKnown(*session, 0, Layer::kBlock, 4096), 4096u);
  EXPECT_TRUE(sampling->IsWhole(0, kLogBegin + 15));
  EXPECT_FALSE(sampling->IsWhole(0, kLogBegin + 16));
  EXPECT_FALSE(sampling->IsWhole(kLogBegin + 89, kLogBegin + 91));
  EXPECT_TRUE(sampling->IsWhole(kLogBegin + 90, kLogBegin + 200));
}

TEST_F(SampledTest, WhatLivesOnIsExactWhateverItsWeight) {
  Block(kLogBegin + 20, 0x2000, 640);  // not freed
  Block(kLogBegin + 30, 0x3000, 640);  // freed after its stretch
  Thinned(kLogBegin + 15, kLogBegin + 90, 6, 3);
  Free(kLogBegin + 150, 0x3000);
  const auto session = Load();
  EXPECT_EQ(session->records().size(), 2u);
  EXPECT_TRUE(SamplingOf(*session)->drawn.empty());
  EXPECT_TRUE(session->records()[0].alive());
  EXPECT_EQ(session->records()[1].end_reason, EndReason::kFreed);
  EXPECT_EQ(session->events().result(session->records()[0].birth.value), 0u);
}

TEST_F(SampledTest, ALogThatGrowsEndsInAStretch) {
  Block(kLogBegin + 10, 0x1000, 0);
  Block(kLogBegin + 20, 0x2000, 512);
  Free(kLogBegin + 50, 0x2000);
  const auto cut = Load({.trailer = false});
  const auto sampling = SamplingOf(*cut);
  EXPECT_EQ(sampling->drawn.size(), 1u);
  ASSERT_EQ(sampling->stretches.size(), 1u);
  EXPECT_EQ(sampling->stretches[0].begin, kLogBegin + 20);
  EXPECT_EQ(Odd(*cut), 0u);
  // With an end, such a block is none of the format.
  const auto whole = Load();
  EXPECT_EQ(whole->records().size(), 2u);
  EXPECT_EQ(Odd(*whole), 1u);
}

TEST_F(SampledTest, ContradictionsAreLeftOutAndCounted) {
  Block(kLogBegin + 1, 0x1000, 255);  // less than itself
  Free(kLogBegin + 2, 0x1000);
  log_.SetTime(kLogBegin + 3);
  log_.Free(Layer::kBlock, 0x9000, {.weight = 512});  // of a free
  Thinned(kLogBegin + 5, kLogBegin + 10);
  Thinned(kLogBegin + 8, kLogBegin + 20);  // overlaps
  Level(kLogBegin + 30, Layer::kBlock, 1);
  Thinned(kLogBegin + 80, kLogBegin + 40);  // runs backwards, with its level
  Block(kLogBegin + 45, 0x4000, 512);       // outside of all
  Free(kLogBegin + 46, 0x4000);
  Thinned(0, kLogBegin + 50);  // begins before the log
  Block(kLogBegin + 60, 0x5000, 0xffffffff);
  Free(kLogBegin + 61, 0x5000);
  Thinned(kLogBegin + 55, kLogBegin + 70, ~0ull, ~0ull);
  Level(kLogBegin + 80, Layer::kBlock, 1);  // no stretch follows
  const auto session = Load();
  const auto sampling = SamplingOf(*session);
  ASSERT_EQ(sampling->stretches.size(), 4u);
  EXPECT_EQ(sampling->stretches[1].begin, kLogBegin + 10);
  EXPECT_EQ(sampling->stretches[2].begin, kLogBegin + 20);
  EXPECT_TRUE(sampling->highest.empty());
  ASSERT_EQ(sampling->drawn.size(), 2u);
  EXPECT_GT(DrawnAt(*session, sampling->drawn[1]).weight, 1.6e7);
  EXPECT_EQ(session->records().size(), 1u);
  // The weights of 255 and of a free, the overlap, the backward stretch and its level, the one that
  // begins too early, and the last level.
  EXPECT_EQ(Odd(*session), 7u);
}

TEST_F(SampledTest, AnAddressThatIsUsedAgainEndsNoDrawnBlock) {
  Block(kLogBegin + 20, 0x2000, 512);
  Block(kLogBegin + 30, 0x2000, 512);
  Free(kLogBegin + 40, 0x2000);
  Thinned(kLogBegin + 15, kLogBegin + 90);
  const auto session = Load();
  EXPECT_EQ(SamplingOf(*session)->drawn.size(), 1u);
  ASSERT_EQ(session->records().size(), 1u);
  EXPECT_EQ(session->events().time(session->records()[0].birth.value), kLogBegin + 20);
}

TEST_F(SampledTest, StepsWithoutMarksAreFilledIn) {
  Step(kLogBegin + 100, 7);
  Thinned(kLogBegin + 200, kLogBegin + 599);
  Step(kLogBegin + 600, 12);
  Step(kLogBegin + 700, 14);  // a program may count in twos: no stretch lies between
  const auto session = Load();
  const auto steps = session->steps();
  ASSERT_EQ(steps.size(), 7u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(steps[i].number, static_cast<std::int64_t>(7 + i));
    EXPECT_EQ(steps[i].begin, kLogBegin + 100 + 100 * i);
    EXPECT_EQ(steps[i].end, kLogBegin + 200 + 100 * i);
  }
  EXPECT_EQ(steps[6].number, 14);
  const auto sampling = SamplingOf(*session);
  EXPECT_EQ(sampling->whole_steps, 3u);
  EXPECT_EQ(sampling->all_steps, 8u);
}

TEST_F(SampledTest, MarksWithinAStretchAreKept) {
  Step(kLogBegin + 100, 7);
  Step(kLogBegin + 300, 9);
  Step(kLogBegin + 600, 12);
  Thinned(kLogBegin + 200, kLogBegin + 700);
  Step(kLogBegin + 700, 13);
  const auto session = Load();
  ASSERT_EQ(session->steps().size(), 7u);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(session->steps()[i].number, static_cast<std::int64_t>(7 + i));
    EXPECT_EQ(session->steps()[i].begin, kLogBegin + 100 + 100 * i);
  }
  EXPECT_EQ(SamplingOf(*session)->whole_steps, 2u);
}

TEST_F(SampledTest, HugeGapsAreNotFilledIn) {
  Step(kLogBegin + 100, 0);
  Thinned(kLogBegin + 200, kLogBegin + 599);
  Step(kLogBegin + 600, 1ull << 62);
  EXPECT_EQ(Load()->steps().size(), 2u);
}

TEST_F(SampledTest, OtherLogsHaveNoSampling) {
  LogBuilder plain;
  plain.Alloc(Layer::kLinear, 0x1000, 4096);
  const auto session = testing::LoadLog(plain);
  EXPECT_FALSE(SamplingOf(*session)->always_on);
  EXPECT_TRUE(SamplingOf(*session)->IsWhole(0, kForever));
}

// Each process has its own stretches; clocks of other hosts are shifted.
TEST_F(SampledTest, LogsOfAJobKeepTheirStretches) {
  const testing::TempDirectory directory;
  Block(kLogBegin + 20, 0x2000, 512);
  Free(kLogBegin + 50, 0x2000);
  Level(kLogBegin + 90, Layer::kBlock, 2048);
  Thinned(kLogBegin + 15, kLogBegin + 90, 6, 3);
  log_.header().set_pid(1);
  const std::string first = directory.Write("a.mprof", log_.Bytes());
  log_.header().set_pid(2);
  log_.header().set_hostname("another");
  log_.header().set_start_unix_ns(log_.header().start_unix_ns() + 1000);
  const auto session =
      LoadLogs({first, directory.Write("b.mprof", log_.Bytes())}, {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto sampling = SamplingOf(**session);
  EXPECT_EQ(sampling->drawn.size(), 2u);
  ASSERT_EQ(sampling->stretches.size(), 2u);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const Stretch& stretch = sampling->stretches[i];
    EXPECT_EQ(stretch.process, i);
    EXPECT_EQ(stretch.begin, kLogBegin + 15 + 1000 * i);
    EXPECT_EQ(stretch.end, kLogBegin + 90 + 1000 * i);
    ASSERT_EQ(stretch.levels.size(), 1u);
    EXPECT_EQ(stretch.levels[0].bytes, 77u);
  }
  EXPECT_TRUE(sampling->IsWhole(kLogBegin, kLogBegin + 1000, 1));
  EXPECT_FALSE(sampling->IsWhole(kLogBegin, kLogBegin + 1000, 0));
}

// The op of a drawn block is of sessions only.
TEST_F(SampledTest, ALogCannotClaimDrawnBlocks) {
  log_.Event(Op::kSampled, Layer::kBlock, 0x1000, 512, 0, {.result = 512});
  const auto session = Load();
  EXPECT_TRUE(SamplingOf(*session)->drawn.empty());
}

}  // namespace
}  // namespace memprof::analysis
