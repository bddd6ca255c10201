// Which logs processes write, by what they have open. A recorder keeps its log open as long as it
// records.
#include "cli/live/internal/processes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "absl/strings/numbers.h"
#include "cli/console/text.h"
#include "proto/framing.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Parents by process. "4711 (name) S 1 ...", where the name may have any characters.
std::map<pid_t, pid_t> Parents() {
  std::map<pid_t, pid_t> parents;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    pid_t pid = 0, parent = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &pid)) continue;
    const std::string stat = Content(Cat("/proc/", pid, "/stat"));
    const std::size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || name_end + 4 >= stat.size()) continue;
    const std::string rest = stat.substr(name_end + 4);
    if (absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &parent)) parents[pid] = parent;
  }
  return parents;
}

std::vector<pid_t> WithDescendants(pid_t pid) {
  const std::map<pid_t, pid_t> parents = Parents();
  std::vector<pid_t> found = {pid};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const auto& [child, parent] : parents)
      if (parent == found[i] && std::find(found.begin(), found.end(), child) == found.end())
        found.push_back(child);
  return found;
}

// Whether a descriptor is a log that its process writes. Only regular files are opened: opening
// anything else may have an effect.
bool IsWrittenLog(const std::string& process, const std::string& number) {
  struct stat status;
  const std::string link = Cat(process, "/fd/", number);
  if (stat(link.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const std::string info = Content(Cat(process, "/fdinfo/", number));
  const std::size_t flags = info.find("flags:");
  if (flags == std::string::npos) return false;
  const unsigned long mode = std::strtoul(info.c_str() + flags + 6, nullptr, 8);
  if ((mode & O_ACCMODE) == O_RDONLY) return false;
  char magic[sizeof log::kMagic] = {};
  const int fd = open(link.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool read_it = fd >= 0 && pread(fd, magic, sizeof magic, 0) == sizeof magic;
  if (fd >= 0) close(fd);
  return read_it && std::memcmp(magic, log::kMagic, sizeof magic) == 0;
}

bool SameFile(const std::string& a, const std::string& b) {
  struct stat one, other;
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

// The log's path outlives the process, unless the log was removed. In a container, it is one of
// the container.
std::string PathOf(const std::string& process, const std::string& number) {
  const std::string link = Cat(process, "/fd/", number);
  std::error_code error;
  const std::string path = fs::read_symlink(link, error).string();
  if (!error && SameFile(path, link)) return path;
  const std::string inside = Cat(process, "/root", path);
  return !error && SameFile(inside, link) ? inside : link;
}

// Adds the logs of one process.
std::error_code AddLogs(pid_t pid, std::vector<std::string>* logs) {
  const std::string process = Cat("/proc/", pid);
  std::error_code error;
  std::vector<std::string> numbers;
  for (fs::directory_iterator entry(process + "/fd", error), end; !error && entry != end;
       entry.increment(error))
    numbers.push_back(entry->path().filename().string());
  for (const std::string& number : numbers)
    if (IsWrittenLog(process, number)) logs->push_back(PathOf(process, number));
  return error;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> LogsOfProcess(pid_t pid) {
  if (!fs::exists(Cat("/proc/", pid)))
    return absl::NotFoundError(
        Cat("there is no process ", pid, "; name its log, if it was recorded"));
  std::vector<std::string> logs;
  bool loaded = false;
  for (const pid_t one : WithDescendants(pid)) {
    const std::error_code error = AddLogs(one, &logs);
    if (one == pid && error == std::errc::permission_denied)
      return absl::PermissionDeniedError(
          Cat("process ", pid,
              " belongs to another user, or may not be looked at: become its user "
              "or root, or name its log"));
    loaded |= Content(Cat("/proc/", one, "/maps")).find("/libmemprof.so") != std::string::npos;
  }
  if (!logs.empty()) return logs;
  return absl::FailedPreconditionError(
      loaded ? Cat("process ", pid,
                   " writes no log now: it has not used a GPU yet, or its recording has ended")
             : Cat("process ", pid, " is not recorded: 'memprof attach ", pid, "' begins that"));
}

}  // namespace memprof::cli
