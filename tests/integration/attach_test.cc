// `memprof attach` and `detach` with programs that nobody prepared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/integration/attach_program.h"

namespace memprof::testing {
namespace {

using ::testing::HasSubstr;

// The calls in the log, as the guest prints them.
std::vector<std::string> Recorded(const TempDirectory& directory, const std::string& log) {
  const GuestResult dump = Memprof(directory, {"dump", "--json", directory.File(log)});
  std::vector<std::string> calls;
  for (const std::string& line : dump.lines()) {
    const auto event = nlohmann::json::parse(line);
    const std::string op = event.at("op");
    if (op != "alloc" && op != "free") continue;
    const std::string address = event.at("address");
    calls.push_back(op + " linear " + address.substr(2) + " " +
                    (op == "free" ? "0" : std::to_string(event.at("bytes").get<std::uint64_t>())));
  }
  return calls;
}

using Attach = AttachTest;

TEST_F(Attach, RecordsWhatComesThenAndNothingElse) {
  const TempDirectory directory;
  Program program(directory, "waits");
  program.Go(50);
  const GuestResult attached = Memprof(directory, {"attach", "-o", "a.mprof", program.pid()});
  ATTACH_OR_SKIP(attached);
  EXPECT_THAT(attached.out,
              HasSubstr("Recording process " + program.pid() + " to " + directory.File("a.mprof")));
  program.Go(200);
  const GuestResult again = Memprof(directory, {"attach", program.pid()});
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("is recorded already, to " + directory.File("a.mprof")));
  const GuestResult detached = Memprof(directory, {"detach", program.pid()});
  EXPECT_EQ(detached.status, 0) << detached.err;
  program.Go(50);
  EXPECT_EQ(program.End(), 0);
  const std::vector<std::string> recorded = Recorded(directory, "a.mprof");
  EXPECT_GE(recorded.size(), 200u);
  EXPECT_NE(
      std::search(program.lines().begin(), program.lines().end(), recorded.begin(), recorded.end()),
      program.lines().end())
      << "the log's " << recorded.size() << " calls are not a part of what the program did";
  const GuestResult verified = Memprof(directory, {"verify", directory.File("a.mprof")});
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
}

TEST_F(Attach, AThreadThatNeverSleepsComputesOn) {
  const TempDirectory directory;
  Program program(directory, "busy");
  program.Go(10);
  for (int i = 0; i < 15; ++i) {
    const GuestResult attached = Memprof(directory, {"attach", "-o", "a.mprof", program.pid()});
    ATTACH_OR_SKIP(attached);
    program.Go(3);
    EXPECT_EQ(Memprof(directory, {"detach", program.pid()}).status, 0);
  }
  EXPECT_EQ(program.End(), 0);
}

TEST_F(Attach, ACallThatWaitsGoesOnWaiting) {
  const TempDirectory directory;
  Program program(directory, "sleeps");
  program.Go(1);
  usleep(200000);
  const GuestResult attached = Memprof(directory, {"attach", "-o", "a.mprof", program.pid()});
  ATTACH_OR_SKIP(attached);
  EXPECT_EQ(Memprof(directory, {"detach", program.pid()}).status, 0);
  EXPECT_EQ(program.End(), 0);
}

TEST_F(Attach, EndsByItselfAfterItsTime) {
  const TempDirectory directory;
  Program program(directory, "waits");
  program.Go(5);
  const auto begin = std::chrono::steady_clock::now();
  const GuestResult attached =
      Memprof(directory, {"attach", "-o", "a.mprof", "--for", "1.9s", program.pid()});
  ATTACH_OR_SKIP(attached);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1900));
  EXPECT_THAT(attached.out, HasSubstr("The recording of process " + program.pid() + " has ended"));
  EXPECT_GT(Recorded(directory, "a.mprof").size(), 5u);
  EXPECT_EQ(program.End(), 0);
}

TEST_F(Attach, BeginsAPausedRecordingOfAPreloadedRecorder) {
  const TempDirectory directory;
  Program program(directory, "waits", true, {{"MEMPROF_START", "paused"}});
  program.Go(20);
  const GuestResult attached = Memprof(directory, {"attach", "-o", "a.mprof", program.pid()});
  ATTACH_OR_SKIP(attached);
  program.Go(100);
  EXPECT_EQ(Memprof(directory, {"detach", program.pid()}).status, 0);
  EXPECT_EQ(program.End(), 0);
  const std::vector<std::string> recorded = Recorded(directory, "a.mprof");
  EXPECT_GE(recorded.size(), 100u);
  EXPECT_NE(
      std::search(program.lines().begin(), program.lines().end(), recorded.begin(), recorded.end()),
      program.lines().end());
}

TEST_F(Attach, SaysWhyNot) {
  const TempDirectory directory;
  const auto says = [&](std::vector<std::string> arguments, const std::string& why) {
    const GuestResult result = Memprof(directory, std::move(arguments));
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  };
  Program program(directory, "waits");
  program.Go(1);
  says({"attach", "4194999"}, "there is no process 4194999");
  for (const char* time : {"0", "-1", "s", "1d", "9999h", "99999999999999999999"})
    EXPECT_EQ(Memprof(directory, {"attach", "--for", time, program.pid()}).status, 2) << time;
  says({"detach", "4194999"}, "there is no process 4194999");
  says({"detach", program.pid()}, "memprof is not attached to process " + program.pid());
  says({"attach", "-o", "no/such/folder/a.mprof", program.pid()}, "no/such/folder");
  kill(std::stoi(program.pid()), SIGSTOP);
  usleep(100000);
  says({"attach", program.pid()}, "is stopped: let it go on first");
  kill(std::stoi(program.pid()), SIGCONT);
  EXPECT_EQ(program.End(), 0);
}

}  // namespace
}  // namespace memprof::testing
