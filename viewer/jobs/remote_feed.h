// Follows a log on another machine with the user's own ssh: `memprof serve` there reads it, a copy
// here grows. A lost connection is made again, and goes on where it was.
#pragma once

#include <QString>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "analysis/remote/mirror.h"
#include "viewer/models/remote_log.h"

namespace memprof::viewer {

struct FeedOptions {
  QString memprof = QStringLiteral("memprof");  // there; IsRemotePath()
  bool may_ask = false;                         // ssh may ask for a password
  int first_wait_ms = 1000, longest_wait_ms = 30'000;
  int silence_ms = 15'000;  // after that, a connection without bytes is lost
};

// What there is of the log. All of it is of one moment.
struct FeedState {
  std::string file;  // has the log's bytes up to a whole state, and perhaps more
  std::uint64_t generation = 0, replaced = 0;  // as LogMirror counts them; 0: nothing whole yet
  bool growing = true;
  std::shared_ptr<const analysis::KeptSources> sources;
  double share = 0;     // copied, of what the log has
  QString trouble;      // why nothing comes just now: one line, or ""
  absl::Status status;  // of an error after which nothing more comes
  bool ended = false;   // the log is complete, or there is an error
};

// Thread-safe.
class RemoteFeed {
 public:
  // Begins to write `file`.
  RemoteFeed(RemoteLog log, std::string file, std::shared_ptr<analysis::NamesElsewhere> names,
             FeedOptions options);
  ~RemoteFeed();  // ends ssh; the file stays
  RemoteFeed(const RemoteFeed&) = delete;
  RemoteFeed& operator=(const RemoteFeed&) = delete;

  FeedState state() const;
  // Waits for a whole state, and calls `report` with the share copied. Errors: kUnimplemented (no
  // memprof there that serves: copy the log), kUnavailable (no connection, which ssh explains), of
  // the log as LoadLogs, kResourceExhausted, kCancelled.
  absl::Status WaitForLog(const std::function<void(double)>& report, const std::stop_token& stop);

 private:
  enum class End { kLost, kComplete, kFailed };

  void Run(const std::stop_token& stop);
  End Connect(const std::stop_token& stop);
  End Fail(const absl::Status& status);
  void Wait(int milliseconds, const std::stop_token& stop);
  template <typename Change>
  void Publish(Change change);
  void PublishCopied();

  const RemoteLog log_;
  const FeedOptions options_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any moved_;
  FeedState state_;
  // Only of the thread.
  analysis::LogMirror mirror_;
  bool ever_greeted_ = false;

  std::jthread thread_;
};

}  // namespace memprof::viewer
