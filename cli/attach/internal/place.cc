#include "cli/attach/internal/place.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_replace.h"
#include "cli/console/text.h"
#include "cli/run/run.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;
constexpr char kLog[] = "log.mprof", kPython[] = "python";

std::string SelfFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().string();
}

// The recorder, and what it loads from its own folder.
absl::Status CopyLibraries(const std::string& library, ProgramFolder* folder) {
  const std::string cupti = (fs::path(library).parent_path() / "libmemprof_cupti.so").string();
  if (absl::Status copied = folder->CopyFile(library, "libmemprof.so"); !copied.ok()) return copied;
  return access(cupti.c_str(), R_OK) == 0 ? folder->CopyFile(cupti, "libmemprof_cupti.so")
                                          : absl::OkStatus();
}

// Whether the program can make a log there: another user cannot, nor one who sees another folder.
bool MayWrite(pid_t pid, const std::string& log) {
  return UserOf(pid) == geteuid() && SeesSameFile(pid, fs::path(log).parent_path().string());
}

absl::Status Fill(const Target& target, bool python, Place* place) {
  ProgramFolder* folder = &*place->folder;
  if (target.recorder().empty()) {
    if (absl::Status copied = CopyLibraries(place->library, folder); !copied.ok()) return copied;
    place->library = folder->path() + "/libmemprof.so";
  }
  if (python) {
    if (absl::Status copied = folder->CopyPython(place->python, kPython); !copied.ok())
      return copied;
    place->python = Cat(folder->path(), "/", kPython);
  }
  if (!MayWrite(target.task(), place->log)) place->log = Cat(folder->path(), "/", kLog);
  return folder->HandOver();
}

}  // namespace

absl::StatusOr<Place> MakePlace(const Target& target, const std::string& output, bool python) {
  Place place;
  const absl::StatusOr<std::string> library = FindRecorder(SelfFolder());
  if (!library.ok()) return library.status();
  if (absl::Status loadable = target.CheckLibrary(*library); !loadable.ok()) return loadable;
  place.library = target.recorder().empty() ? *library : target.recorder();
  place.log = output;
  if (python) {
    const absl::StatusOr<std::string> agent = FindAgent(SelfFolder());
    if (!agent.ok()) return agent.status();
    place.python = (fs::path(*agent).parent_path() / kPython).string();
  }
  if (SeesSameFile(target.task(), *library) && MayWrite(target.task(), output)) return place;
  // The name of before, so that the folder can be found by the path of the recorder too.
  absl::StatusOr<ProgramFolder> folder = ProgramFolder::Make(
      target.task(), fs::path(target.recorder()).parent_path().filename().string());
  if (!folder.ok()) return folder.status();
  place.folder.emplace(*std::move(folder));
  if (absl::Status filled = Fill(target, python, &place); !filled.ok()) {
    place.folder->Remove();
    return filled;
  }
  return place;
}

absl::Status LeavePlace(ProgramFolder folder, const std::string& log, const std::string& output) {
  const fs::path path(log);
  absl::Status brought = absl::OkStatus();
  if (path.parent_path() == folder.path())
    brought = folder.BringHome(path.filename().string(), output);
  if (brought.ok()) folder.Remove();
  return brought;
}

std::string NameOfLog(const std::string& output, pid_t pid) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return absl::StrReplaceAll(output, {{"%p", std::to_string(pid)}, {"%h", host}, {"%%", "%%"}});
}

}  // namespace memprof::cli
