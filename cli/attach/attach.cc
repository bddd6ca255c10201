// Loads the recorder into a running program, and tells it to begin or to end.
#include "cli/attach/attach.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "analysis/base/status_text.h"
#include "cli/attach/internal/interrupt.h"
#include "cli/attach/internal/page.h"
#include "cli/attach/internal/target.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/run/run.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kMostTries(5000), kMostStart(10000), kMostEnd(20000), kPoll(5);
volatile sig_atomic_t g_interrupted = 0;

struct Request {
  pid_t pid = 0;
  std::string output;  // absolute
  std::int64_t seconds = 0;
  bool python = true;
};

std::string SelfFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

// Text as a literal of Python, in one line.
std::string PythonText(const std::string& text) {
  std::string literal = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') literal += '\\';
    if (c == '\n') literal += "\\n";
    else literal += c;
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

absl::StatusOr<std::string> Settings(const Request& request, const std::string& library) {
  std::string settings = Cat("MEMPROF_OUTPUT=", request.output, "\nMEMPROF_ATTACH=ptrace\n");
  if (request.seconds > 0) Append(settings, "MEMPROF_FOR=", request.seconds, "\n");
  if (!request.python) return settings;
  const absl::StatusOr<std::string> agent = FindAgent(SelfFolder());
  if (!agent.ok()) return agent.status();
  const std::string folder = (std::filesystem::path(*agent).parent_path() / "python").string();
  Append(settings, "MEMPROF_AGENT=1\nMEMPROF_PYTHON_BEGIN=", PythonCall(folder, library, "begin"),
         "\nMEMPROF_PYTHON_END=", PythonCall(folder, library, "end"), "\n");
  return settings;
}

// Waits until `done`, a function of the report; kDeadlineExceeded after `limit`.
template <typename Done>
absl::StatusOr<AttachReport> Await(Target* target, milliseconds limit, Done done) {
  for (const auto end = Clock::now() + limit;;) {
    if (absl::Status read = target->Refresh(); !read.ok()) return read;
    absl::StatusOr<AttachReport> report = ReadPage(*target);
    if (!report.ok() || done(*report)) return report;
    if (Clock::now() >= end) return absl::DeadlineExceededError("");
    std::this_thread::sleep_for(kPoll);
  }
}

absl::StatusOr<AttachReport> Begin(Target* target, const Request& request) {
  const absl::StatusOr<AttachReport> before = ReadPage(*target);
  if (!before.ok()) return before;
  if (before->phase == AttachPhase::kRecording || before->phase == AttachPhase::kStarting ||
      before->phase == AttachPhase::kEnding)
    return absl::FailedPreconditionError(
        Cat("process ", request.pid, " is recorded already, to ", before->log,
            " (memprof detach ", request.pid, " ends that)"));
  absl::StatusOr<StubParts> parts = target->Functions();
  if (!parts.ok()) return parts.status();
  if (!target->recorder().empty()) {
    parts->library = target->recorder();
  } else {
    const absl::StatusOr<std::string> library = FindRecorder(SelfFolder());
    if (!library.ok()) return library.status();
    parts->library = *library;
  }
  const absl::StatusOr<std::string> settings = Settings(request, parts->library);
  if (!settings.ok()) return settings.status();
  parts->settings = *settings;
  if (absl::Status entered = RunStub(*target, *parts, kMostTries); !entered.ok()) return entered;
  absl::StatusOr<AttachReport> report = Await(target, kMostStart, [&](const AttachReport& now) {
    return now.phase == AttachPhase::kRecording || now.phase == AttachPhase::kEnding ||
           (now.phase == AttachPhase::kEnded && before->phase != AttachPhase::kEnded) ||
           (now.phase == AttachPhase::kFailed && before->phase != AttachPhase::kFailed);
  });
  if (absl::IsDeadlineExceeded(report.status()))
    return absl::DeadlineExceededError(
        Cat("process ", request.pid, " was entered, but did not load ", parts->library, " within ",
            kMostStart.count() / 1000, " s; it goes on without"));
  if (report.ok() && report->phase == AttachPhase::kFailed)
    return absl::FailedPreconditionError(
        Cat("process ", request.pid, " is not recorded: ", report->error));
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
  if (absl::IsPermissionDenied(status))
    text +=
        ": become its user or root; if kernel.yama.ptrace_scope is above 0, set it to 0 or become "
        "root; in a container allow SYS_PTRACE";
  PrintError(text);
  return kExitFailed;
}

bool ReadPid(const Options& options, pid_t* pid) {
  return options.arguments().size() == 1 && absl::SimpleAtoi(options.arguments()[0], pid) &&
         *pid > 0;
}

// With --for: until the recorder ends by itself, or the user does not want to wait.
int WaitForEnd(Target* target, const Request& request) {
  struct sigaction action {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  for (;;) {
    const absl::StatusOr<AttachReport> now = ReadPage(*target);
    if (!now.ok() && !absl::IsNotFound(now.status())) return Fail(now.status());
    if (!now.ok() || now->phase == AttachPhase::kEnded) break;
    if (g_interrupted != 0) {
      const absl::StatusOr<AttachReport> ended = End(target);
      if (!ended.ok()) return Fail(ended.status());
      break;
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
  return WriteOut(Cat("The recording of process ", request.pid, " has ended.\n")) ? kExitFine
                                                                                 : kExitFailed;
}

}  // namespace

int AttachVerb(int argc, char** argv) {
  Request request;
  std::string output = "memprof.%p.mprof";
  bool no_python = false;
  Options options(
      "attach [OPTION...] PID",
      "Begins to record a program that runs already. One of its threads is interrupted for a moment "
      "to load the recorder; the program goes on meanwhile, also if memprof is killed. From then on "
      "the log has the driver's allocations (by CUPTI), PyTorch's blocks, and what was allocated "
      "before, as far as PyTorch tells it. Leaks are then judged by the growth since (docs/attach.md).");
  options.Text("output", &output, "LOG",
               "The log; %p is the process, %h the host. Default: memprof.%p.mprof.", 'o');
  options.Integer("for", &request.seconds, "SECONDS",
                  "End after so many seconds, and wait for that. Default: 'memprof detach' ends it.");
  options.Flag("no-python", &no_python,
               "Run nothing in the program's Python: no names, no steps, and nothing from before.");
  options.Example("memprof attach 4711", "Record process 4711 to memprof.4711.mprof.");
  options.Example("memprof attach -o now.mprof --for 60 4711; memprof leaks now.mprof",
                  "What grew within a minute?");
  if (const int status = ParseOrExit(options, "attach", argc, argv); status >= 0) return status;
  if (!ReadPid(options, &request.pid)) return UsageError("attach", "give the id of one process");
  if (request.seconds < 0 || request.seconds > 366 * 86400)
    return UsageError("attach", "--for is a number of seconds up to a year");
  if (output.empty() || output.find('\n') != std::string::npos)
    return UsageError("attach", "give -o the path of a log");
  if (!HasStub())
    return Fail(absl::UnimplementedError(
        "attach needs an x86-64 processor so far: start the program with 'memprof run'"));
  request.python = !no_python;
  request.output = std::filesystem::absolute(output).string();
  const auto start = Clock::now();
  absl::StatusOr<Target> target = Target::Open(request.pid);
  if (!target.ok()) return Fail(target.status());
  if (absl::Status prepared = PrepareOutput(request.output); !prepared.ok()) return Fail(prepared);
  const absl::StatusOr<AttachReport> report = Begin(&*target, request);
  if (!report.ok()) return Fail(report.status());
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - start);
  std::string text = Cat("Recording process ", request.pid, " to ", report->log, ", after ",
                         took.count(), " ms.\n");
  if (request.seconds == 0)
    Append(text, "'memprof detach ", request.pid, "' ends it.\n");
  if (!WriteOut(text)) return kExitFailed;
  return request.seconds == 0 ? kExitFine : WaitForEnd(&*target, request);
}

int DetachVerb(int argc, char** argv) {
  pid_t pid = 0;
  Options options("detach PID",
                  "Ends the recording that 'memprof attach' began. The program goes on as before; "
                  "the recorder stays loaded, and does nothing.");
  options.Example("memprof detach 4711", "End the recording of process 4711.");
  if (const int status = ParseOrExit(options, "detach", argc, argv); status >= 0) return status;
  if (!ReadPid(options, &pid)) return UsageError("detach", "give the id of one process");
  absl::StatusOr<Target> target = Target::Open(pid);
  if (!target.ok()) return Fail(target.status());
  const absl::StatusOr<AttachReport> report = End(&*target);
  if (!report.ok()) return Fail(report.status());
  return WriteOut(Cat("The log of process ", pid, " is ", report->log, ".\n")) ? kExitFine
                                                                               : kExitFailed;
}

}  // namespace memprof::cli
