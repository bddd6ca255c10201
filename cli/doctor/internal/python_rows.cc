// The Python of PATH, and the PyTorch that it would import.
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/doctor/internal/rows.h"
#include "cli/run/loadable.h"
#include "cli/run/sim.h"

namespace memprof::cli::doctor {
namespace {

// Only Python itself knows its folders: wrappers, virtual environments, .pth files.
constexpr char kQuestion[] =
    "import sys; sys.stdout.write('\\n'.join([sys.version.split()[0], sys.executable] + sys.path))";

// The value of `name` in "name = 'value'" or "name: type = 'value'"; "" if there is none, or None.
std::string ValueOf(const std::string& text, const std::string& name) {
  for (const auto line : absl::StrSplit(text, '\n')) {
    const std::pair<std::string, std::string> sides = absl::StrSplit(line, absl::MaxSplits('=', 1));
    const std::pair<std::string, std::string> left =
        absl::StrSplit(sides.first, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(left.first) != name) continue;
    const std::string value(absl::StripAsciiWhitespace(sides.second));
    if (value.size() < 2 || (value[0] != '\'' && value[0] != '"')) return "";
    return value.substr(1, value.find(value[0], 1) - 1);
  }
  return "";
}

std::string FirstPython(const Machine& machine, const std::string& named) {
  const std::string search = machine.SearchPath();
  if (!named.empty()) return FindProgram(named, search);
  const std::string python3 = FindProgram("python3", search);
  return python3.empty() ? FindProgram("python", search) : python3;
}

}  // namespace

Python FindPython(const Machine& machine, const Installation& installation,
                  const std::string& named) {
  Python python;
  python.row.subject = "Python";
  const auto says = [&python](State state, const std::string& found, const std::string& remedy) {
    python.row = {python.row.subject, state, found, remedy};
    return python;
  };
  const std::string path = machine.Without(FirstPython(machine, named));
  if (path.empty())
    return says(State::kNote, named.empty() ? "none on PATH" : named + " is no program",
                "name one with --python, if programs here use it");
  const Started started = machine.start({path, "-c", kQuestion}, {});
  const std::vector<std::string> lines = absl::StrSplit(started.out, '\n');
  if (!started.ended || started.status != 0 || lines.size() < 3)
    return says(State::kNote,
                absl::StrCat(path, started.ended ? " failed: " : " did not end",
                             started.err.substr(0, started.err.find('\n'))),
                "name another one with --python");
  for (std::size_t i = 2; i < lines.size(); ++i)
    if (absl::StartsWith(lines[i], "/")) python.folders.push_back(lines[i]);
  const Loadable loadable =
      CheckLoadable(machine.At(installation.recorder), {machine.At(lines[1])}, "");
  if (!loadable.recorded())
    return says(State::kNote, machine.Without(loadable.why), loadable.remedy);
  return says(State::kOk, absl::StrCat(lines[0], " (", lines[1], ")"), "");
}

Row TorchRow(const Machine& machine, const Python& python) {
  const std::string subject = "PyTorch";
  for (const std::string& folder : python.folders) {
    const std::string text = machine.Read(folder + "/torch/version.py");
    const std::string version = ValueOf(text, "__version__");
    if (version.empty()) continue;
    const std::string cuda = ValueOf(text, "cuda"), hip = ValueOf(text, "hip");
    const std::string found = absl::StrCat(version, " in ", folder);
    if (!cuda.empty())
      return {subject, State::kOk, absl::StrCat(version, " for CUDA ", cuda, ", in ", folder), ""};
    return {subject, State::kNote,
            absl::StrCat(found, hip.empty() ? ", built without CUDA" : ", built for ROCm"),
            "memprof records CUDA: install a build of PyTorch for it"};
  }
  return {subject, State::kOk, "none that this Python finds", ""};
}

}  // namespace memprof::cli::doctor
