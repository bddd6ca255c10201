#include "cli/run/internal/environment.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/run/run.h"
#include "cli/run/sim.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

std::string ProgramDirectory() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

void SetNumber(const char* name, std::int64_t value) {
  if (value >= 0) setenv(name, absl::StrCat(value).c_str(), 1);
}

// The variables by which the program finds stand-ins of the libraries that it, or the PyTorch or
// CuPy of its Python, links against.
absl::StatusOr<std::map<std::string, std::string>> EnvironmentOfLibraries(
    const std::string& torch_sim, const std::vector<std::string>& program,
    const std::string& standin) {
  const char* path = getenv("PATH");
  const std::string search = path == nullptr ? "" : path;
  const std::string python = PythonOf(program, search);
  if (!python.empty()) return EnvironmentForPython(torch_sim, python, standin);
  std::vector<std::string> binaries;
  for (const std::string& binary : BinariesOf(program, search))
    if (NamesCudaLibraries(binary)) binaries.push_back(binary);
  if (binaries.empty()) return std::map<std::string, std::string>();
  return EnvironmentForBinaries(torch_sim, binaries, standin);
}

// Sets what the program needs to run on the stand-in.
absl::Status SetStandIn(const RunOptions& options, const std::string& shared_devices,
                        const std::string& directory, const std::vector<std::string>& program) {
  const absl::StatusOr<std::string> standin = FindStandIn(directory);
  if (!standin.ok()) return standin.status();
  setenv("LD_LIBRARY_PATH", Prepend(*standin, getenv("LD_LIBRARY_PATH")).c_str(), 1);
  // SIMCUDA_DEFAULTS is set: scripts/torch-sim has run, and called this program.
  const std::string torch_sim = FindTorchSim(directory);
  if (getenv("SIMCUDA_DEFAULTS") == nullptr && !torch_sim.empty()) {
    const auto environment = EnvironmentOfLibraries(torch_sim, program, *standin);
    if (!environment.ok()) return environment.status();
    for (const auto& [name, value] : *environment) setenv(name.c_str(), value.c_str(), 1);
  }
  if (options.sim != kNoSpec) setenv("SIMCUDA", options.sim.c_str(), 1);
  // SIMCUDA overrides this default: all processes of this run share its devices.
  const char* defaults = getenv("SIMCUDA_DEFAULTS");
  setenv("SIMCUDA_DEFAULTS",
         absl::StrCat(defaults == nullptr ? "" : defaults, ",shared=", shared_devices).c_str(), 1);
  return absl::OkStatus();
}

// Sets what brings the agent into every Python that the program starts.
absl::Status SetAgent(const std::string& directory, bool holders) {
  const absl::StatusOr<std::string> agent = FindAgent(directory);
  if (!agent.ok()) return agent.status();
  if (agent->find(':') != std::string::npos)
    return absl::FailedPreconditionError(
        absl::StrCat("Python cannot search a folder whose path has a colon: ", *agent));
  setenv("PYTHONPATH", Prepend(*agent, getenv("PYTHONPATH")).c_str(), 1);
  setenv("MEMPROF_AGENT", "torch", 1);
  if (holders)
    setenv("MEMPROF_HOLDERS", absl::StrCat(*agent, "/../libmemprof_holders.so").c_str(), 1);
  return absl::OkStatus();
}

// The runtime of AddressSanitizer stops a program in which another library is loaded before it. It
// need not be the first: of its functions the recorder has none.
void LetSanitizerComeSecond() {
  static constexpr char kOptions[] = "ASAN_OPTIONS", kOrder[] = "verify_asan_link_order";
  const char* before = getenv(kOptions);
  const std::string options = before == nullptr ? "" : before;
  if (absl::StrContains(options, kOrder)) return;
  setenv(kOptions, absl::StrCat(options, options.empty() ? "" : ":", kOrder, "=0").c_str(), 1);
}

// The list of libraries without the recorder, which an outer memprof run may have put there.
std::string Without(const std::string& recorder, const char* list) {
  std::vector<std::string> libraries =
      absl::StrSplit(list == nullptr ? "" : list, absl::ByAnyChar(": "), absl::SkipEmpty());
  libraries.erase(std::remove(libraries.begin(), libraries.end(), recorder), libraries.end());
  return absl::StrJoin(libraries, ":");
}

}  // namespace

absl::Status SetEnvironment(const RunOptions& options, const std::string& shared_devices,
                            const std::vector<std::string>& program, bool preload) {
  const std::string directory = ProgramDirectory();
  const absl::StatusOr<std::string> recorder = FindRecorder(directory);
  if (!recorder.ok()) return recorder.status();
  if (recorder->find_first_of(" :") != std::string::npos)
    return absl::FailedPreconditionError(absl::StrCat(
        "the loader cannot preload a library whose path has a space or a colon: ", *recorder));
  if (!options.sim.empty()) {
    const absl::Status status = SetStandIn(options, shared_devices, directory, program);
    if (!status.ok()) return status;
  }
  const std::string others = Without(*recorder, getenv("LD_PRELOAD"));
  setenv("LD_PRELOAD", preload ? Prepend(*recorder, others.c_str()).c_str() : others.c_str(), 1);
  if (!preload && others.empty()) unsetenv("LD_PRELOAD");
  if (preload) LetSanitizerComeSecond();
  setenv("MEMPROF_OUTPUT", options.output.c_str(), 1);
  if (options.torch || options.holders) {
    if (const absl::Status status = SetAgent(directory, options.holders); !status.ok())
      return status;
  }
  if (!options.watcher.alert.empty()) setenv("MEMPROF_WRITE_MS", kWriteMsForAlerts, 0);
  if (options.cupti) setenv("MEMPROF_CUPTI", "1", 1);
  if (options.start_paused) setenv("MEMPROF_START", "paused", 1);
  if (!options.always_on.empty()) setenv("MEMPROF_ALWAYS_ON", options.always_on.c_str(), 1);
  if (options.scan) setenv("MEMPROF_SCAN", "1", 1);
  if (options.verbose) setenv("MEMPROF_VERBOSE", "1", 1);
  if (!options.signal.empty()) setenv("MEMPROF_SIGNAL", options.signal.c_str(), 1);
  if (!options.source.empty()) setenv("MEMPROF_SOURCE", options.source.c_str(), 1);
  SetNumber("MEMPROF_STACK_DEPTH", options.stack_depth);
  SetNumber("MEMPROF_RING_EVENTS", options.ring_events);
  SetNumber("MEMPROF_MEMORY_MIB", options.memory_mib);
  return absl::OkStatus();
}

absl::StatusOr<Loadable> CanRecord(const RunOptions& options,
                                   const std::vector<std::string>& program) {
  const absl::StatusOr<std::string> recorder = FindRecorder(ProgramDirectory());
  if (!recorder.ok()) return recorder.status();
  const char* path = getenv("PATH");
  Loadable loadable = CheckLoadable(*recorder, program, path == nullptr ? "" : path);
  if (!loadable.recorded() && options.unrecorded == "stop")
    return absl::FailedPreconditionError(
        absl::StrCat(loadable.why, ": it was not started; ", loadable.remedy));
  return loadable;
}

}  // namespace memprof::cli
