// memprof view: becomes memprof-viewer, whose options it takes.
#include "cli/view/view.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/console/command_line.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

constexpr char kHelp[] =
    R"(Usage: memprof view [OPTION...] [LOG...]

Opens the viewer's window on a log, or on several of one job. A log on another machine
is ssh://[user@]host[:port]/path: memprof there reads it, and this machine draws.

The options are those of memprof-viewer; see 'memprof-viewer --help'.

Options:
  -h, --help              Show this help.

Examples:
  memprof view train.mprof
      Look at a log.
  memprof view ssh://node7/runs/train.mprof
      Look at a log on node7, also while it grows. docs/remote.md says what that needs.
)";

// Beside this program; of a viewer that brings its libraries along, below it; else in PATH.
std::string FindViewer() {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path own = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"memprof-viewer", "../lib/memprof/viewer/memprof-viewer"})
    if (access((own / place).c_str(), X_OK) == 0) return (own / place).string();
  return "memprof-viewer";
}

}  // namespace

int ViewVerb(int argc, char** argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i)
    if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0)
      return WriteOut(kHelp) ? kExitFine : kExitFailed;
  std::string viewer = FindViewer();
  std::vector<char*> arguments = {viewer.data()};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  arguments.push_back(nullptr);
  execvp(viewer.c_str(), arguments.data());
  PrintError(errno == ENOENT
                 ? "memprof-viewer is not installed here: it is a package of its own, and the "
                   "other verbs print the same as text (see 'memprof help')"
                 : Cat(viewer, " cannot be started: ", std::strerror(errno)));
  return kExitFailed;
}

}  // namespace memprof::cli
