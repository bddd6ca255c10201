// `memprof watch` as a process beside a program: `memprof run` and `memprof attach` start it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/console/options.h"

namespace memprof::cli {

// How often the recorder writes, for alerts (MEMPROF_WRITE_MS).
inline constexpr char kWriteMsForAlerts[] = "100";

// The options of `memprof watch` that other verbs have too.
struct WatcherOptions {
  std::vector<std::string> metrics;
  std::string alert, alert_above;
  std::int64_t alert_after = 0;
  bool wanted() const { return !metrics.empty() || !alert.empty() || !alert_above.empty(); }
  void AddTo(Options* options);
};

// No thread may run beside the one that starts it. Whatever becomes of it, the program goes on.
class WatcherProcess {
 public:
  WatcherProcess() = default;
  ~WatcherProcess();
  WatcherProcess(const WatcherProcess&) = delete;
  WatcherProcess& operator=(const WatcherProcess&) = delete;

  // Starts it, and waits until it may be relied on, such as listens. Without `keep_errors`, it says
  // nothing on standard error after that. Errors are one line.
  absl::Status Start(const WatcherOptions& options, bool keep_errors);
  // A log, or the list of a run.
  void Watch(const std::string& name);
  // No more names come: it ends when no log is written any more.
  void Close();
  // Waits for its end, at most so long; then it goes on in the background, and a line says so.
  void Await(std::int64_t most_s);

 private:
  pid_t pid_ = 0;
  int channel_ = -1;
};

}  // namespace memprof::cli
