// The recording of programs that were killed, or still run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "tests/integration/harness.h"
#include "tests/integration/life_guest.h"

namespace memprof::testing {
namespace {

class Killed : public ::testing::TestWithParam<int> {};

TEST_P(Killed, LosesNothing) {
  const int allocations = 200000;
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"loop", std::to_string(allocations)};
  RunningGuest guest(GuestPath("guest_runtime_life"), options);
  ASSERT_EQ(guest.ReadLine(), "done");
  kill(guest.pid(), SIGKILL);
  EXPECT_EQ(guest.Wait().status, 128 + SIGKILL);
  const Recovered recovered = ReadKilled(directory.File("g.mprof"));
  ASSERT_TRUE(recovered.status.ok()) << recovered.status;
  const Totals totals = Replay(recovered.log.ByTime());
  EXPECT_EQ(totals.allocations, static_cast<std::uint64_t>(allocations));
  EXPECT_EQ(totals.frees, static_cast<std::uint64_t>(allocations / 2));
  EXPECT_EQ(totals.unmatched, 0u);
  for (const Event& event : recovered.log.WithOp(log::OP_ALLOC))
    ASSERT_TRUE(recovered.log.nodes.count(event.stack));
}

INSTANTIATE_TEST_SUITE_P(Lifecycle, Killed, ::testing::Range(0, 5));

TEST(Lifecycle, KilledInTheMiddleKeepsAPrefixOfEveryThing) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"loop", "100000000"};
  RunningGuest guest(GuestPath("guest_runtime_life"), options);
  const std::string path = directory.File("g.mprof");
  // Long enough for several batches to be written, however slow the machine is.
  for (int i = 0; i < 2000; ++i) {
    std::error_code error;
    if (std::filesystem::file_size(path, error) > 200000 && !error) break;
    usleep(10000);
  }
  kill(guest.pid(), SIGKILL);
  guest.Wait();
  const Recovered recovered = ReadKilled(path);
  ASSERT_TRUE(recovered.status.ok()) << recovered.status;
  ASSERT_GT(recovered.log.events.size(), 10000u);
  // The guest allocates 1, 2, 3, ... bytes, so a missing or duplicate event is detected.
  std::uint64_t expected = 0;
  for (const Event& event : recovered.log.WithOp(log::OP_ALLOC)) ASSERT_EQ(event.bytes, ++expected);
  EXPECT_LE(Replay(recovered.log.events).unmatched, 0u);
}

TEST(Lifecycle, ARunningProcessIsNotRecoveredFrom) {
  TempDirectory directory;
  GuestOptions options{.directory = directory.path()};
  options.arguments = {"loop", "10"};
  options.environment["MEMPROF_SHM"] = "";  // the default directory
  RunningGuest guest(GuestPath("guest_runtime_life"), options);
  ASSERT_EQ(guest.ReadLine(), "done");
  EXPECT_EQ(ReadKilled(directory.File("g.mprof")).status.code(),
            absl::StatusCode::kFailedPrecondition);
  const Log log = ReadLog(directory.File("g.mprof"));
  const auto permissions = std::filesystem::status(log.header.ring_path()).permissions();
  EXPECT_EQ(permissions & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  EXPECT_THAT(log.header.ring_path(), ::testing::StartsWith("/dev/shm/memprof-"));
  kill(guest.pid(), SIGKILL);
  guest.Wait();
  std::filesystem::remove(log.header.ring_path());
}

}  // namespace
}  // namespace memprof::testing
