// Loads the recorder into a running program, and tells it to begin or to end.
#include "cli/attach/attach.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "analysis/base/quantity.h"
#include "analysis/base/status_text.h"
#include "cli/attach/internal/earlier_log.h"
#include "cli/attach/internal/interrupt.h"
#include "cli/attach/internal/page.h"
#include "cli/attach/internal/place.h"
#include "cli/attach/internal/program_folder.h"
#include "cli/attach/internal/python_door.h"
#include "cli/attach/internal/target.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/run/run.h"
#include "cli/run/watcher.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

constexpr milliseconds kMostPython(3000), kMostTries(5000), kMostStart(10000), kMostEnd(20000),
    kMostEarlier(1000), kPoll(5);
volatile sig_atomic_t g_interrupted = 0;

struct Request {
  pid_t pid = 0;
  std::string output;  // absolute
  std::int64_t seconds = 0;
  bool python = true, force = false;
  WatcherOptions watcher;
};

// Text as a literal of Python, in one line.
std::string PythonText(const std::string& text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') literal += '\\';
    if (c == '\n')
      literal += "\\n";
    else
      literal += c;
  }
  return literal + "'";
}

// The same for any bytes, and as bytes.
std::string PythonBytes(const std::string& bytes) {
  std::string literal = "b'";
  for (const char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    Append(literal, "\\x", kDigits[byte >> 4], kDigits[byte & 15]);
  }
  return literal + "'";
}

// Leaves nothing behind in the program's modules but ours.
std::string PythonCall(const std::string& folder, const std::string& library,
                       const char* function) {
  return Cat("exec(",
             PythonText(Cat("import sys\nsys.path.insert(0, ", PythonText(folder),
                            ")\ntry:\n  from memprof._agent import attached\nfinally:\n"
                            "  sys.path.remove(",
                            PythonText(folder), ")\nattached.", function, "(", PythonText(library),
                            ")\n")),
             ", {})");
}

std::string Settings(const Request& request, const Place& place, const char* way) {
  std::string settings = Cat("MEMPROF_OUTPUT=", place.log, "\nMEMPROF_ATTACH=", way, "\n");
  if (!request.watcher.alert.empty())
    Append(settings, "MEMPROF_WRITE_MS=", kWriteMsForAlerts, "\n");
  if (request.seconds > 0) Append(settings, "MEMPROF_FOR=", request.seconds, "\n");
  if (request.python)
    Append(settings, "MEMPROF_AGENT=1\nMEMPROF_PYTHON_BEGIN=",
           PythonCall(place.python, place.library, "begin"),
           "\nMEMPROF_PYTHON_END=", PythonCall(place.python, place.library, "end"), "\n");
  return settings;
}

// Waits until `done`, a function of the report; kDeadlineExceeded after `limit`.
template <typename Done>
absl::StatusOr<AttachReport> Await(Target* target, milliseconds limit, Done done) {
  for (const auto end = Clock::now() + limit;;) {
    if (absl::Status read = target->Refresh(); !read.ok()) return read;
    absl::StatusOr<AttachReport> report = ReadPage(*target);
    // While the loader maps the recorder, its page may be another part of the file for a moment.
    const bool unclear = absl::IsFailedPrecondition(report.status());
    if (report.ok() ? done(*report) : !unclear) return report;
    if (Clock::now() >= end) return unclear ? report : absl::DeadlineExceededError("");
    std::this_thread::sleep_for(kPoll);
  }
}

// Loads the recorder by the program's Python. False if it has none that does it now.
bool EnterByPython(const Target& target, const Request& request, const Place& place) {
  constexpr char kScript[] = "attach.py";
  const std::optional<PythonDoor> door = PythonDoor::Find(target);
  if (!door) return false;
  absl::StatusOr<ProgramFolder> folder = ProgramFolder::Make(target.task());
  if (!folder.ok()) return false;
  const std::string script = Cat(folder->path(), "/", kScript);
  // The file vanishes once the call was made.
  const std::string code =
      Cat("try:\n  import ctypes, os\n  ctypes.CDLL(os.fsdecode(", PythonBytes(place.library),
          ")).memprof_attach(", PythonBytes(Settings(request, place, "remote_exec")),
          ")\n  os.unlink('", script, "')\nexcept Exception:\n  pass\n");
  const auto await = [](milliseconds limit, auto done) {
    const auto end = Clock::now() + limit;
    while (!done() && Clock::now() < end) std::this_thread::sleep_for(kPoll);
    return done();
  };
  const auto called = [&] { return !folder->Has(kScript); };
  bool entered =
      folder->Write(kScript, code).ok() && folder->HandOver().ok() && door->Ask(script).ok();
  if (entered) {
    const bool answered = await(kMostPython, [&] { return door->Answered(); });
    if (!answered) door->Withdraw();  // the main thread is in a long call
    entered = await(answered ? kMostStart : 10 * kPoll, called);
  }
  folder->Remove();
  return entered;
}

absl::Status CheckNotRecorded(const AttachReport& before, pid_t pid) {
  if (before.phase != AttachPhase::kRecording && before.phase != AttachPhase::kStarting &&
      before.phase != AttachPhase::kEnding)
    return absl::OkStatus();
  return absl::FailedPreconditionError(Cat("process ", pid, " is recorded already, to ", before.log,
                                           " (memprof detach ", pid, " ends that)"));
}

absl::Status EnterByPtrace(Target* target, const Request& request, const Place& place) {
  if (!HasStub())
    return absl::UnimplementedError(
        "attach needs an x86-64 processor so far, or a program in CPython 3.14 or later that "
        "allows sys.remote_exec: start the program with 'memprof run'");
  absl::StatusOr<StubParts> parts = target->Functions();
  if (!parts.ok()) return parts.status();
  parts->library = place.library;
  parts->settings = Settings(request, place, "ptrace");
  const absl::StatusOr<std::uint64_t> gap = FindFreeGap(*target, *parts, kMostEarlier);
  if (!gap.ok()) return gap.status();
  // Code of another attach may just have done its work.
  if (absl::Status read = target->Refresh(); !read.ok()) return read;
  const absl::StatusOr<AttachReport> now = ReadPage(*target);
  if (!now.ok()) return now.status();
  if (absl::Status free = CheckNotRecorded(*now, request.pid); !free.ok()) return free;
  return RunStub(*target, *parts, *gap, kMostTries);
}

absl::StatusOr<AttachReport> Enter(Target* target, const Request& request, const Place& place,
                                   AttachPhase before) {
  if (!request.python || !EnterByPython(*target, request, place))
    if (absl::Status entered = EnterByPtrace(target, request, place); !entered.ok()) return entered;
  absl::StatusOr<AttachReport> report = Await(target, kMostStart, [&](const AttachReport& now) {
    return now.phase == AttachPhase::kRecording || now.phase == AttachPhase::kEnding ||
           (now.phase == AttachPhase::kEnded && before != AttachPhase::kEnded) ||
           (now.phase == AttachPhase::kFailed && before != AttachPhase::kFailed);
  });
  if (absl::IsDeadlineExceeded(report.status()))
    return absl::DeadlineExceededError(
        Cat("process ", request.pid, " was entered, but did not load ", place.library, " within ",
            kMostStart.count() / 1000, " s; it goes on without"));
  if (report.ok() && report->phase == AttachPhase::kFailed)
    return absl::FailedPreconditionError(
        Cat("process ", request.pid, " is not recorded: ", report->error));
  return report;
}

absl::StatusOr<AttachReport> Begin(Target* target, const Request& request,
                                   std::optional<ProgramFolder>* folder) {
  const absl::StatusOr<AttachReport> before = ReadPage(*target);
  if (!before.ok()) return before;
  if (absl::Status free = CheckNotRecorded(*before, request.pid); !free.ok()) return free;
  if (absl::Status free = target->CheckFilters(); !request.force && !free.ok()) return free;
  absl::StatusOr<Place> place = MakePlace(*target, request.output, request.python);
  if (!place.ok()) return place.status();
  EarlierLog earlier(request.output);
  const absl::Status moved = place->log == request.output
                                 ? earlier.MoveAside()
                                 : absl::OkStatus();  // else when it is left
  absl::StatusOr<AttachReport> report =
      moved.ok() ? Enter(target, request, *place, before->phase) : moved;
  if (report.ok()) earlier.Remove();
  if (place->folder && !report.ok()) place->folder->Remove();
  if (place->folder) folder->emplace(*std::move(place->folder));
  return report;
}

absl::StatusOr<AttachReport> End(Target* target) {
  const absl::StatusOr<AttachReport> before = ReadPage(*target);
  if (!before.ok()) return before;
  if (before->phase != AttachPhase::kRecording && before->phase != AttachPhase::kEnding)
    return absl::FailedPreconditionError(
        Cat("memprof is not attached to process ", target->pid(),
            before->log.empty() ? "" : Cat("; its last log is ", before->log)));
  if (before->phase == AttachPhase::kRecording)
    if (absl::Status wanted = WantEnd(*target); !wanted.ok()) return wanted;
  absl::StatusOr<AttachReport> report = Await(target, kMostEnd, [](const AttachReport& now) {
    return now.phase == AttachPhase::kEnded || now.phase == AttachPhase::kFailed;
  });
  if (absl::IsDeadlineExceeded(report.status()))
    return absl::DeadlineExceededError(Cat("process ", target->pid(), " has not ended the log ",
                                           before->log, " within ", kMostEnd.count() / 1000,
                                           " s; it goes on trying"));
  return report;
}

int Fail(const absl::Status& status) {
  std::string text = analysis::StatusText(status);
  if (absl::IsPermissionDenied(status)) Append(text, ": ", holders::kHowToBeAllowed);
  PrintError(text);
  return kExitFailed;
}

bool ReadPid(const Options& options, pid_t* pid) {
  return options.arguments().size() == 1 && absl::SimpleAtoi(options.arguments()[0], pid) &&
         *pid > 0;
}

// The path of the log from here, and with a folder in a container the end of that.
int Leave(std::optional<ProgramFolder> folder, const std::string& log, const std::string& output,
          const std::string& text) {
  std::string at = log;
  if (folder) {
    at = fs::path(log).parent_path() == folder->path() ? output : log;
    if (at != log)
      if (absl::Status prepared = PrepareOutput(output); !prepared.ok()) return Fail(prepared);
    if (absl::Status left = LeavePlace(*std::move(folder), log, output); !left.ok())
      return Fail(left);
  }
  return WriteOut(Cat(text, at, ".\n")) ? kExitFine : kExitFailed;
}

// At least a second, at most a year.
bool ReadTime(const std::string& text, std::int64_t* seconds) {
  constexpr analysis::TimeNs kSecond = 1'000'000'000, kYear = 366 * 86400 * kSecond;
  const auto time = analysis::ParseTime(text, kSecond);
  if (!time.ok() || *time < kSecond || *time > kYear) return false;
  *seconds = static_cast<std::int64_t>((*time + kSecond - 1) / kSecond);
  return true;
}

// With --for: until the recorder ends by itself, or the user does not want to wait.
int WaitForEnd(Target* target, const Request& request, std::optional<ProgramFolder> folder,
               const std::string& log) {
  struct sigaction action {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  for (;;) {
    absl::StatusOr<AttachReport> now = ReadPage(*target);
    // The first thread may have left.
    if (absl::IsNotFound(now.status()) && target->Refresh().ok()) now = ReadPage(*target);
    if (!now.ok() && !absl::IsNotFound(now.status())) return Fail(now.status());
    // kNever: the process has ended, and with it what could be read of it.
    if (!now.ok() || now->phase == AttachPhase::kEnded || now->phase == AttachPhase::kNever) break;
    if (g_interrupted != 0) {
      const absl::StatusOr<AttachReport> ended = End(target);
      if (!ended.ok()) return Fail(ended.status());
      break;
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
  return Leave(std::move(folder), log, request.output,
               Cat("The recording of process ", request.pid, " has ended. Its log is "));
}

}  // namespace

int AttachVerb(int argc, char** argv) {
  Request request;
  std::string output = "memprof.%p.mprof", time;
  bool no_python = false;
  Options options(
      "attach [OPTION...] PID",
      "Begins to record a program that runs already. One of its threads is interrupted for a "
      "moment to load the recorder; the program goes on meanwhile, also if memprof is killed. From "
      "then on the log has the driver's allocations (by CUPTI), PyTorch's blocks, and what was "
      "allocated "
      "before, as far as PyTorch tells it. Leaks are then judged by the growth since "
      "(docs/attach.md).");
  options.Text("output", &output, "LOG",
               "The log; %p is the process, %h the host. Default: memprof.%p.mprof.", 'o');
  options.Text(
      "for", &time, "TIME",
      "End after so many seconds (or 5min, 2h), and wait for that. Default: 'memprof detach' "
      "ends it.");
  options.Flag("no-python", &no_python,
               "Run nothing in the program's Python: no names, no steps, and nothing from before.");
  options.Flag("force", &request.force,
               "Attach also to a program with a seccomp filter, which may kill it for that.");
  request.watcher.AddTo(&options);
  options.Example("memprof attach 4711", "Record process 4711 to memprof.4711.mprof.");
  options.Example("memprof attach -o now.mprof --for 60 4711; memprof leaks now.mprof",
                  "What grew within a minute?");
  if (const int status = ParseOrExit(options, "attach", argc, argv); status >= 0) return status;
  if (!ReadPid(options, &request.pid)) return UsageError("attach", "give the id of one process");
  if (!time.empty() && !ReadTime(time, &request.seconds))
    return UsageError("attach", "--for is a time of 1 s to a year: 60, 60s, 5min, 2h");
  if (output.empty() || output.find('\n') != std::string::npos)
    return UsageError("attach", "give -o the path of a log");
  request.python = !no_python;
  request.output = NameOfLog(fs::absolute(output).string(), request.pid);
  const auto start = Clock::now();
  absl::StatusOr<Target> target = Target::Open(request.pid);
  if (!target.ok()) return Fail(target.status());
  if (const auto checked = CheckOutput(request.output); !checked.ok())
    return Fail(checked.status());
  WatcherProcess watcher;
  if (request.watcher.wanted())
    if (absl::Status started = watcher.Start(request.watcher, false); !started.ok())
      return Fail(started);
  std::optional<ProgramFolder> folder;
  const absl::StatusOr<AttachReport> report = Begin(&*target, request, &folder);
  if (!report.ok()) return Fail(report.status());
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  const bool inside = folder && fs::path(report->log).parent_path() == folder->path();
  const std::string log =
      inside ? Cat(folder->here(), "/", fs::path(report->log).filename().string()) : report->log;
  watcher.Watch(log);
  watcher.Close();
  std::string text =
      Cat("Recording process ", request.pid, " to ", log, ", after ", took.count(), " ms.\n");
  if (request.seconds == 0)
    Append(text, "'memprof detach ", inside ? Cat("-o ", request.output, " ") : "", request.pid,
           "' ends it", inside ? ", and brings the log there.\n" : ".\n");
  if (!WriteOut(text)) return kExitFailed;
  std::fflush(stdout);  // whoever reads a pipe wants to know it now
  return request.seconds == 0 ? kExitFine
                              : WaitForEnd(&*target, request, std::move(folder), report->log);
}

int DetachVerb(int argc, char** argv) {
  pid_t pid = 0;
  std::string output = "memprof.%p.mprof";
  Options options("detach [OPTION...] PID",
                  "Ends the recording that 'memprof attach' began. The program goes on as before; "
                  "the recorder stays loaded, and does nothing.");
  options.Text("output", &output, "LOG",
               "Where the log of a program in a container is brought. Default: memprof.%p.mprof.",
               'o');
  options.Example("memprof detach 4711", "End the recording of process 4711.");
  if (const int status = ParseOrExit(options, "detach", argc, argv); status >= 0) return status;
  if (!ReadPid(options, &pid)) return UsageError("detach", "give the id of one process");
  absl::StatusOr<Target> target = Target::Open(pid);
  if (!target.ok()) return Fail(target.status());
  const absl::StatusOr<AttachReport> report = End(&*target);
  if (!report.ok()) return Fail(report.status());
  std::optional<ProgramFolder> folder;
  for (const std::string& path : {report->log, target->recorder()})
    if (absl::StatusOr<ProgramFolder> ours = ProgramFolder::OfFile(target->task(), path);
        !folder && ours.ok())
      folder.emplace(*std::move(ours));
  output = NameOfLog(fs::absolute(output).string(), pid);
  return Leave(std::move(folder), report->log, output, Cat("The log of process ", pid, " is "));
}

}  // namespace memprof::cli
