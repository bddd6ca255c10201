// Reads logs again and again while they are written.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/top/internal/page.h"
#include "cli/top/internal/tail.h"

namespace memprof::cli {

// Not thread-safe.
class Watch {
 public:
  // Processes, logs and folders of logs.
  explicit Watch(std::vector<std::string> names) : names_(std::move(names)) {}

  // All figures; reads what may have changed: each log as a whole, but for no more than a fifth of
  // a processor's time; in between what was appended. `progress`: shows that on standard error.
  TopPage Read(bool progress = false);

 private:
  struct Log {
    std::string path, canonical;
    std::uint64_t bytes = UINT64_MAX;  // when it was read as a whole
    std::chrono::steady_clock::time_point read;
    std::chrono::nanoseconds cost{};  // of that, in a processor's time
    std::optional<LogTail> tail;
    bool readable = false;  // it was once: `process` has its figures
    std::string error;
    TopProcess process;
  };

  void FindLogs(std::vector<std::string>* errors);
  void ReadLog(bool progress, Log* log) const;
  static void ReadWhole(bool progress, Log* log);
  // How often logs are read as a whole.
  std::chrono::nanoseconds WholeEvery() const;

  std::vector<std::string> names_;
  std::set<std::string> found_;  // names of which there were logs
  std::vector<Log> logs_;
};

}  // namespace memprof::cli
