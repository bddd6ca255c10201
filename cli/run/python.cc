// Starts Python in place of this process.
#include "cli/run/python.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "analysis/base/status_text.h"
#include "cli/console/command_line.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/run/run.h"

namespace memprof::cli {
namespace {

int Fail(std::string_view why) {
  PrintError(why);
  return kExitFailed;
}

}  // namespace

int BecomePython(const std::string& module, const std::vector<std::string>& words) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const absl::StatusOr<std::string> agent = FindAgent(self.parent_path().string());
  if (!agent.ok()) return Fail(analysis::StatusText(agent.status()));
  const std::string folder = (std::filesystem::path(*agent).parent_path() / "python").string();
  if (folder.find(':') != std::string::npos)
    return Fail(Cat("Python cannot search a folder whose path has a colon: ", folder));
  const char* path = getenv("PYTHONPATH");
  setenv("PYTHONPATH",
         path == nullptr || *path == '\0' ? folder.c_str() : Cat(folder, ":", path).c_str(), 1);
  // A folder named memprof where the user happens to be is not ours (Python 3.11 and later).
  setenv("PYTHONSAFEPATH", "1", 1);
  setenv("MEMPROF_COMMAND", self.c_str(), 1);
  const char* named = getenv("MEMPROF_PYTHON");
  std::string python = named == nullptr || *named == '\0' ? "python3" : named;
  std::vector<std::string> all = {python, "-m", module};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return Fail(Cat(python, " cannot be started: ", std::strerror(errno),
                  "; this needs Python 3.9 or later with memprof-gpu[",
                  module == "memprof._mcp" ? "mcp" : "fleet",
                  "] (MEMPROF_PYTHON names another one)"));
}

}  // namespace memprof::cli
