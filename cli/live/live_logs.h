// Reads logs again and again while they are written.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/live/process.h"

namespace memprof::cli {

// Not thread-safe.
class LiveLogs {
 public:
  // Processes, logs, folders of logs, and the list of a run (proto/run_list.h).
  explicit LiveLogs(std::vector<std::string> names);
  ~LiveLogs();

  void Add(std::string name) { names_.push_back(std::move(name)); }

  // All figures; reads what may have changed: each log as a whole, but for no more than a fifth of
  // a processor's time; in between what was appended. `progress`: shows that on standard error.
  LiveReading Read(bool progress = false);
  // The same, with each log that runs read as a whole.
  LiveReading ReadAll();

 private:
  struct Log;

  void FindLogs();
  LiveReading ReadLogs(bool progress, bool whole);
  void ReadLog(bool progress, bool whole, Log* log) const;
  static void ReadWhole(bool progress, Log* log);
  // How often logs are read as a whole.
  std::chrono::nanoseconds WholeEvery() const;

  std::vector<std::string> names_;
  std::set<std::string> found_;      // names of which there were logs
  std::vector<std::string> errors_;  // of the last search
  std::vector<std::unique_ptr<Log>> logs_;
  std::chrono::steady_clock::time_point searched_;  // for logs
};

}  // namespace memprof::cli
