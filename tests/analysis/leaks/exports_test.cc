// Memory that one process exports and another opens.
#include "analysis/leaks/exports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/leaks/leaks.h"
#include "tests/analysis/load/merge_fixture.h"

namespace memprof::analysis {
namespace {

using testing::Files;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::LogBuilder;
using ::testing::Not;
using testing::SetRun;

constexpr auto kIpc = static_cast<std::uint64_t>(ImportKind::kIpc);

// A segment of two blocks at 0x7000'0000, exported as `number`, and one that is not exported.
void AddOwner(std::uint64_t number, Files* files) {
  LogBuilder log;
  SetRun(log, "node", 41, 0);
  for (const std::uint64_t base : {0x70000000u, 0x90000000u}) {
    const int stack =
        log.Stack({"main (a.py:1)", "grab (a.py:" + std::to_string(base >> 28) + ")"});
    log.Alloc(Layer::kLinear, base, 8192, {.stack = stack});
    log.Alloc(Layer::kSegment, base, 8192, {.stack = stack});
    for (const std::uint64_t at : {0, 4096})
      log.Alloc(Layer::kBlock, base + at, 4096, {.stack = stack});
  }
  log.Event(Op::kExported, Layer::kUnspecified, 0x70000000, 8192, 0, {.aux0 = number});
  log.AdvanceTime(200'000);
  log.Event(Op::kSync, Layer::kUnspecified, 0, 0, 0);
  files->Add(log);
}

void AddOpener(std::uint32_t pid, std::uint64_t number, bool closes, Files* files) {
  LogBuilder log;
  SetRun(log, "node", pid, 0);
  log.AdvanceTime(100'000);
  log.Alloc(Layer::kImported, 0x5000, 8192, {.aux0 = number, .aux1 = kIpc});
  if (pid == 42) {
    log.Event(Op::kHeld, Layer::kUnspecified, 0x5000 + 4096, 512,
              log.String("list `kept` (local `kept` of consume())"), {.aux0 = 1});
    log.Event(Op::kHolders, Layer::kUnspecified, 0, 0, 0, {.device = -1});
  }
  if (closes) log.Free(Layer::kImported, 0x5000);
  files->Add(log);
}

std::vector<Leak> BlocksOf(const Session& session) {
  std::vector<Leak> blocks;
  for (const Leak& leak : FindLeaks(session).live_at_exit)
    if (leak.layer == Layer::kBlock) blocks.push_back(leak);
  return blocks;
}

TEST(ExportsTest, WhoHasExportedMemoryOpenIsTold) {
  Files files;
  AddOwner(7, &files);
  AddOpener(42, 7, false, &files);
  AddOpener(43, 7, true, &files);
  AddOpener(44, 8, false, &files);
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  const std::vector<Leak> blocks = BlocksOf(*session);
  ASSERT_EQ(blocks.size(), 2u);
  const Leak& leak = blocks[blocks[0].exported.blocks == 0 ? 1 : 0];
  const Leak& other = blocks[blocks[0].exported.blocks == 0 ? 0 : 1];
  EXPECT_EQ(leak.exported.blocks, 2u);
  ASSERT_EQ(leak.exported.opened.size(), 2u);
  EXPECT_FALSE(leak.exported.opened[0].closed);
  EXPECT_TRUE(leak.exported.opened[1].closed);
  EXPECT_THAT(leak.why, HasSubstr("It lies in memory that was exported by IPC; process 2 (pid 42) "
                                  "opened it and never closed it; process 3 (pid 43) opened it and "
                                  "closed all of it, the last after "));
  EXPECT_THAT(leak.why, HasSubstr(", where list `kept` (local `kept` of consume()) held it."));
  ASSERT_EQ(leak.exported.holders.size(), 1u);
  EXPECT_EQ(other.exported.blocks, 0u);
  EXPECT_THAT(other.why, Not(HasSubstr("IPC")));
}

TEST(ExportsTest, AloneTheOwnersLogSaysThatItWasExported) {
  Files files;
  AddOwner(7, &files);
  const auto session = files.Together();
  ASSERT_NE(session, nullptr);
  std::uint64_t exported = 0;
  for (const Leak& leak : BlocksOf(*session)) {
    exported += leak.exported.blocks;
    EXPECT_THAT(leak.exported.opened, IsEmpty());
    if (leak.exported.blocks > 0) EXPECT_THAT(leak.why, HasSubstr("exported by IPC."));
  }
  EXPECT_EQ(exported, 2u);
}

}  // namespace
}  // namespace memprof::analysis
