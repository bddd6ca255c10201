// The parts of memprof, and whether a program gets the recorder.
#include <unistd.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/doctor/internal/rows.h"
#include "cli/run/elf_file.h"
#include "cli/run/loadable.h"
#include "cli/run/run.h"
#include "cli/run/sim.h"

namespace memprof::cli::doctor {
namespace {

constexpr char kInstallAgain[] = "install all of memprof again";

// The first line, without what is in front of the loader's own message.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

// A small program of the system that prints which files are mapped into it.
const std::vector<std::string> kPrintMaps = {"/bin/cat", "/proc/self/maps"};

std::string NameOfRecorder(const Installation& installation) {
  return std::filesystem::path(installation.recorder).filename().string();
}

Row PartRow(const Machine& machine, const std::string& subject,
            const absl::StatusOr<std::string>& part, const std::string& remedy) {
  if (part.ok()) return {subject, State::kOk, machine.Without(*part), ""};
  return {subject, State::kNote, "not installed", remedy};
}

}  // namespace

Installation FindInstallation(const Machine& machine) {
  const auto recorder = FindRecorder(machine.At(machine.program_directory));
  if (recorder.ok()) return {machine.Without(*recorder), ""};
  return {"", absl::StrCat(recorder.status().message())};
}

Row RecorderRow(const Machine& machine, const Installation& installation) {
  const std::string& path = installation.recorder;
  if (path.empty()) return {"recorder", State::kProblem, installation.why_absent, kInstallAgain};
  const ElfFile file(machine.At(path));
  if (!file.valid()) return {"recorder", State::kProblem, path + " is damaged", kInstallAgain};
  if (file.machine() != (machine.is_arm() ? EM_AARCH64 : EM_X86_64))
    return {"recorder", State::kProblem, path + " is for another kind of processor",
            "install the memprof for this one"};
  if (path.find_first_of(" :") != std::string::npos)
    return {"recorder", State::kProblem,
            absl::StrCat("the loader cannot preload a path with a space or a colon: ", path),
            "install memprof elsewhere"};
  return {"recorder", State::kOk, absl::StrCat(path, ", for glibc ", HighestVersion(file.Needed())),
          ""};
}

Row TrialRow(const Machine& machine, const Installation& installation) {
  const std::string subject = "trial";
  if (installation.recorder.empty() || !machine.Exists(kPrintMaps[0]))
    return {subject, State::kNote, "none: it needs the recorder and /bin/cat",
            "memprof doctor -- PROGRAM checks a program"};
  const std::string recorder = machine.At(installation.recorder);
  const Loadable loadable = CheckLoadable(recorder, {machine.At(kPrintMaps[0])}, "");
  if (!loadable.recorded())
    return {subject, State::kProblem, machine.Without(loadable.why), loadable.remedy};
  const Started trial = machine.start(
      kPrintMaps,
      {{"LD_PRELOAD", Prepend(installation.recorder, machine.Variable("LD_PRELOAD").c_str())}});
  if (!trial.ended)
    return {subject, State::kProblem, "/bin/cat with the recorder in it did not end",
            "report this with the output of memprof doctor"};
  const std::string said = FirstLine(trial.err);
  if (trial.status != 0)
    return {subject, State::kProblem,
            absl::StrCat("/bin/cat with the recorder in it ended with status ", trial.status,
                         said.empty() ? "" : ": ", said),
            "use a memprof for this machine"};
  if (!absl::StrContains(trial.out, NameOfRecorder(installation)))
    return {subject, State::kProblem,
            absl::StrCat("the loader did not preload the recorder into /bin/cat",
                         said.empty() ? "" : ": ", said),
            "preloading is switched off here: see the security rules of the machine"};
  if (!said.empty())
    return {subject, State::kNote, absl::StrCat("/bin/cat ran with the recorder in it: ", said),
            "every recorded program will print this line too"};
  return {subject, State::kOk, "/bin/cat ran with the recorder in it", ""};
}

Row PreloadRow(const Machine& machine) {
  const std::string subject = "preloaded";
  const std::string variable = machine.Variable("LD_PRELOAD");
  const std::vector<std::string> of_all = absl::StrSplit(
      machine.Read("/etc/ld.so.preload"), absl::ByAnyChar(" \t\n:"), absl::SkipEmpty());
  std::string found;
  if (!variable.empty()) found = absl::StrCat("LD_PRELOAD has ", variable);
  if (!of_all.empty())
    absl::StrAppend(&found, found.empty() ? "" : "; ", "/etc/ld.so.preload has ", of_all[0]);
  if (found.empty()) return {subject, State::kOk, "nothing else", ""};
  return {subject, State::kNote, found,
          "the recorder is put before it; if a program fails only with memprof, try without"};
}

Row StandInRow(const Machine& machine) {
  return PartRow(machine, "stand-in CUDA", FindStandIn(machine.At(machine.program_directory)),
                 "memprof run --sim needs it: install all of memprof");
}

Row AgentRow(const Machine& machine) {
  return PartRow(machine, "PyTorch agent", FindAgent(machine.At(machine.program_directory)),
                 "memprof run --torch needs it: install all of memprof");
}

Row ViewerRow(const Machine& machine) {
  const std::string path = machine.program_directory + "/memprof-viewer";
  absl::StatusOr<std::string> viewer = absl::NotFoundError("");
  if (machine.Accessible(path, X_OK)) viewer = machine.At(path);
  return PartRow(machine, "viewer", viewer,
                 "copy logs to a machine that has it, or use memprof export --to html");
}

Row ProgramRow(const Machine& machine, const Installation& installation,
               const std::vector<std::string>& program) {
  const std::string subject = "program";
  const std::string search = machine.SearchPath();
  if (FindProgram(program[0], search).empty())
    return {subject, State::kProblem, absl::StrCat(program[0], " is not found, or no program"),
            "name it by its path"};
  const Loadable loadable = CheckLoadable(machine.At(installation.recorder), program, search);
  if (loadable.recorded())
    return {subject, State::kOk,
            absl::StrCat(program[0], " can be recorded, as far as its files show"), ""};
  return {subject, State::kProblem, machine.Without(loadable.why), loadable.remedy};
}

}  // namespace memprof::cli::doctor
