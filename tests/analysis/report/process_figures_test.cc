// Figures of processes against sums made event by event, and their balance on hand-made values.
#include "analysis/report/process_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "analysis/load/load.h"
#include "analysis/report/report.h"
#include "analysis/store/allocation_set.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using ::testing::ElementsAre;
using testing::EventFields;
using ::testing::IsEmpty;
using testing::LogBuilder;
using testing::RandomLog;
using testing::TempDirectory;

std::shared_ptr<const Session> Together(const std::vector<const LogBuilder*>& logs) {
  const TempDirectory directory;
  std::vector<std::string> paths;
  for (const LogBuilder* log : logs)
    paths.push_back(directory.Write(std::to_string(paths.size()) + ".mprof", log->Bytes()));
  auto session = LoadLogs(paths, {.find_steps = false});
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *session : nullptr;
}

struct Sums {
  std::uint64_t driver = 0, in_use = 0, reserved = 0, host = 0;
};

// Sums live memory after an event, allocation by allocation.
Sums SumsAfter(const Session& session, std::uint32_t event, std::uint32_t process,
               const AllocationSet* passing) {
  Sums sums;
  for (std::uint32_t i = 0; i < session.allocations().size(); ++i) {
    const Allocation a = session.allocation(AllocationId(i));
    if (a.birth.value > event || (a.death.valid() && a.death.value <= event)) continue;
    if (session.ProcessOf(a.birth) != process) continue;
    if (passing != nullptr && !passing->Has(AllocationId(i))) continue;
    if (OccupiesDevice(a.layer)) sums.driver += a.bytes;
    if (OccupiesHost(a.layer)) sums.host += a.bytes;
    if (a.layer == Layer::kBlock) sums.in_use += a.bytes;
    if (a.layer == Layer::kSegment) sums.reserved += a.bytes;
  }
  return sums;
}

void ExpectAgrees(const Session& session, const ProcessQuery& query) {
  const std::vector<ProcessFigures> figures = FindProcessFigures(session, query);
  ASSERT_EQ(figures.size(), session.processes().size());
  // The same columns from the stored courses, without reading events again.
  const auto columns = ProcessCourses(session, query.passing).Columns(query.window, query.columns);
  ASSERT_EQ(columns.size(), figures.size());
  for (std::size_t i = 0; i < figures.size(); ++i) EXPECT_EQ(columns[i], figures[i].columns);
  const EventTable& events = session.events();
  for (std::uint32_t process = 0; process < figures.size(); ++process) {
    const ProcessFigures& found = figures[process];
    ProcessFigures expected;
    std::vector<std::pair<TimeNs, Sums>> changes;
    for (std::uint32_t event = 0; event < events.size(); ++event) {
      const Sums now = SumsAfter(session, event, process, query.passing);
      expected.driver_peak_bytes = std::max(expected.driver_peak_bytes, now.driver);
      expected.in_use_peak_bytes = std::max(expected.in_use_peak_bytes, now.in_use);
      expected.reserved_peak_bytes = std::max(expected.reserved_peak_bytes, now.reserved);
      expected.host_peak_bytes = std::max(expected.host_peak_bytes, now.host);
      expected.driver_end_bytes = now.driver;
      expected.in_use_end_bytes = now.in_use;
      expected.events += session.ProcessOf(EventId(event)) == process;
      changes.emplace_back(events.time(event), now);
    }
    EXPECT_EQ(found.process, process);
    EXPECT_EQ(found.driver_peak_bytes, expected.driver_peak_bytes);
    EXPECT_EQ(found.in_use_peak_bytes, expected.in_use_peak_bytes);
    EXPECT_EQ(found.reserved_peak_bytes, expected.reserved_peak_bytes);
    EXPECT_EQ(found.host_peak_bytes, expected.host_peak_bytes);
    EXPECT_EQ(found.driver_end_bytes, expected.driver_end_bytes);
    EXPECT_EQ(found.in_use_end_bytes, expected.in_use_end_bytes);
    EXPECT_EQ(found.events, expected.events);
    // Each column covers the state before it and the changes in it.
    const TimeNs length = query.window.end - query.window.begin;
    ASSERT_EQ(found.columns.size(), static_cast<std::size_t>(query.columns));
    for (int i = 0; i < query.columns; ++i) {
      const auto part = [&](TimeNs time) {
        return static_cast<int>((time - query.window.begin) * query.columns / length);
      };
      Sums held;
      for (const auto& [time, sums] : changes)
        if (time < query.window.begin || (time < query.window.end && part(time) < i)) held = sums;
      ProcessColumn column{held.driver, held.driver, held.in_use, held.in_use};
      for (const auto& [time, sums] : changes) {
        if (time < query.window.begin || time >= query.window.end || part(time) != i) continue;
        column.driver_least = std::min(column.driver_least, sums.driver);
        column.driver_most = std::max(column.driver_most, sums.driver);
        column.in_use_least = std::min(column.in_use_least, sums.in_use);
        column.in_use_most = std::max(column.in_use_most, sums.in_use);
      }
      EXPECT_EQ(found.columns[static_cast<std::size_t>(i)], column) << "part " << i;
    }
  }
}

TEST(ProcessFigures, AgreeWithSumsOfEveryEvent) {
  std::mt19937_64 random(3);
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    RandomLog a({.seed = seed, .operations = 120}), b({.seed = seed + 50, .operations = 80});
    b.builder().header().set_pid(4712);  // a different process than the first
    const auto session = Together({&a.builder(), &b.builder()});
    ASSERT_NE(session, nullptr);
    const TimeNs first = session->events().first_time(), last = session->events().last_time();
    ExpectAgrees(*session, {{first, last + 1}, 13});
    ExpectAgrees(*session, {{first, last}, 13});
    ExpectAgrees(*session, {{first, session->events().time(session->events().size() / 2)}, 4});
    const TimeNs begin = first + random() % (last - first);
    ExpectAgrees(*session, {{begin, begin + 1 + random() % (last - begin)}, 7});
    std::vector<bool> half(session->allocations().size());
    for (std::size_t i = 0; i < half.size(); ++i) half[i] = random() % 2 == 0;
    const AllocationSet passing(half);
    ExpectAgrees(*session, {{first, last + 1}, 5, {}, &passing});
  }
}

TEST(ProcessFigures, OfOneProcessAreTheReports) {
  RandomLog log({.seed = 9, .devices = 1, .operations = 300});
  const auto session = testing::LoadLog(log.builder());
  const Report report = BuildReport(*session);
  ASSERT_EQ(report.devices.size(), 1u);
  const auto figures = FindProcessFigures(*session, {{0, 1}, 0});
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].driver_peak_bytes, report.devices[0].peak_bytes);
  EXPECT_EQ(figures[0].driver_end_bytes, report.devices[0].live_bytes);
  EXPECT_EQ(figures[0].in_use_peak_bytes, report.devices[0].framework.peak_bytes);
  EXPECT_EQ(figures[0].reserved_peak_bytes, report.devices[0].framework.peak_reserved_bytes);
  EXPECT_EQ(figures[0].events, report.events.total);
  EXPECT_EQ(figures[0].allocations, session->allocations().size());
  EXPECT_THAT(figures[0].devices, ElementsAre(0));
  EXPECT_THAT(figures[0].columns, IsEmpty());
}

TEST(ProcessFigures, SharedMemoryCountsWhereItWasMade) {
  LogBuilder maker, user;
  maker.header().set_pid(1);
  user.header().set_pid(2);
  maker.Device(0, 1 << 30);
  user.Device(0, 1 << 30);
  maker.Alloc(Layer::kLinear, 0x1000, 4096);
  EventFields opened;
  opened.aux0 = static_cast<std::uint64_t>(ImportKind::kIpc);
  user.Alloc(Layer::kImported, 0x5000, 4096, opened);
  user.Alloc(Layer::kPinned, 0x9000, 100, {.device = -1});
  const auto session = Together({&maker, &user});
  ASSERT_NE(session, nullptr);
  const auto figures = FindProcessFigures(*session, {{0, 1}, 0});
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].driver_peak_bytes, 4096u);
  EXPECT_EQ(figures[0].imported_peak_bytes, 0u);
  EXPECT_EQ(figures[1].driver_peak_bytes, 0u);
  EXPECT_EQ(figures[1].imported_peak_bytes, 4096u);
  EXPECT_EQ(figures[1].host_peak_bytes, 100u);
  EXPECT_THAT(figures[1].devices, IsEmpty());
}

TEST(ProcessFigures, LeaksAreOfTheProcessThatHoldsThem) {
  LogBuilder logs[2];
  for (int rank = 0; rank < 2; ++rank) {
    LogBuilder& log = logs[rank];
    log.header().set_pid(static_cast<std::uint32_t>(rank + 1));
    log.Device(0, 1 << 30);
    const int site = log.Stack({"main (a.cc:1)", "Keep (a.cc:7)"});
    const int other = log.Stack({"main (a.cc:1)", "Weights (a.cc:3)"});
    log.Alloc(Layer::kLinear, 0x100000, 1 << 20, {.stack = other});
    for (std::uint64_t step = 0; step < 30; ++step) {
      log.Step(step);
      // The second process leaks nothing.
      log.Alloc(Layer::kLinear, 0x800000 + step * 0x1000, 512, {.stack = site});
      if (rank == 1) log.Free(0x800000 + step * 0x1000);
    }
  }
  const auto session = Together({&logs[0], &logs[1]});
  ASSERT_NE(session, nullptr);
  const LeakReport leaks = FindLeaks(*session);
  ASSERT_FALSE(leaks.leaks.empty());
  const auto figures = FindProcessFigures(*session, {{0, 1}, 0, leaks.leaks});
  EXPECT_EQ(figures[0].leaked_bytes, 30u * 512);
  EXPECT_EQ(figures[1].leaked_bytes, 0u);
  std::uint64_t all = 0;
  for (const Leak& leak : leaks.leaks) all += leak.bytes;
  EXPECT_EQ(figures[0].leaked_bytes + figures[1].leaked_bytes, all);
}

// As the leaks themselves: Python frees all at its exit.
TEST(ProcessFigures, WhatOnlyTheEndOfTheProgramFreesIsLeaked) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  const int site = log.Stack({"main (a.cc:1)", "Keep (a.cc:7)"});
  for (std::uint64_t step = 0; step < 31; ++step) {
    log.Step(step);
    if (step < 30) log.Alloc(Layer::kLinear, 0x800000 + step * 0x1000, 512, {.stack = site});
  }
  for (std::uint64_t step = 0; step < 30; ++step) log.Free(0x800000 + step * 0x1000);
  const auto session = testing::LoadLog(log);
  const LeakReport leaks = FindLeaks(*session);
  ASSERT_EQ(leaks.leaks.size(), 1u) << leaks.verdict;
  const auto figures = FindProcessFigures(*session, {{0, 1}, 0, leaks.leaks});
  EXPECT_EQ(figures[0].leaked_bytes, leaks.leaks[0].bytes);
  EXPECT_EQ(figures[0].leaked_bytes, 30u * 512);
}

TEST(ProcessFigures, StopsWhenAsked) {
  RandomLog log({.operations = 50});
  std::stop_source stop;
  stop.request_stop();
  const auto figures =
      FindProcessFigures(*testing::LoadLog(log.builder()), {{0, 1}, 3}, stop.get_token());
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].events, 0u);
}

TEST(Spread, OfEvenFigures) {
  const std::vector<std::uint64_t> even(4, 100);
  const Spread spread = SpreadOf(even);
  EXPECT_EQ(spread.mean, 100);
  EXPECT_EQ(spread.imbalance, 0);
  EXPECT_THAT(spread.outliers, IsEmpty());
  EXPECT_THAT(SpreadOf({}).outliers, IsEmpty());
  const std::vector<std::uint64_t> nothing(3, 0);
  EXPECT_EQ(SpreadOf(nothing).imbalance, 0) << "no division by zero";
}

TEST(Spread, ByHand) {
  const std::vector<std::uint64_t> figures = {100, 104, 96, 102, 200};
  const Spread spread = SpreadOf(figures);
  EXPECT_DOUBLE_EQ(spread.mean, 120.4);
  EXPECT_DOUBLE_EQ(spread.median, 102);
  EXPECT_DOUBLE_EQ(spread.deviation, 1.4826 * 2) << "distances 2, 2, 6, 0, 98";
  EXPECT_EQ(spread.least, 96u);
  EXPECT_EQ(spread.most, 200u);
  EXPECT_NEAR(spread.imbalance, 79.6 / 120.4, 1e-12);
  EXPECT_THAT(spread.outliers, ElementsAre(4));
}

TEST(Spread, OutliersAreFarAndNotOnlyFromTheOthersNoise) {
  // Four values are nearly equal, so the deviation is 0 and the limit of 5 % decides.
  EXPECT_THAT(SpreadOf(std::vector<std::uint64_t>{1000, 1000, 1000, 1049}).outliers, IsEmpty());
  EXPECT_THAT(SpreadOf(std::vector<std::uint64_t>{1000, 1000, 1000, 1051}).outliers,
              ElementsAre(3));
  EXPECT_THAT(SpreadOf(std::vector<std::uint64_t>{1000, 1000, 1000, 940}).outliers, ElementsAre(3));
  EXPECT_THAT(SpreadOf(std::vector<std::uint64_t>{50, 100, 150, 200, 250}).outliers, IsEmpty())
      << "if all differ, there is no outlier";
  EXPECT_THAT(SpreadOf(std::vector<std::uint64_t>{1, 1000}).outliers, IsEmpty()) << "of two";
}

}  // namespace
}  // namespace memprof::analysis
