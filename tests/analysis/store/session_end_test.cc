// Whether a session ended with a failed request: each process by itself.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LogBuilder;

// "A1X1S2": process 1 allocates and fails, process 2 takes a step (T: a stretch that was thinned).
bool Ends(const std::string& events) {
  std::map<char, LogBuilder> logs;
  std::uint64_t time = 0;
  for (std::size_t i = 0; i + 1 < events.size(); i += 2) {
    LogBuilder& log = logs[events[i + 1]];
    log.SetTime(time += 1000);
    switch (events[i]) {
      case 'A':
        log.Alloc(Layer::kLinear, 0x1000 * (i + 1), 512);
        break;
      case 'X':
        log.AllocFailed(Layer::kLinear, 512);
        break;
      case 'S':
        log.Step(i);
        break;
      default:
        log.Event(Op::kThinned, Layer::kLinear, 0, 1, 0);
    }
  }
  const testing::TempDirectory directory;
  std::vector<std::string> paths;
  for (auto& [name, log] : logs) {
    log.header().set_pid(static_cast<std::uint32_t>(name));
    paths.push_back(directory.Write(std::string(1, name) + ".mprof", log.Bytes()));
  }
  const auto session = LoadLogs(paths);
  return session.ok() && (*session)->EndsWithFailure();
}

TEST(SessionEndTest, AFailureIsTheEndIfTheProcessDidNotGoOn) {
  EXPECT_TRUE(Ends("A1X1"));
  EXPECT_TRUE(Ends("A1X1X1"));
  for (const char* went_on : {"A1", "X1A1", "A1X1S1", "A1X1T1", "X1X1A1"})
    EXPECT_FALSE(Ends(went_on)) << went_on;
}

TEST(SessionEndTest, OtherProcessesDoNotMatter) {
  for (const char* ended : {"A1A2X1A2S2", "A1A2A1X2A1", "A1X1A2S2X2"})
    EXPECT_TRUE(Ends(ended)) << ended;
  for (const char* went_on : {"A1A2", "X1X2A1A2", "X2A2X1S1"})
    EXPECT_FALSE(Ends(went_on)) << went_on;
}

}  // namespace
}  // namespace memprof::analysis
