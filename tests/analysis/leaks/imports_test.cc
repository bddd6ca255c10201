// Memory imported from other processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/leaks/leaks.h"
#include "tests/analysis/leaks/leak_patterns.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using ::testing::HasSubstr;
using testing::LoadLog;
using testing::LogBuilder;

// One handle is imported in every step and never closed: this grows like a leak, but the memory is
// not this process's.
TEST(LeaksTest, ImportedMemoryIsNeverALeakAndReportedOpen) {
  LogBuilder log;
  const int open = log.Stack({"main (a.cc:1)", "Open (a.cc:2)"});
  const int view = log.Stack({"main (a.cc:1)", "View (a.cc:3)"});
  for (std::uint64_t step = 0; step < 40; ++step) {
    log.Step(step);
    const std::uint64_t address = 0x100000 + step * 4096;
    log.Alloc(Layer::kImported, address, 4096, {.stack = open, .aux1 = 1});
    if (step % 4 != 0) log.Free(Layer::kImported, address);
  }
  log.Alloc(Layer::kImported, 0x900000, 64, {.stack = view, .aux1 = 5});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  EXPECT_TRUE(report.leaks.empty());
  EXPECT_FALSE(report.horizon_too_short);
  ASSERT_EQ(report.live_at_exit.size(), 2u);
  const Leak& leak = report.live_at_exit[0];
  EXPECT_TRUE(leak.imported());
  EXPECT_EQ(leak.layer, Layer::kImported);
  EXPECT_EQ(leak.blocks, 10u);
  EXPECT_EQ(leak.bytes, 10u * 4096);
  EXPECT_EQ(leak.bytes_per_step, 0);
  EXPECT_THAT(leak.why, HasSubstr("Imported (IPC memory) and 10 of them never closed."));
  EXPECT_THAT(leak.why, HasSubstr("belongs to the process that allocated it"));
  EXPECT_THAT(
      report.live_at_exit[1].why,
      HasSubstr("(a view of external memory) and never closed. The memory that it maps was"));
}

// Imported memory is reported once, however many buffers and arrays are views of it.
TEST(LeaksTest, WhatHasNoBytesIsNotAliveAtExitUnlessImported) {
  LogBuilder log;
  const int sparse = log.Stack({"main (a.cc:1)", "Sparse (a.cc:2)"});
  const int import = log.Stack({"main (a.cc:1)", "Import (a.cc:3)"});
  log.Alloc(Layer::kArray, 0x1000, 0, {.stack = sparse});
  log.Alloc(Layer::kImported, 0x2000, 0, {.stack = import, .aux1 = 2});
  const auto session = LoadLog(log);
  ASSERT_NE(session, nullptr);
  const LeakReport report = FindLeaks(*session);
  ASSERT_EQ(report.live_at_exit.size(), 1u);
  EXPECT_TRUE(report.live_at_exit[0].imported());
}

TEST(LeaksTest, AnImportIsListedOnceAndNotByItsViews) {
  LogBuilder log;
  const auto alive = [](const LogBuilder& of) {
    const auto session = LoadLog(of);
    std::vector<std::uint64_t> bytes;
    for (const Leak& leak : FindLeaks(*session).live_at_exit) bytes.push_back(leak.bytes);
    return bytes;
  };
  const int object = log.Stack({"Open (a.cc:1)"}), buffer = log.Stack({"Map (a.cc:2)"});
  const int array = log.Stack({"Array (a.cc:3)"}), own = log.Stack({"Own (a.cc:4)"});
  log.Alloc(Layer::kImported, 0x55, 5000, {.stack = object, .aux1 = 4});
  log.Alloc(Layer::kImported, 0x900000, 3000, {.stack = buffer, .aux0 = 0x55, .aux1 = 5});
  log.Alloc(Layer::kImported, 0x77, 1000, {.stack = array, .aux0 = 0x55, .aux1 = 8});
  EXPECT_EQ(alive(log), (std::vector<std::uint64_t>{5000}));
  log.Free(Layer::kImported, 0x55);
  EXPECT_EQ(alive(log), (std::vector<std::uint64_t>{3000, 1000})) << "left allocated by the object";
  log.Free(Layer::kImported, 0x900000);
  log.Free(Layer::kArray, 0x77);
  EXPECT_TRUE(alive(log).empty());
  log.Alloc(Layer::kLinear, 0x500000, 640, {.stack = own});
  log.Alloc(Layer::kImported, 0x600000, 640, {.stack = buffer, .aux0 = 0x500000, .aux1 = 10});
  EXPECT_EQ(alive(log), (std::vector<std::uint64_t>{640})) << "own memory, opened again";
  log.Free(Layer::kLinear, 0x500000);
  EXPECT_EQ(alive(log), (std::vector<std::uint64_t>{640})) << "the part that is still open";
}

}  // namespace
}  // namespace memprof::analysis
