// Runs guest programs under the recorder and reads back what it recorded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/libmemprof/log/log_reader.h"

namespace memprof::testing {

// A temporary directory, removed with all its contents.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  // Names of the files that end with `suffix`, sorted.
  std::vector<std::string> Files(const std::string& suffix) const;

 private:
  std::string path_;
};

struct GuestOptions {
  std::vector<std::string> arguments;
  // added to the default environment; "" removes a variable
  std::map<std::string, std::string> environment;
  bool preload = true;
  bool standin = true;             // the stand-in CUDA is first on the loader's path
  std::string output = "g.mprof";  // MEMPROF_OUTPUT, within the directory; "" = not set
  std::string directory;           // working directory; required
  int input = -1;                  // its standard input; -1 = none
  int longest_s = 120;             // after this the guest is killed and the test fails
};

struct GuestResult {
  int status = -1;  // exit status; 128 + n after signal n
  pid_t pid = 0;
  std::string out;
  std::string err;
  std::vector<std::string> lines() const;
};

// The path of a guest of tests/integration/guests, or of a built library or program.
std::string GuestPath(const std::string& name);
std::string BuildPath(const std::string& relative);

// A file's contents; empty when it cannot be read.
std::string ReadText(const std::string& path);

// Runs the guest and waits for its end.
GuestResult RunProgram(const std::string& program, const GuestOptions& options);
GuestResult RunGuest(const std::string& name, const GuestOptions& options);

// Starts without waiting; stdout is a pipe.
class RunningGuest {
 public:
  RunningGuest(const std::string& program, const GuestOptions& options);
  ~RunningGuest();
  RunningGuest(const RunningGuest&) = delete;
  RunningGuest& operator=(const RunningGuest&) = delete;
  pid_t pid() const { return pid_; }
  // One line of its stdout without the newline; empty at the end.
  std::string ReadLine();
  GuestResult Wait();

 private:
  pid_t pid_ = 0;
  int longest_s_ = 0;
  int out_ = -1;
  std::string error_file_;
  std::string buffered_;
};

// "op layer address bytes" lines that guests print, e.g. "alloc linear 7f00 1024".
struct PrintedCall {
  std::string op, layer;
  std::uint64_t address = 0, bytes = 0;
  bool operator==(const PrintedCall&) const = default;
  auto operator<=>(const PrintedCall&) const = default;
};
std::vector<PrintedCall> PrintedCalls(const GuestResult& result);
// Events of driver memory in the log, in the same form; frees have bytes 0.
std::vector<PrintedCall> RecordedCalls(const std::vector<Event>& events);
std::string LayerName(log::Layer layer);
// Lines that only one of the two has, in any order; empty if they are equal.
std::string DifferenceOf(std::vector<PrintedCall> recorded, std::vector<PrintedCall> printed);

// Live and peak bytes and number of allocations, replayed event by event.
struct Totals {
  std::uint64_t allocations = 0, frees = 0, failed = 0, unmatched = 0;
  std::uint64_t live_bytes = 0, live_blocks = 0, peak_bytes = 0;
};
Totals Replay(const std::vector<Event>& by_time);

}  // namespace memprof::testing
