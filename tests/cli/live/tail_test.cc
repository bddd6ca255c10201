// What is read of a log's end, against a reading of the whole.
#include "cli/live/internal/tail.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "analysis/load/load.h"
#include "analysis/log/reader.h"
#include "analysis/testing/log_builder.h"
#include "cli/live/internal/figures.h"
#include "tests/support/temp_file.h"

namespace memprof::cli {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;

// Of an allocator, and of the driver; on two devices, with steps.
std::string RandomLog(std::mt19937_64& random, bool framework) {
  LogBuilder log;
  log.Device(0, std::uint64_t{1} << 40, "a");
  log.Device(1, std::uint64_t{1} << 40, "b");
  struct Piece {
    std::uint64_t address;
    int device;
    bool block;
  };
  std::vector<Piece> live;
  for (int device = 0; device < 2; ++device) {
    const std::uint64_t segment = 0x100000000 * (device + 1);
    log.Alloc(Layer::kLinear, segment, 1 << 24, {.device = device});
    if (framework) log.Alloc(Layer::kSegment, segment, 1 << 24, {.device = device});
    if (framework) log.Alloc(Layer::kBlock, segment, 512, {.device = device});
  }
  std::uint64_t next = 1;
  for (int i = 0; i < 600; ++i) {
    if (i % 37 == 0) log.Step(i / 37);
    log.AdvanceTime(random() % 20'000'000);
    if (framework && i % 41 == 0) {  // its end is not that of the segment in which it is
      log.Alloc(Layer::kTensor, 0x100000000, 512, {.device = 0});
      log.Free(Layer::kTensor, 0x100000000, {.device = 0});
    }
    if (!live.empty() && random() % 2 == 0) {
      std::swap(live[random() % live.size()], live.back());
      log.Free(live.back().block ? Layer::kBlock : Layer::kLinear, live.back().address,
               {.device = live.back().device});
      live.pop_back();
      continue;
    }
    const int device = static_cast<int>(random() % 2);
    const bool block = framework && random() % 2 == 0;
    const std::uint64_t at =
        block ? 0x100000000 * (device + 1) + 4096 * next : 0x900000000000 + 0x100000 * next;
    ++next;
    log.Alloc(block ? Layer::kBlock : Layer::kLinear, at, 512 * (1 + random() % 7),
              {.device = device});
    live.push_back({at, device, block});
  }
  return log.Bytes({.events_per_chunk = 20});
}

void Write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), std::ssize(bytes));
}

LiveProcess Whole(const std::string& path) {
  const auto session = analysis::LoadLogs({path});
  EXPECT_TRUE(session.ok()) << session.status();
  return FiguresOf(*session);
}

TEST(LogTail, KnowsWhatAReadingOfTheWholeKnows) {
  const analysis::testing::TempDirectory directory;
  const std::string path = directory.File("growing.mprof");
  std::mt19937_64 random(7);
  for (int round = 0; round < 20; ++round) {
    const std::string bytes = RandomLog(random, round % 2 == 0);
    Write(path, bytes);
    std::vector<std::uint64_t> ends;
    const auto log = analysis::LogReader::Open(path, analysis::LogReader::Mode::kScan);
    ASSERT_TRUE(log.ok());
    for (const analysis::Chunk& chunk : (*log)->chunks())
      if (chunk.kind() == log::ChunkKind::kEvents) ends.push_back(chunk.end());
    const std::size_t first = ends.size() / 2 + random() % 3;
    Write(path, bytes.substr(0, ends[first]));
    const auto session = analysis::LoadLogs({path});
    ASSERT_TRUE(session.ok());
    LiveProcess figures = FiguresOf(*session);
    // The session may know a little more.
    LogTail tail(**session, ends[first - random() % 3]);
    for (std::size_t i = first; i < ends.size(); i += 1 + random() % 4) {
      // Also in the middle of a chunk that is being written.
      Write(path, bytes.substr(0, ends[i] + random() % 30));
      ASSERT_TRUE(tail.Read(path, &figures));
      const LiveProcess whole = Whole(path);
      EXPECT_EQ(figures.step, whole.step);
      EXPECT_EQ(figures.steps, whole.steps);
      EXPECT_EQ(figures.steps_per_second, whole.steps_per_second);
      EXPECT_EQ(figures.last_event, whole.last_event);
      ASSERT_EQ(figures.devices.size(), whole.devices.size());
      for (std::size_t d = 0; d < whole.devices.size(); ++d) {
        EXPECT_EQ(figures.devices[d].allocated, whole.devices[d].allocated);
        EXPECT_EQ(figures.devices[d].reserved, whole.devices[d].reserved);
        EXPECT_EQ(figures.devices[d].used, whole.devices[d].used);
        EXPECT_EQ(figures.devices[d].peak, whole.devices[d].peak);
        EXPECT_EQ(figures.devices[d].curve_end, whole.devices[d].curve_end);
        EXPECT_EQ(figures.devices[d].curve, whole.devices[d].curve);
      }
    }
    Write(path, bytes);
    EXPECT_FALSE(tail.Read(path, &figures)) << "the log has ended";
  }
}

TEST(LogTail, NoticesAnotherLog) {
  const analysis::testing::TempDirectory directory;
  std::mt19937_64 random(7);
  const std::string path = directory.Write("growing.mprof", RandomLog(random, true));
  const auto session = analysis::LoadLogs({path});
  ASSERT_TRUE(session.ok());
  LiveProcess figures = FiguresOf(*session);
  LogTail tail(**session, std::filesystem::file_size(path));
  Write(path, "x");
  EXPECT_FALSE(tail.Read(path, &figures));
  std::filesystem::remove(path);
  EXPECT_FALSE(tail.Read(path, &figures));
}

}  // namespace
}  // namespace memprof::cli
