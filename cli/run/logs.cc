// Files around a run: the recorder's libraries, the path of the log, the logs that were written.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/run/run.h"
#include "proto/framing.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> FirstExisting(const std::string& directory, const std::string& what,
                                          const std::vector<std::string>& candidates) {
  for (const std::string& candidate : candidates) {
    std::error_code error;
    const fs::path path = fs::weakly_canonical(fs::path(directory) / candidate, error);
    if (!error && access(path.c_str(), R_OK) == 0) return path.string();
  }
  return absl::NotFoundError(absl::StrCat(
      what, " is not where it belongs: ", (fs::path(directory) / candidates[0]).string()));
}

// Whether the file is empty or begins as a log does; an errno if it cannot be read.
absl::StatusOr<bool> MayBeReplaced(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0 && errno == ELOOP) return false;  // a link
  if (fd < 0) return absl::PermissionDeniedError(std::strerror(errno));
  struct stat status;
  char magic[sizeof log::kMagic];
  const bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const bool replaceable =
      regular && (status.st_size == 0 || (read(fd, magic, sizeof magic) == sizeof magic &&
                                          std::memcmp(magic, log::kMagic, sizeof magic) == 0));
  close(fd);
  return replaceable;
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The letters that stand for something after % (libmemprof/src/log/output_name.h), % itself apart.
bool IsLetterOfPattern(char c) { return c != '\0' && std::strchr("phjr", c) != nullptr; }

// Whether `text` can be `pattern` with %p as digits, %h, %j and %r as anything, and %% as %.
bool Matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] != '%' || pattern.size() == 1 ||
      (!IsLetterOfPattern(pattern[1]) && pattern[1] != '%'))
    return !text.empty() && text[0] == pattern[0] && Matches(pattern.substr(1), text.substr(1));
  const std::string_view rest = pattern.substr(2);
  if (pattern[1] == '%') return !text.empty() && text[0] == '%' && Matches(rest, text.substr(1));
  for (std::size_t taken = 1; taken <= text.size(); ++taken) {
    if (pattern[1] == 'p' && !IsDigit(text[taken - 1])) break;
    if (Matches(rest, text.substr(taken))) return true;
  }
  return false;
}

// Whether the recorder may have made this name from the last component of its pattern.
bool IsLogName(const std::string& pattern, const std::string& name) {
  const std::size_t dot = pattern.rfind('.');
  const std::size_t extension = dot == std::string::npos || dot == 0 ? pattern.size() : dot;
  const std::string front = pattern.substr(0, extension), back = pattern.substr(extension);
  return Matches(pattern, name) || Matches(front + ".%p" + back, name) ||
         Matches(front + ".%p.%p" + back, name);
}

// Files below `folder` whose path from there matches the rest of a pattern, a name at a time.
void FindMatching(const fs::path& folder, const std::vector<std::string>& names, std::size_t at,
                  std::vector<std::string>* found) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, error)) {
    const std::string name = entry.path().filename().string();
    if (at + 1 == names.size()) {
      if (IsLogName(names[at], name)) found->push_back((folder / name).string());
    } else if (Matches(names[at], name) && entry.is_directory(error)) {
      FindMatching(folder / name, names, at + 1, found);
    }
  }
}

}  // namespace

absl::StatusOr<std::string> FindRecorder(const std::string& program_directory) {
  return FirstExisting(
      program_directory, "the recorder, libmemprof.so,",
      {"../lib/libmemprof.so", "../lib64/libmemprof.so", "../lib/x86_64-linux-gnu/libmemprof.so",
       "../lib/aarch64-linux-gnu/libmemprof.so"});
}

absl::StatusOr<std::string> FindStandIn(const std::string& program_directory) {
  const absl::StatusOr<std::string> driver =
      FirstExisting(program_directory, "the stand-in CUDA",
                    {"../simcuda/libcuda.so.1", "../lib/memprof/simcuda/libcuda.so.1",
                     "../lib64/memprof/simcuda/libcuda.so.1"});
  if (!driver.ok()) return driver.status();
  return fs::path(*driver).parent_path().string();
}

absl::StatusOr<std::string> FindAgent(const std::string& program_directory) {
  const absl::StatusOr<std::string> file = FirstExisting(
      program_directory, "the agent for PyTorch",
      {"../lib/memprof/inject/sitecustomize.py", "../lib64/memprof/inject/sitecustomize.py"});
  if (!file.ok()) return file.status();
  return fs::path(*file).parent_path().string();
}

std::string FixedFolder(const std::string& pattern) {
  fs::path folder = fs::path(pattern).parent_path();
  while (folder.string().find('%') != std::string::npos) folder = folder.parent_path();
  return folder.string();
}

absl::Status PrepareOutput(const std::string& path) {
  const fs::path folder = FixedFolder(path);
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write to ", folder.string(), ": ", std::strerror(errno)));
  struct stat status;
  if (path.find('%') != std::string::npos || lstat(path.c_str(), &status) != 0)
    return absl::OkStatus();
  const absl::StatusOr<bool> replaceable = MayBeReplaced(path);
  if (!replaceable.ok())
    return absl::PermissionDeniedError(absl::StrCat(path, ": ", replaceable.status().message()));
  if (!*replaceable || S_ISLNK(status.st_mode))
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists and is not a log of memprof; it is left as it is"));
  if (status.st_uid != geteuid())
    return absl::AlreadyExistsError(
        absl::StrCat(path, " is another user's log; it is left as it is"));
  if (unlink(path.c_str()) != 0)
    return absl::PermissionDeniedError(absl::StrCat(path, ": ", std::strerror(errno)));
  return absl::OkStatus();
}

std::vector<std::string> FindLogs(const std::string& pattern, std::int64_t since_unix_ns) {
  const fs::path fixed = FixedFolder(pattern);
  std::vector<std::string> names, files;
  for (const fs::path& name : fs::path(pattern).lexically_relative(fixed))
    names.push_back(name.string());
  if (fixed.empty()) names.assign(fs::path(pattern).begin(), fs::path(pattern).end());
  FindMatching(fixed, names, 0, &files);
  std::vector<std::pair<std::int64_t, std::string>> found;
  for (const std::string& file : files) {
    struct stat status;
    if (lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const std::int64_t written = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    if (written >= since_unix_ns && status.st_size > 0) found.emplace_back(written, file);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> logs;
  for (auto& [written, file] : found) logs.push_back(std::move(file));
  return logs;
}

std::string PatternOfLogs(const std::string& output) {
  std::string pattern;
  bool varies = false;
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (output[i] == '%' && i + 1 < output.size() && IsLetterOfPattern(output[i + 1])) {
      pattern += '*';
      varies = true;
      ++i;
    } else {
      pattern += output[i];
    }
  }
  if (varies) return pattern;
  // The first log has the name itself; others have ".PID" before the extension.
  const std::size_t dot = pattern.rfind('.');
  const std::size_t slash = pattern.rfind('/');
  if (dot == std::string::npos || (slash != std::string::npos && dot < slash)) return pattern + "*";
  return pattern.insert(dot, "*");
}

std::string Prepend(const std::string& value, const char* list) {
  return list == nullptr || *list == '\0' ? value : absl::StrCat(value, ":", list);
}

}  // namespace memprof::cli
