// Follows the words of a command to the programs that they start, and reads these.
#include "cli/run/loadable.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/run/elf_file.h"
#include "cli/run/internal/launchers.h"
#include "cli/run/sim.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxPrograms = 8;  // scripts and launchers, one after another

// The loader ignores preloaded libraries in programs that gain rights at their start.
bool GainsRights(const std::string& path) {
  struct stat status;
  struct statvfs mount;
  if (stat(path.c_str(), &status) != 0) return false;
  // A process that was told to gain none, and its children, do not.
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
  if (statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) return false;
  return ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) ||
         ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 &&
          status.st_gid != getgid()) ||
         (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0);
}

// The loader of the program, which may be a loader itself; "" for a static program.
std::string LoaderOf(const ElfFile& program, const std::string& path) {
  const std::string interpreter = program.Interpreter();
  const std::string name = fs::path(path).filename().string();
  const bool is_loader =
      absl::StartsWith(name, "ld-musl") || (absl::StartsWith(name, "ld") && program.IsLibrary());
  return interpreter.empty() && is_loader ? path : interpreter;
}

Loadable CheckLoader(const ElfFile& recorder, const std::string& path, const std::string& loader) {
  if (absl::StrContains(fs::path(loader).filename().string(), "ld-musl"))
    return {false, absl::StrCat(path, " uses musl, and the recorder needs glibc"),
            "use a build of it for glibc, in an image such as Debian's"};
  const std::string library = LibraryOfLoader(loader, recorder);
  if (library.empty()) return {};
  const ElfFile c_library(library);
  const std::set<std::string> missing = MissingVersions(recorder, c_library);
  if (missing.empty()) return {};
  return {false,
          absl::StrCat(path, " uses glibc ", ReleaseOfGlibc(library), " (", library,
                       "), and the recorder needs ", HighestVersion(missing)),
          "run it in an image with a newer glibc, or build memprof where it runs"};
}

Loadable CheckProgram(const ElfFile& recorder, const std::string& path) {
  const ElfFile program(path);
  if (!program.valid()) return {};
  if (!program.SameMachine(recorder))
    return {true, absl::StrCat(path, " is for another kind of processor than this memprof"),
            "use a memprof that was built for that one"};
  const std::string loader = LoaderOf(program, path);
  // An AppImage only starts the program in it, into which the recorder is preloaded.
  if (loader.empty() && (program.IsLibrary() || program.IsAppImage())) return {};
  if (loader.empty())
    return {true, absl::StrCat(path, " is linked statically, so nothing can be preloaded"),
            "link it dynamically, or name the program that it starts"};
  if (GainsRights(path))
    return {true,
            absl::StrCat(path,
                         " is set-uid, set-gid or has capabilities, where the loader preloads "
                         "nothing"),
            "run memprof as the user whose rights it takes"};
  return CheckLoader(recorder, path, loader);
}

}  // namespace

Loadable CheckLoadable(const std::string& recorder, const std::vector<std::string>& arguments,
                       const std::string& search_path) {
  const ElfFile library(recorder);
  std::vector<std::string> words = arguments;
  for (int i = 0; library.valid() && i < kMaxPrograms && !words.empty(); ++i) {
    const std::string path = FindProgram(words[0], search_path);
    if (path.empty()) return {};
    if (std::vector<std::string> line = InterpreterLine(path); !line.empty()) {
      words = std::move(line);
      continue;
    }
    Loadable loadable = CheckProgram(library, path);
    const Launched launched = LaunchedBy(words);
    // A launcher that cannot be recorded passes the recorder on all the same.
    if (!loadable.preloads || launched.words.empty()) return loadable;
    if (!launched.keeps_preload)
      return {true,
              absl::StrCat(words[0], " clears LD_PRELOAD, so nothing is preloaded into ",
                           launched.words[0]),
              absl::StrCat("put memprof run after ", words[0], " and its options")};
    words = launched.words;
  }
  return {};
}

}  // namespace memprof::cli
