// Reads files in bounds, since they may be of any kind.
#include "cli/doctor/internal/machine.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace memprof::cli::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxNames = 10'000;  // of a folder

std::uint64_t Limit(int resource) {
  rlimit limit;
  return getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0 ||
                 limit.rlim_cur == RLIM_INFINITY
             ? kNoLimit
             : limit.rlim_cur;
}

std::map<std::string, std::string> Environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t sign = text.find('=');
    if (sign != std::string::npos) variables.emplace(text.substr(0, sign), text.substr(sign + 1));
  }
  return variables;
}

}  // namespace

std::string Machine::Without(const std::string& text) const {
  return root.empty() ? text : absl::StrReplaceAll(text, {{root, ""}});
}

std::string Machine::Variable(const std::string& name) const {
  const auto found = environment.find(name);
  return found == environment.end() ? "" : found->second;
}

bool Machine::Exists(const std::string& path) const { return Accessible(path, F_OK); }

bool Machine::Accessible(const std::string& path, int mode) const {
  return access(At(path).c_str(), mode) == 0;
}

std::string Machine::Canonical(const std::string& path) const {
  std::error_code error;
  const fs::path real = fs::canonical(At(path), error);
  return error ? "" : Without(real.string());
}

std::string Machine::Read(const std::string& path, std::size_t most) const {
  const int fd = open(At(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return "";
  struct stat status;
  std::string text;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    char buffer[4096];
    ssize_t count = 0;
    while (text.size() < most && (count = read(fd, buffer, sizeof buffer)) > 0)
      text.append(buffer, static_cast<std::size_t>(count));
  }
  close(fd);
  if (text.size() > most) text.resize(most);
  return text;
}

std::vector<std::string> Machine::Names(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(At(folder), error), end;
       !error && entry != end && names.size() < kMaxNames; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string Machine::SearchPath() const {
  std::string path;
  for (const auto folder : absl::StrSplit(Variable("PATH"), ':', absl::SkipEmpty()))
    path += (path.empty() ? "" : ":") + At(std::string(folder));
  return path;
}

Machine ThisMachine() {
  Machine machine;
  std::error_code error;
  machine.program_directory = fs::read_symlink("/proc/self/exe", error).parent_path().string();
  machine.environment = Environment();
  utsname names;
  if (uname(&names) == 0) {
    machine.architecture = names.machine;
    machine.kernel = names.release;
  }
  machine.page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  machine.file_limit = Limit(RLIMIT_FSIZE);
  machine.address_limit = Limit(RLIMIT_AS);
  machine.start = [](const std::vector<std::string>& arguments,
                     const std::map<std::string, std::string>& added) {
    return Start(arguments, added, kLongestSeconds);
  };
  machine.free_bytes = [](const std::string& folder) -> std::uint64_t {
    struct statvfs space;
    if (statvfs(folder.c_str(), &space) != 0) return 0;
    return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  };
  return machine;
}

}  // namespace memprof::cli::doctor
