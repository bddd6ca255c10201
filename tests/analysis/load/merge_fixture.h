// Shared by tests of sessions of several logs: logs of processes, alone and together.
#pragma once

#include <gtest/gtest.h>

#include "analysis/load/load.h"
#include "tests/support/random_log.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis::testing {

using Sessions = std::vector<std::shared_ptr<const Session>>;

inline constexpr std::uint64_t kSecond = 1'000'000'000;

// Sets the run of a log: the wall clock was 10^18 when the host's monotonic clock was zero.
inline void SetRun(LogBuilder& log, const std::string& host, std::uint32_t pid, std::uint64_t start,
                   std::uint64_t zero = 1'000'000'000 * kSecond) {
  log.header().set_hostname(host);
  log.header().set_pid(pid);
  log.header().set_start_time_ns(start);
  log.header().set_start_unix_ns(zero + start);
}

class Files {
 public:
  std::string Add(const LogBuilder& log) {
    const std::string path =
        directory_.Write(std::to_string(paths_.size()) + ".mprof", log.Bytes());
    paths_.push_back(path);
    return path;
  }
  std::shared_ptr<const Session> Together() const {
    auto session = LoadLogs(paths_, {.find_steps = false});
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *session : nullptr;
  }
  Sessions Alone() const {
    Sessions sessions;
    for (const std::string& path : paths_)
      sessions.push_back(*LoadLogs({path}, {.find_steps = false}));
    return sessions;
  }
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  TempDirectory directory_;
  std::vector<std::string> paths_;
};

}  // namespace memprof::analysis::testing
