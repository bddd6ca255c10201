// The order of events: by time, each thread in its own order, frees first within an instant.
#include "analysis/load/internal/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "analysis/load/internal/lifetimes.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::CountOf;
using ::testing::ElementsAre;
using testing::LoadLog;
using testing::LogBuilder;

struct Row {
  TimeNs time;
  std::uint32_t thread;
  Op op;
};

RawEvents Raw(const std::vector<Row>& rows) {
  RawEvents raw;
  for (const Row& row : rows) {
    EventKind kind;
    kind.thread = row.thread;
    kind.op = row.op;
    raw.rows.push_back({.time = row.time, .kind = static_cast<std::uint32_t>(raw.kinds.size())});
    raw.kinds.push_back(kind);
    raw.rows_of_kind.push_back(1);
  }
  return raw;
}

TEST(OrderByTimeTest, FreesComeFirstAcrossThreadsOnly) {
  RawEvents raw = Raw({{5, 0, Op::kAlloc},  // thread 0: alloc, then free
                       {5, 0, Op::kFree},
                       {5, 1, Op::kFree},  // thread 1: a free at the same time
                       {5, 1, Op::kAlloc},
                       {4, 2, Op::kAlloc}});
  std::uint64_t steps = 9;
  EXPECT_THAT(OrderByTime(&raw, true, &steps), ElementsAre(4, 2, 0, 1, 3));
  EXPECT_EQ(steps, 0u);
}

TEST(OrderByTimeTest, ClocksThatRunBackwardsAreHeld) {
  RawEvents raw =
      Raw({{10, 0, Op::kAlloc}, {7, 0, Op::kFree}, {8, 1, Op::kAlloc}, {12, 0, Op::kAlloc}});
  std::uint64_t steps = 0;
  EXPECT_THAT(OrderByTime(&raw, true, &steps), ElementsAre(2, 0, 1, 3));
  EXPECT_EQ(steps, 1u);
  EXPECT_EQ(raw.rows[1].time, 10u);
}

TEST(OrderByTimeTest, EventsThatWereDecidedLateKeepTheirTime) {
  RawEvents raw = Raw({{10, 0, Op::kAlloc}, {7, 0, Op::kAlloc}, {12, 0, Op::kFree}});
  std::uint64_t steps = 9;
  EXPECT_THAT(OrderByTime(&raw, false, &steps), ElementsAre(1, 0, 2));
  EXPECT_EQ(steps, 0u);
  EXPECT_EQ(raw.rows[1].time, 7u);
}

// Repeatedly picks the row that must come next among the first remaining rows of the threads.
std::vector<std::uint32_t> ReferenceOrder(const std::vector<Row>& rows) {
  std::vector<std::vector<std::size_t>> threads(4);
  for (std::size_t i = 0; i < rows.size(); ++i) threads[rows[i].thread].push_back(i);
  std::vector<std::uint32_t> order;
  while (order.size() < rows.size()) {
    std::vector<std::size_t>* best = nullptr;
    const auto key = [&](const std::vector<std::size_t>& thread) {
      const Row& row = rows[thread.front()];
      return std::tuple(row.time, row.op != Op::kFree, thread.front());
    };
    for (auto& thread : threads)
      if (!thread.empty() && (best == nullptr || key(thread) < key(*best))) best = &thread;
    order.push_back(static_cast<std::uint32_t>(best->front()));
    best->erase(best->begin());
  }
  return order;
}

TEST(OrderByTimeTest, EqualsItsBruteForceTwin) {
  std::mt19937 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<Row> rows;
    TimeNs now[4] = {};
    for (int i = 0; i < 120; ++i) {
      const std::uint32_t thread = random() % 4;
      now[thread] += random() % (round % 7 + 1);
      rows.push_back({now[thread], thread, random() % 2 ? Op::kFree : Op::kAlloc});
    }
    RawEvents raw = Raw(rows);
    std::uint64_t steps = 0;
    ASSERT_EQ(OrderByTime(&raw, true, &steps), ReferenceOrder(rows)) << round;
    EXPECT_EQ(steps, 0u);
  }
}

// Two threads whose events are one after the other in the file but alternate in time. There are far
// more events than the replay reads before it releases what it has read.
TEST(LifetimesOfManyTest, WhatIsForgottenHasBeenRead) {
  constexpr std::uint32_t kEach = 400'000;
  RawEvents raw;
  for (const std::uint32_t thread : {0u, 1u})
    for (const Op op : {Op::kAlloc, Op::kFree}) {
      EventKind kind;
      kind.op = op;
      kind.layer = Layer::kLinear;
      kind.device = 0;
      kind.thread = thread;
      raw.kinds.push_back(kind);
      raw.rows_of_kind.push_back(kEach / 2);
    }
  for (const std::uint32_t thread : {0u, 1u})
    for (std::uint32_t i = 0; i < kEach; ++i)
      raw.rows.push_back({.time = 2 * i + thread,
                          .address = 0x1000 * (i / 2 * 2 + thread + 1),
                          .bytes = i % 2 == 0 ? i + 1u : 0,
                          .kind = 2 * thread + i % 2});
  std::uint64_t steps = 0;
  const std::vector<std::uint32_t> order = OrderByTime(&raw, true, &steps);
  EventTable events;
  AnomalyCounts anomalies{};
  FindLifetimes(std::move(raw), order, {}, &events, &anomalies);
  ASSERT_EQ(events.size(), 2 * kEach);
  EXPECT_EQ(events.records().size(), kEach);
  for (std::uint32_t e = 0; e < 2 * kEach && !HasFailure(); ++e) {
    const std::uint32_t thread = e % 2, i = e / 2;
    EXPECT_EQ(events.time(e), e);
    EXPECT_EQ(events.thread(e), thread) << e;
    EXPECT_EQ(events.address(e), 0x1000u * (i / 2 * 2 + thread + 1)) << e;
    EXPECT_EQ(events.bytes(e), i / 2 * 2 + 1) << e;  // a free has the bytes of its allocation
  }
  for (const std::uint64_t count : anomalies) EXPECT_EQ(count, 0u);
}

TEST(OrderByTimeTest, ManyThreadsInOneLog) {
  LogBuilder log;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    log.SetTime(1'000'000 + (i * 7919) % 1000);  // in random order: times step back within threads
    log.Alloc(Layer::kLinear, 0x1000u * (i + 1), i, {.thread = 1 + i % 5});
  }
  const auto session = LoadLog(log, {.events_per_chunk = 33});
  ASSERT_NE(session, nullptr);
  for (std::size_t i = 1; i < session->events().size(); ++i)
    EXPECT_LE(session->events().time(i - 1), session->events().time(i));
  EXPECT_GT(CountOf(*session, log::Anomaly::kClockSteps), 0u);
  std::uint64_t last[6] = {};
  for (std::size_t i = 0; i < session->events().size(); ++i) {
    const std::uint32_t tid_row = session->events().thread(i);
    EXPECT_LE(last[tid_row], session->events().address(i));  // each thread keeps its own order
    last[tid_row] = session->events().address(i);
  }
}

}  // namespace
}  // namespace memprof::analysis
