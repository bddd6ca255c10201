// memprof serve: a LogServer between standard input, whose end ends it, and standard output.
#include "cli/serve/serve.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "analysis/base/status_text.h"
#include "analysis/log/frames.h"
#include "analysis/remote/server.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kAliveEvery{3000};  // the viewer waits 15 s
constexpr milliseconds kLookEvery{500};

// Standard output, and a sign of life while nothing else is written: names may take long to find.
class ViewerLine {
 public:
  ViewerLine() : alive_([this](const std::stop_token& stop) { StayAlive(stop); }) {}

  bool Write(std::string_view bytes) {
    const std::scoped_lock lock(mutex_);
    written_ = steady_clock::now();
    while (!bytes.empty()) {
      const ssize_t size = write(STDOUT_FILENO, bytes.data(), bytes.size());
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
  }

 private:
  void StayAlive(const std::stop_token& stop) {
    std::string frame;
    analysis::AppendFrame(static_cast<std::uint16_t>(analysis::ServeFrame::kAlive), "", &frame);
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(milliseconds(100));
      {
        const std::scoped_lock lock(mutex_);
        if (steady_clock::now() - written_ < kAliveEvery) continue;
      }
      Write(frame);
    }
  }

  std::mutex mutex_;
  steady_clock::time_point written_ = steady_clock::now();
  std::jthread alive_;
};

// Whether standard input has ended: the connection is gone.
bool Ended(milliseconds wait) {
  pollfd in{STDIN_FILENO, POLLIN, 0};
  if (poll(&in, 1, static_cast<int>(wait.count())) <= 0) return false;
  char unused[256];
  return read(STDIN_FILENO, unused, sizeof unused) <= 0;
}

int Serve(const std::string& path, const analysis::CopyPosition& position) {
  ViewerLine line;
  line.Write(Cat(analysis::kServeGreeting, MEMPROF_VERSION, "\n"));
  analysis::LogServer server(path, position,
                             [&line](const std::string& frames) { return line.Write(frames); });
  milliseconds wait{0};
  do {
    const auto begin = steady_clock::now();
    if (const absl::Status status = server.Update(); !status.ok()) {
      std::string payload, frame;
      analysis::PutNumber(static_cast<std::uint64_t>(status.code()), &payload);
      payload += analysis::StatusText(status);
      analysis::AppendFrame(static_cast<std::uint16_t>(analysis::ServeFrame::kEnd), payload,
                            &frame);
      line.Write(frame);
      return kExitFailed;
    }
    const auto took = std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
    // At most a quarter of one processor.
    wait = std::max(kLookEvery, 3 * took);
  } while (!Ended(wait));
  return kExitFine;
}

}  // namespace

int ServeVerb(int argc, char** argv) {
  bool stdio = false;
  std::string from;
  Options options(
      "serve --stdio [OPTION...] [--] LOG",
      "Reads a log for the viewer on another machine: 'memprof view ssh://HOST/LOG' starts this by "
      "ssh, and ends it. It writes the log, as far as it grows, the names of its call stacks and "
      "the user's source files to standard output, in a form for the viewer. It opens no port, "
      "and writes no file.");
  options.Flag("stdio", &stdio, "Write to standard output until standard input ends.");
  options.Text("from", &from, "POSITION",
               "Go on after a lost connection: what the viewer has already.");
  options.Example("memprof view ssh://node7/runs/train.mprof", "Look at a log on node7.");
  if (const int status = ParseOrExit(options, "serve", argc, argv); status >= 0) return status;
  if (options.arguments().size() != 1) return UsageError("serve", "which log? Name one");
  if (!stdio)
    return UsageError("serve", "--stdio is needed; see 'memprof view', which starts this");
  analysis::CopyPosition position;
  if (!from.empty()) {
    const auto parsed = analysis::ParsePosition(from);
    if (!parsed.ok())
      return UsageError("serve", Cat("--from: ", analysis::StatusText(parsed.status())));
    position = *parsed;
  }
  return Serve(options.arguments().front(), position);
}

}  // namespace memprof::cli
