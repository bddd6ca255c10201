// The rows of the timeline's picture of all devices: their list, stacks and layout.
#include "viewer/models/device_rows.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>
#include <map>
#include <random>

#include "analysis/load/load.h"
#include "tests/support/random_log.h"

namespace memprof::viewer {
namespace {

using analysis::TimelineStack;
using analysis::testing::RandomLog;

// Two processes on two devices.
std::shared_ptr<const analysis::Session> TwoProcesses(const QTemporaryDir& directory) {
  std::vector<std::string> paths;
  for (const std::uint32_t rank : {0u, 1u}) {
    RandomLog log({.seed = 7 + rank, .operations = 500});
    log.builder().header().set_pid(100 + rank);
    log.builder().header().add_environment("RANK=" + std::to_string(rank));
    paths.push_back(directory.filePath(QString::number(rank)).toStdString());
    EXPECT_TRUE(log.builder().WriteTo(paths.back()).ok());
  }
  auto session = analysis::LoadLogs(paths, {.find_steps = false});
  EXPECT_TRUE(session.ok());
  return session.ok() ? *session : nullptr;
}

TEST(DeviceRows, AreThoseThatHoldMemoryAndAddUpToTheDevice) {
  const QTemporaryDir directory;
  const auto session = TwoProcesses(directory);
  ASSERT_NE(session, nullptr);
  const std::vector<DeviceRow> rows = ListDeviceRows(*session);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].name, QStringLiteral("rank 0 · GPU 0"));
  EXPECT_EQ(rows[3].name, QStringLiteral("rank 1 · GPU 1"));
  for (const auto& kinds : analysis::BuildKindStacks(session)) {
    if (kinds->device() == analysis::kNoDevice) continue;
    std::map<std::uint32_t, std::shared_ptr<const TimelineBands>> of;
    for (const DeviceRow& row : rows) {
      if (row.device != kinds->device()) continue;
      of[row.process] = MakeRowBands(
          *kinds, row, {analysis::TimelineGrouping::kKind, nullptr, nullptr, nullptr}, nullptr);
      EXPECT_EQ(of[row.process]->top.max(), row.peak) << row.name.toStdString();
    }
    ASSERT_EQ(of.size(), 2u);
    const analysis::EventTable& events = session->events();
    for (std::uint32_t e = 0; e < events.size(); e += 13) {
      std::map<std::uint32_t, std::uint64_t> by_process;  // by hand
      for (const analysis::AllocationRecord& a : session->records()) {
        const bool live = events.time(a.birth.value) <= events.time(e) &&
                          (!a.death.valid() || events.time(a.death.value) > events.time(e));
        if (live && a.device == kinds->device() && analysis::OccupiesDevice(a.layer))
          by_process[session->ProcessOf(a.birth)] += a.bytes;
      }
      for (const auto& [process, bands] : of)
        ASSERT_EQ(bands->allocated.At(events.time(e)), by_process[process]) << "event " << e;
    }
  }
}

TEST(DeviceRows, OfOneProcessHaveNoNameOfIt) {
  RandomLog log({.seed = 3, .operations = 100});
  const auto session = analysis::testing::LoadLog(log.builder());
  ASSERT_NE(session, nullptr);
  const std::vector<DeviceRow> rows = ListDeviceRows(*session);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].name, QStringLiteral("GPU 1"));
}

TEST(RowLayout, FindsTheRowsThatAreShown) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    const std::size_t rows = random() % 400;
    const RowLayout layout =
        LayOutRows(rows, 1 + random() % 900, static_cast<double>(random() % 40'000), 56, 240);
    EXPECT_GE(layout.height, rows > 0 ? 56 : 1);
    EXPECT_LE(layout.height, 240);
    EXPECT_GE(layout.offset, 0);
    EXPECT_LE(layout.offset, layout.range());
    for (std::size_t row = 0; row < rows; ++row) {
      const bool seen = layout.Top(row) < layout.shown && layout.Top(row) + layout.height > 0;
      ASSERT_EQ(seen, row >= layout.first() && row < layout.last()) << row << " of " << rows;
    }
    for (double y = -3; y < layout.shown + 3; y += 7) {
      const int at = layout.At(y);
      if (at < 0) {
        EXPECT_TRUE(y < 0 || y >= layout.shown ||
                    y >= layout.Top(rows > 0 ? rows - 1 : 0) + (rows > 0 ? layout.height : 0));
        continue;
      }
      ASSERT_LE(layout.Top(static_cast<std::size_t>(at)), y);
      ASSERT_GT(layout.Top(static_cast<std::size_t>(at)) + layout.height, y);
    }
  }
  // Hundreds of ranks: a dozen is shown.
  const RowLayout many = LayOutRows(512, 700, 56 * 100, 56, 240);
  EXPECT_EQ(many.first(), 100u);
  EXPECT_EQ(many.last(), 113u);
}

}  // namespace
}  // namespace memprof::viewer
