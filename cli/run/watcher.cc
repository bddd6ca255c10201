#include "cli/run/watcher.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "absl/strings/str_split.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/console/watcher_channel.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostStartMs = 10'000;

std::vector<std::string> Words(const WatcherOptions& options) {
  std::vector<std::string> words = {"memprof", "watch"};
  for (const std::string& address : options.metrics) words.push_back(Cat("--metrics=", address));
  if (!options.alert.empty()) words.push_back(Cat("--alert=", options.alert));
  if (!options.alert_above.empty()) words.push_back(Cat("--alert-above=", options.alert_above));
  if (options.alert_after != 0) words.push_back(Cat("--alert-after=", options.alert_after));
  return words;
}

// It is no part of the program that is recorded, and no signal to that is for it.
[[noreturn]] void BecomeWatcher(const WatcherOptions& options, int channel, bool keep_errors) {
  setsid();
  if (const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC); nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (!keep_errors) dup2(nothing, STDERR_FILENO);
  }
  setenv("MEMPROF_DISABLE", "1", 1);
  setenv(kWatcherChannel, Cat(channel).c_str(), 1);
  fcntl(channel, F_SETFD, 0);
  std::vector<std::string> words = Words(options);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv("/proc/self/exe", arguments.data());
  _exit(127);
}

}  // namespace

void WatcherOptions::AddTo(Options* options) {
  options->List("metrics", &metrics, "ADDRESS",
                "While the program runs, hand on its figures: unix:PATH, tcp:127.0.0.1:PORT "
                "(Prometheus) or otlp:http://HOST:PORT (OpenTelemetry). May be given several "
                "times: docs/watch.md.");
  options->Text("alert", &alert, "CMD",
                "Run CMD when memory leaks, a budget is passed, memory is out, or the recorder "
                "loses data; $MEMPROF_ALERT_TEXT is a line about it.");
  options->Text("alert-above", &alert_above, "SIZE",
                "With --alert: a budget for the memory that the program reserves of each GPU.");
  options->Integer("alert-after", &alert_after, "STEPS",
                   "With --alert: tell a leak once it has been suspected for so many steps. "
                   "Default: 0.");
}

WatcherProcess::~WatcherProcess() { Close(); }

absl::Status WatcherProcess::Start(const WatcherOptions& options, bool keep_errors) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 || (pid_ = fork()) < 0)
    return absl::UnavailableError(
        Cat("no process could be started that watches: ", std::strerror(errno)));
  if (pid_ == 0) BecomeWatcher(options, ends[1], keep_errors);
  close(ends[1]);
  channel_ = ends[0];
  std::string said;
  char buffer[1024];
  for (pollfd polled{channel_, POLLIN, 0}; poll(&polled, 1, kMostStartMs) > 0;) {
    const ssize_t size = recv(channel_, buffer, sizeof buffer, 0);
    if (size > 0) said.append(buffer, static_cast<std::size_t>(size));
    if (size <= 0 || said.back() == kWatcherReady) break;
  }
  if (!said.empty() && said.back() == kWatcherReady) {
    said.pop_back();
    for (const absl::string_view note : absl::StrSplit(said, '\n', absl::SkipEmpty()))
      PrintNote(std::string(note));
    return absl::OkStatus();
  }
  Close();
  return absl::FailedPreconditionError(said.empty() ? "the process that watches did not start"
                                                    : said);
}

void WatcherProcess::Watch(const std::string& name) {
  if (channel_ >= 0) send(channel_, name.c_str(), name.size() + 1, MSG_NOSIGNAL);
}

void WatcherProcess::Close() {
  if (channel_ >= 0) close(channel_);
  channel_ = -1;
}

void WatcherProcess::Await(std::int64_t most_s) {
  if (pid_ <= 0) return;
  Close();
  const auto end = Clock::now() + std::chrono::seconds(most_s);
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(pid_, &status, WNOHANG)) != pid_;) {
    if (ended < 0 && errno != EINTR) return;
    if (Clock::now() >= end)
      return PrintError(
          Cat("its commands or logs take longer: the watch goes on (process ", pid_, ")"));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace memprof::cli
