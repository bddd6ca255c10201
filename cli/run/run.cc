// Starts the program, waits, and reports where the log is.
#include "cli/run/run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/log/ring_fold.h"
#include "cli/console/options.h"
#include "cli/run/internal/environment.h"
#include "cli/run/internal/recorded.h"
#include "cli/run/log_names.h"
#include "cli/run/own_logs.h"
#include "cli/run/rings.h"
#include "cli/run/sim.h"
#include "cli/run/sources.h"
#include "cli/run/upload.h"
#include "cli/run/watcher.h"
#include "proto/always_on.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

// How long the watching of a program that has ended delays the exit.
constexpr std::int64_t kMostWatchS = 10;

// Options whose value is the next argument if they have no "=".
constexpr std::string_view kWithValue[] = {
    "-o",        "--output", "--stack-depth", "--ring-events", "--memory",
    "--source",  "--signal", "--unrecorded",  "--upload",      "--upload-limit",
    "--metrics", "--alert",  "--alert-above", "--alert-after", "--always-on"};

Options Describe(RunOptions* values) {
  Options options(
      "run [OPTION...] [--] PROGRAM [ARGUMENT...]",
      "Runs PROGRAM and records every device allocation that it and its child processes make. A "
      "process that uses no GPU writes no log (a launcher that counts them, a data loader); every "
      "other one writes its own. The exit status "
      "is the program's, 128 + N if signal N ended it, 127 if it was not found. An existing log at "
      "the place of the new one is replaced; any other file is not.");
  options.Text("output", &values->output, "LOG",
               "Where to write; %p stands for the process id, %h for the host, %j for the job and "
               "%r for the rank, as Slurm, torchrun, MPI, Kubernetes and Ray name them: "
               "'logs/%j/%r.%h.mprof'. Folders whose names have such letters are made. Default: "
               "memprof.%p.mprof. When several processes would write to the same file, the later "
               "ones insert their process id before the extension.",
               'o');
  options.Text(
      "sim", &values->sim, "SPEC",
      "Run on the stand-in CUDA, without a GPU. SPEC may be left out (an H100 of 80 GB), or be "
      "for instance gpu=A100-40GB or devices=2,memory=24GiB. For libraries such as cuBLAS that "
      "PROGRAM, or its Python's PyTorch or CuPy, links against, stand-ins are compiled first, "
      "once. Allocation is real, values are not: kernels do nothing. All processes of the run "
      "share the devices. What holds and what does not: docs/torch-sim.md.");
  options.Flag(
      "torch", &values->torch,
      "Record more of PyTorch, by its own hooks and without a change of the program: paths of "
      "modules, forward and backward; names of parameters, gradients and optimizer state; "
      "where steps begin. Costs a step some 40 us a module on the CPU: docs/torch-agent.md. A "
      "Python that ignores its environment (-E, -I) stays as it is.");
  options.Flag(
      "holders", &values->holders,
      "Also look which variables keep the memory of PyTorch's tensors alive (lists, attributes, "
      "closures, graphs of autograd), for leaks and report to name them. Implies --torch. Looks at "
      "steps 4, 8, 16 and so on, when memory runs out, at snapshots and at exit; a look stops "
      "Python for some 0.2 s for each million objects: docs/holders.md.");
  options.Flag("cupti", &values->cupti,
               "Load the CUPTI source too: kernel launches, copies, memsets.");
  options.Text("source", &values->source, "SOURCES",
               "Who reports allocations: driver (the default), cupti, or driver,cupti.");
  options.Integer("stack-depth", &values->stack_depth, "N",
                  "Frames kept of each call stack, 0 to 512. Default: 64.");
  options.Integer("ring-events", &values->ring_events, "N",
                  "Events that the buffers between program and log hold. Default: 1048576.");
  options.Integer("memory", &values->memory_mib, "MIB",
                  "The most that the recorder may hold in each process; beyond it, call stacks, "
                  "names and threads are left out and counted. Default: 256.");
  options.Flag("start-paused", &values->start_paused,
               "Record nothing until the program calls memprof_start(), or --signal comes.");
  options.Text(
      "signal", &values->signal, "NAME",
      "A signal to the program (HUP, USR1, USR2, WINCH) begins, stops and resumes recording.");
  options.Text("always-on", &values->always_on, "BUDGET",
               "Write at most that, such as 10MB/day, for as long as the program runs: failures, "
               "what lives on and some steps are kept whole, the rest is drawn. See "
               "docs/always-on.md. 10MB/day,keep=30 keeps 30 earlier days; default: 7.");
  options.Flag("scan", &values->scan,
               "When the program exits, look through its host memory for pointers to what "
               "cudaMalloc returned, to prove leaks, and to say which variable holds the rest; "
               "about a second for 1 GiB.");
  options.Flag("sources", &values->sources,
               "When the program has ended, keep in its logs the text of its own source files that "
               "call sites name (no system's or packages' files, none changed since the start; at "
               "most 1 MiB each, 32 MiB a log), to show memory by line where they are not.");
  options.Choice(
      "unrecorded", &values->unrecorded, {"start", "stop"},
      "With a PROGRAM that cannot be recorded (static, musl, an old glibc, set-uid): start it all "
      "the same (the default), or stop with status 1.");
  options.Text(
      "upload", &values->upload, "URI",
      "When the program has ended, copy its logs there: a folder, or s3://bucket/folder and "
      "what else Python's fsspec knows. Waits at most --upload-limit for that, then it goes "
      "on in the background; the logs stay where they are too.");
  options.Integer("upload-limit", &values->upload_limit_s, "SECONDS",
                  "The longest that --upload delays the exit. Default: 30.");
  values->watcher.AddTo(&options);
  options.Flag("verbose", &values->verbose, "Let the recorder print what it does.");
  options.Example("memprof run -o train.mprof -- python train.py", "record a training script");
  options.Example("memprof run --torch -o train.mprof -- python train.py",
                  "with module paths and tensor names of PyTorch");
  options.Example("memprof run --always-on=10MB/day -o serve.mprof -- python serve.py",
                  "in production, for months");
  options.Example("memprof run --sim=memory=8GiB -- ./my_program", "without a GPU");
  options.Example("memprof run --sim=gpu=A100-40GB -- python train.py",
                  "would it fit on that GPU?");
  options.Example("memprof run --alert 'notify-send \"$MEMPROF_ALERT_TEXT\"' -- python train.py",
                  "tell of leaks while it runs");
  options.Example("memprof run -o 'rank.%p.mprof' -- torchrun --nproc-per-node=8 train.py",
                  "one log per worker");
  options.Example("srun memprof run -o '/scratch/%j/%r.%h.mprof' --upload s3://logs -- ./train",
                  "the ranks of a job of Slurm: docs/fleet-collect.md");
  return options;
}

int RunError(const absl::Status& status) {
  std::cerr << "memprof run: " << status.message() << "\n";
  return 1;
}

volatile sig_atomic_t g_child = 0;

void PassOn(int signal_number) {
  if (g_child > 0) kill(g_child, signal_number);
}

// Ctrl-C and Ctrl-\ reach the program from the terminal; signals that are sent to this process only
// are passed on.
void HandleSignals() {
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  struct sigaction action {};
  action.sa_handler = PassOn;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaction(number, &action, nullptr);
}

// The program's wait status, or the errno of a failed start.
struct Outcome {
  int wait_status = 0;
  int start_error = 0;
};

Outcome StartAndWait(char** program) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return {0, errno};
  const pid_t child = fork();
  if (child < 0) return {0, errno};
  if (child == 0) {
    execvp(program[0], program);
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(report[1], &error, sizeof error);
    _exit(127);
  }
  g_child = child;
  HandleSignals();
  close(report[1]);
  Outcome outcome;
  if (read(report[0], &outcome.start_error, sizeof outcome.start_error) !=
      sizeof outcome.start_error)
    outcome.start_error = 0;
  close(report[0]);
  while (waitpid(child, &outcome.wait_status, 0) < 0 && errno == EINTR) continue;
  return outcome;
}

// That no GPU was used is said only where all is over, and no recorder has failed.
void PrintLogPath(const RunOptions& options, bool can_record, const std::vector<std::string>& logs,
                  const RunList& list) {
  if (logs.empty() && !can_record) return;  // the reason was already printed
  if (!logs.empty())
    std::cerr << "memprof: " << RecordedText(logs, options.output, RanksOfJob()) << "\n";
  else if (list.HasFailures())
    std::cerr << "memprof: no log was written, for the reason above\n";
  else if (const pid_t left = list.ProcessLeft(); left != 0)
    std::cerr << "memprof: no log was written so far; process " << left
              << ", which the program started, still runs\n";
  else if (options.start_paused)
    std::cerr << "memprof: no log was written: the program used no GPU, or never called "
                 "memprof_start()\n";
  else
    std::cerr << "memprof: the program used no GPU; no log was written\n";
}

// Programs that a shell starts are not known in advance: their PyTorch may lack libraries, or find
// no GPU.
void PrintTorchHint(const RunOptions& options, const char* program, bool went_well) {
  if (options.sim.empty() || went_well) return;
  const std::string name = fs::path(program).filename().string();
  for (const std::string_view shell : {"sh", "bash", "dash", "zsh", "make", "srun", "mpirun"})
    if (name == shell)
      std::cerr << "memprof: if " << name
                << " started a PyTorch: name its Python to memprof run, or "
                << "run all of this by scripts/torch-sim --python PYTHON\n";
}

std::int64_t UnixNs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);  // the clock of file times
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// As the recorder will read it.
log::AlwaysOnBudget BudgetOf(const RunOptions& options) {
  const char* text = getenv("MEMPROF_ALWAYS_ON");
  if (!options.always_on.empty()) text = options.always_on.c_str();
  log::AlwaysOnBudget budget;
  return text != nullptr && log::ParseAlwaysOn(text, &budget) ? budget : log::AlwaysOnBudget();
}

// Checks the program and makes place for the log. Says in one line that the program runs
// unrecorded.
absl::StatusOr<Loadable> Prepare(const std::vector<std::string>& program, RunOptions* options) {
  const absl::StatusOr<Loadable> loadable = CanRecord(*options, program);
  if (!loadable.ok()) return loadable;
  options->output = fs::absolute(options->output).string();
  if (const absl::Status status = PrepareOutput(options->output, BudgetOf(*options)); !status.ok())
    return status;
  if (!loadable->recorded())
    std::cerr << "memprof: " << loadable->why << ": it runs, but is not recorded; "
              << loadable->remedy << "\n";
  return loadable;
}

// Runs the program, and returns the status of RunVerb.
int Record(const RunOptions& values, char** argv, const Loadable& loadable,
           const std::vector<std::string>& started, WatcherProcess* watcher) {
  const bool by_torch_sim = getenv("SIMCUDA_DEFAULTS") != nullptr;
  const std::string shared_devices = NameOfSharedDevices();
  if (const absl::Status status =
          SetEnvironment(values, shared_devices, started, loadable.preloads);
      !status.ok())
    return RunError(status);
  const std::int64_t since_unix_ns = UnixNs();
  analysis::RemoveOrphanedRings(SharedDirectory(), since_unix_ns);
  const RunList list(SharedDirectory());
  setenv("MEMPROF_RUN", list.path().c_str(), 1);
  watcher->Watch(list.path());
  const Outcome outcome = StartAndWait(argv);
  if (outcome.start_error != 0) {
    std::cerr << "memprof run: " << argv[0] << ": " << std::strerror(outcome.start_error) << "\n";
    return outcome.start_error == ENOENT ? 127 : 126;
  }
  const std::vector<std::string> logs = OwnLogs(values.output, since_unix_ns, list);
  FoldRings(logs);
  for (const std::string& log : logs) watcher->Watch(log);
  watcher->Close();
  if (values.sources)
    KeepSources(logs, since_unix_ns);
  else
    KeepGeneratedLines(logs);
  const GroupRemains remains =
      values.sim.empty() ? GroupRemains() : ClearSharedDevices(shared_devices);
  // The stand-in has already printed the reason.
  if (!logs.empty() || !remains.static_runtime)
    PrintLogPath(values, loadable.recorded(), logs, list);
  if (!values.upload.empty())
    UploadLogs(logs, FixedFolder(values.output), values.upload, values.upload_limit_s);
  watcher->Await(kMostWatchS);
  if (!by_torch_sim) PrintTorchHint(values, argv[0], outcome.wait_status == 0 && !logs.empty());
  return WIFSIGNALED(outcome.wait_status) ? 128 + WTERMSIG(outcome.wait_status)
                                          : WEXITSTATUS(outcome.wait_status);
}

}  // namespace

int ProgramIndex(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--") return i + 1;
    if (argument.size() < 2 || argument[0] != '-') return i;
    for (const std::string_view option : kWithValue) i += argument == option;
  }
  return argc;
}

int RunVerb(int argc, char** argv) {
  RunOptions values;
  Options options = Describe(&values);
  const int program = ProgramIndex(argc, argv);
  std::vector<std::string> words(argv, argv + std::min(program, argc));
  if (words.size() > 1 && words.back() == "--") words.pop_back();
  std::vector<char*> own;
  for (std::string& word : words) {
    if (word == "--sim") word = absl::StrCat("--sim=", kNoSpec);
    own.push_back(word.data());
  }
  own.push_back(nullptr);
  const absl::Status parsed = options.Parse(static_cast<int>(words.size()), own.data());
  if (!parsed.ok()) {
    std::cerr << "memprof run: " << parsed.message() << "\n";
    return 2;
  }
  if (options.help()) {
    std::cout << options.HelpText();
    return 0;
  }
  if (program >= argc) {
    std::cerr << "memprof run: which program? Try: memprof run -- PROGRAM\n";
    return 2;
  }
  if (log::AlwaysOnBudget budget;
      !values.always_on.empty() && !log::ParseAlwaysOn(values.always_on.c_str(), &budget)) {
    std::cerr << "memprof run: --always-on=" << values.always_on
              << " is no budget of at least 64 KiB in a time of at least 1 s, such as 10MB/day\n";
    return 2;
  }
  if (const std::string why = WhyNoGpuModel(values.sim); !why.empty()) {
    std::cerr << "memprof run: --sim: " << why << "\n";
    return 2;
  }
  const std::vector<std::string> started(argv + program, argv + argc);
  const absl::StatusOr<Loadable> loadable = Prepare(started, &values);
  if (!loadable.ok()) return RunError(loadable.status());
  WatcherProcess watcher;
  if (values.watcher.wanted())
    if (const absl::Status status = watcher.Start(values.watcher, true); !status.ok())
      return RunError(status);
  return Record(values, argv + program, *loadable, started, &watcher);
}

}  // namespace memprof::cli
