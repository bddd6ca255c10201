// Finds the Python or the binary, and calls scripts/torch-sim.
#include "cli/run/sim.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "cli/run/internal/launchers.h"
#include "simcuda/common/gpu_model.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

bool IsExecutable(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string FindProgram(const std::string& word, const std::string& search_path) {
  if (word.find('/') != std::string::npos) return IsExecutable(word) ? word : "";
  for (const absl::string_view folder : absl::StrSplit(search_path, ':')) {
    const std::string path = absl::StrCat(folder.empty() ? "." : folder, "/", word);
    if (IsExecutable(path)) return path;
  }
  return "";
}

namespace {

// "python", "python3", "python3.11", "pypy3": not "python-config".
bool IsPythonName(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  if (!absl::StartsWith(name, "python")) return false;
  return name.find_first_not_of("0123456789.t", std::strlen("python")) == std::string::npos;
}

// The interpreter of a script that Python runs; "" for other files.
std::string InterpreterOf(const std::string& script, const std::string& search_path) {
  std::ifstream file(script, std::ios::binary);
  std::string first(512, '\0'), second;
  file.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(file.gcount()));
  const std::vector<std::string> lines = absl::StrSplit(first, absl::MaxSplits('\n', 2));
  if (!absl::StartsWith(lines[0], "#!")) return "";
  std::string line = lines[0].substr(2);
  // If the path is too long for the kernel, installers start Python by a shell.
  constexpr absl::string_view kByShell = "'''exec' ";
  if (lines.size() > 1 && absl::StartsWith(lines[1], kByShell))
    line = lines[1].substr(kByShell.size());
  line.erase(std::remove(line.begin(), line.end(), '"'), line.end());
  for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty()))
    if (IsPythonName(std::string(word))) return FindProgram(std::string(word), search_path);
  return "";
}

// The program's standard output; it must exit with success.
absl::StatusOr<std::string> OutputOf(const std::vector<std::string>& arguments,
                                     const std::string& standin, bool quiet = false) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::InternalError(std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) return absl::InternalError(std::strerror(errno));
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    if (quiet) dup2(ends[1], STDERR_FILENO);
    if (!standin.empty()) setenv("MEMPROF_SIMCUDA_DIR", standin.c_str(), 1);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  std::string output;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(ends[0], buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    output.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return absl::FailedPreconditionError(absl::StrCat(arguments[0], " failed"));
  return output;
}

bool IsBinary(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char start[4] = {};
  file.read(start, sizeof start);
  return file && std::memcmp(start,
                             "\x7f"
                             "ELF",
                             sizeof start) == 0;
}

// Whether the text names a library, by its soname, for which scripts/torch-sim has a stand-in.
bool NamesLibraryIn(absl::string_view text) {
  static constexpr absl::string_view kStems[] = {
      "libcublas", "libcublasLt", "libcudnn",        "libcufft",     "libcufftw",
      "libcurand", "libcusolver", "libcusolverMg",   "libcusparse",  "libcusparseLt",
      "libnccl",   "libnvrtc",    "libnvshmem_host", "libnvJitLink", "libcufile"};
  for (const absl::string_view stem : kStems) {
    const std::string name = absl::StrCat(stem, ".so.");
    if (absl::StrContains(text, name)) return true;
  }
  return false;
}

absl::StatusOr<std::map<std::string, std::string>> EnvironmentFrom(
    const std::vector<std::string>& arguments, const std::string& standin,
    const std::string& what) {
  const absl::StatusOr<std::string> output = OutputOf(arguments, standin);
  if (!output.ok())
    return absl::FailedPreconditionError(
        absl::StrCat("no stand-ins for what ", what, " links against: see the line above"));
  return ParseEnvironment(*output);
}

// Where the stand-in stores data that processes share: simcuda/driver/shared_devices.cc.
std::vector<std::string> PlacesOf(const std::string& group) {
  const std::string object = absl::StrCat("/simcuda.", geteuid(), ".", group);
  const char* folder = getenv("TMPDIR");
  return {absl::StrCat("/dev/shm", object),
          absl::StrCat(folder != nullptr && folder[0] == '/' ? folder : "/tmp", object)};
}

}  // namespace

std::string PythonOf(const std::vector<std::string>& arguments, const std::string& search_path) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (IsPythonName(arguments[i])) return FindProgram(arguments[i], search_path);
    const std::string path = FindProgram(arguments[i], search_path);
    if (!path.empty())
      if (const std::string python = InterpreterOf(path, search_path); !python.empty())
        return python;
    // The options of a launcher do not look like a Python.
    if (!IsLauncher(arguments[0])) return "";
  }
  return "";
}

std::string FindTorchSim(const std::string& program_directory) {
  for (const char* place : {"../../scripts/torch-sim", "../share/memprof/scripts/torch-sim"}) {
    std::error_code error;
    const fs::path path = fs::weakly_canonical(fs::path(program_directory) / place, error);
    if (!error && IsExecutable(path.string())) return path.string();
  }
  return "";
}

std::map<std::string, std::string> ParseEnvironment(const std::string& output) {
  std::map<std::string, std::string> environment;
  for (const absl::string_view entry : absl::StrSplit(output, '\0', absl::SkipEmpty())) {
    const std::size_t sign = entry.find('=');
    if (sign != absl::string_view::npos && sign > 0)
      environment[std::string(entry.substr(0, sign))] = std::string(entry.substr(sign + 1));
  }
  return environment;
}

absl::StatusOr<std::map<std::string, std::string>> EnvironmentForPython(
    const std::string& torch_sim, const std::string& python, const std::string& standin) {
  return EnvironmentFrom({torch_sim, "--python", python, "--environment"}, standin, python);
}

absl::StatusOr<std::map<std::string, std::string>> EnvironmentForBinaries(
    const std::string& torch_sim, const std::vector<std::string>& binaries,
    const std::string& standin) {
  std::vector<std::string> arguments = {torch_sim, "--environment"};
  for (const std::string& binary : binaries) {
    arguments.push_back("--program");
    arguments.push_back(binary);
  }
  return EnvironmentFrom(arguments, standin, binaries[0]);
}

std::vector<std::string> BinariesOf(const std::vector<std::string>& arguments,
                                    const std::string& search_path) {
  std::vector<std::string> binaries;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (i > 0 && arguments[i].find('/') == std::string::npos) continue;
    const std::string path = FindProgram(arguments[i], search_path);
    if (path.empty() || !IsBinary(path)) continue;
    std::error_code error;
    binaries.push_back(fs::absolute(path, error).string());
  }
  return binaries;
}

bool NamesCudaLibraries(const std::string& binary) {
  std::ifstream file(binary, std::ios::binary);
  // In pieces, each with the end of the previous one.
  constexpr std::size_t kOverlap = 64;
  std::string piece;
  std::string buffer(std::size_t{1} << 20, '\0');
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    piece.append(buffer, 0, static_cast<std::size_t>(file.gcount()));
    if (NamesLibraryIn(piece)) return true;
    if (piece.size() > kOverlap) piece.erase(0, piece.size() - kOverlap);
  }
  // The loader's own list of the libraries that it would load. Runs no code of the program.
  const std::string path = FindProgram("ldd", "/usr/bin:/bin");
  if (path.empty()) return false;
  const absl::StatusOr<std::string> loaded = OutputOf({path, binary}, "", true);
  return loaded.ok() && NamesLibraryIn(*loaded);
}

std::string WhyNoGpuModel(const std::string& spec) {
  for (const absl::string_view item : absl::StrSplit(spec, ',')) {
    constexpr absl::string_view kKey = "gpu=";
    if (!absl::StartsWith(item, kKey)) continue;
    const absl::string_view key = item.substr(kKey.size());
    if (simcuda::FindGpuModel({key.data(), key.size()}) == nullptr)
      return absl::StrCat("there is no GPU model ", key, "; there are ", simcuda::GpuModelKeys());
  }
  return "";
}

std::string NameOfSharedDevices() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return absl::StrCat("memprof-run.", getpid(), ".", absl::Hex(now.tv_sec), absl::Hex(now.tv_nsec));
}

GroupRemains ClearSharedDevices(const std::string& name) {
  GroupRemains remains;
  for (const std::string& place : PlacesOf(name)) {
    unlink(place.c_str());
    if (unlink(absl::StrCat(place, ".static").c_str()) == 0) remains.static_runtime = true;
  }
  return remains;
}

}  // namespace memprof::cli
