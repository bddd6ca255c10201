// The memory of loaded code beside other processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

constexpr std::uint64_t kMiB = 1 << 20, kTotal = 100'000 * kMiB;
constexpr TimeNs kOneSecond = 1'000'000'000;

// `others`: in MiB; none = not known.
void Sample(LogBuilder& log, TimeNs time, std::optional<std::uint64_t> others) {
  log.SetTime(time);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, kTotal / 2, 0,
            {.aux0 = kTotal, .aux1 = others ? *others * kMiB + 1 : 0});
}
void Load(LogBuilder& log, TimeNs time, std::uint64_t handle, std::uint64_t fell,
          std::uint64_t image_bytes) {
  log.SetTime(time);
  log.Event(Op::kModuleLoad, Layer::kModule, handle, image_bytes, 0, {.aux0 = fell * kMiB});
}
// In MiB, of each load.
std::vector<std::uint64_t> CodeOf(const Session& session) {
  std::vector<std::uint64_t> bytes;
  for (const AllocationRecord& record : session.records())
    if (record.layer == Layer::kModule) bytes.push_back(record.bytes / kMiB);
  return bytes;
}

// A load by which free memory fell by 1,200 MiB, with an image of 5 MiB.
std::uint64_t Between(std::optional<std::uint64_t> before, std::optional<std::uint64_t> after) {
  LogBuilder log;
  log.Device(0, kTotal);
  Sample(log, 1 * kOneSecond, before);
  Load(log, 4 * kOneSecond, 0x77, 1200, 5 * kMiB);
  Sample(log, 6 * kOneSecond, after);
  return CodeOf(*LoadLog(log)).at(0);
}

TEST(CodeBytes, WhatANeighbourTookIsNoCode) {
  EXPECT_EQ(Between(300, 300), 1200u) << "a constant neighbour";
  EXPECT_EQ(Between(0, 0), 1200u);
  EXPECT_EQ(Between({}, {}), 1200u) << "nothing is known of neighbours";
  EXPECT_EQ(Between({}, 0), 1200u) << "no neighbour was ever seen";
  EXPECT_EQ(Between(300, 1300), 200u);
  EXPECT_EQ(Between(300, 9000), 6u) << "its image, in pages";
  EXPECT_EQ(Between({}, 300), 6u) << "what the neighbour had before is not known";
  EXPECT_EQ(Between(900, 300), 1200u) << "a neighbour that gives memory back";
}

TEST(CodeBytes, AnAnswerMayBeASecondOld) {
  LogBuilder log;
  log.Device(0, kTotal);
  Sample(log, 10 * kOneSecond, 100);
  Load(log, 11 * kOneSecond, 0x77, 700, 1);
  Sample(log, 11 * kOneSecond + 1, 100);  // an old answer
  Sample(log, 12 * kOneSecond, 600);
  EXPECT_EQ(CodeOf(*LoadLog(log)), std::vector<std::uint64_t>{200});
}

struct Answer {
  TimeNs time;
  std::uint64_t others;
};
// The most that a later answer is above an earlier one, of those that count.
std::uint64_t BytesByPairs(const std::vector<Answer>& answers, TimeNs time, std::uint64_t fell) {
  TimeNs first = 0, last = ~TimeNs{0};
  bool any = false, before = false, after = false;
  for (const Answer& answer : answers) {
    any |= answer.others != 0;
    before |= answer.time < time;
    after |= answer.time >= time;
    if (answer.time + kOneSecond < time) first = answer.time;
    if (answer.time >= time + kOneSecond) last = std::min(last, answer.time);
  }
  if (!any) return fell;
  std::uint64_t rise = before && after ? 0 : fell;
  for (const Answer& a : answers)
    for (const Answer& b : answers)
      if (before && after && a.time >= first && a.time <= b.time && b.time <= last)
        rise = std::max(rise, b.others - std::min(b.others, a.others));
  return std::max(fell - std::min(fell, rise), std::min<std::uint64_t>(fell, 2));
}

TEST(CodeBytes, AsByPairsOfSamples) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    LogBuilder log;
    log.Device(0, kTotal);
    std::vector<Answer> answers;
    std::vector<std::pair<TimeNs, std::uint64_t>> loads;
    TimeNs time = kOneSecond;
    std::uint64_t others = random() % 2 * 50;
    for (int i = 0; i < 30; ++i) {
      time += random() % kOneSecond + 1;
      if (random() % 3 == 0) others = random() % 4 * 40;
      if (random() % 3 == 0) {
        loads.emplace_back(time, random() % 200);
        Load(log, time, 0x100 + i, loads.back().second, 1);
      } else {
        const bool known = random() % 8 != 0;
        Sample(log, time, known ? std::optional(others) : std::nullopt);
        if (known) answers.push_back({time, others});
      }
    }
    std::vector<std::uint64_t> expected;
    for (const auto& [when, fell] : loads) expected.push_back(BytesByPairs(answers, when, fell));
    EXPECT_EQ(CodeOf(*LoadLog(log)), expected) << round;
  }
}

}  // namespace
}  // namespace memprof::analysis
