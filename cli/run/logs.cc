// Files around a run: the recorder's libraries, the path of the log.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/run/log_names.h"
#include "cli/run/run.h"
#include "cli/run/segments.h"
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

}  // namespace

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

namespace {

// Whether a process still writes the log: the recorder holds a lock.
bool IsInUse(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  const bool used = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (fd >= 0) close(fd);
  return used;
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

absl::StatusOr<bool> CheckOutput(const std::string& path) {
  const fs::path folder = FixedFolder(path);
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) != 0)
    return absl::PermissionDeniedError(
        absl::StrCat("cannot write to ", folder.string(), ": ", std::strerror(errno)));
  struct stat status;
  if (path.find('%') != std::string::npos || lstat(path.c_str(), &status) != 0) return false;
  const absl::StatusOr<bool> replaceable = MayBeReplaced(path);
  if (!replaceable.ok())
    return absl::PermissionDeniedError(absl::StrCat(path, ": ", replaceable.status().message()));
  if (!*replaceable || S_ISLNK(status.st_mode))
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists and is not a log of memprof; it is left as it is"));
  if (status.st_uid != geteuid())
    return absl::AlreadyExistsError(
        absl::StrCat(path, " is another user's log; it is left as it is"));
  return !IsInUse(path);  // then the new log gets another name
}

absl::Status PrepareOutput(const std::string& path, const log::AlwaysOnBudget& always_on) {
  const absl::StatusOr<bool> earlier = CheckOutput(path);
  if (!earlier.ok()) return earlier.status();
  if (!*earlier) return absl::OkStatus();
  struct stat status;
  if (always_on.wanted() && always_on.kept > 0 && stat(path.c_str(), &status) == 0 &&
      status.st_size > 0)
    return KeepAsSegment(path, always_on.kept);
  if (unlink(path.c_str()) != 0)
    return absl::PermissionDeniedError(absl::StrCat(path, ": ", std::strerror(errno)));
  return absl::OkStatus();
}

std::string Prepend(const std::string& value, const char* list) {
  return list == nullptr || *list == '\0' ? value : absl::StrCat(value, ":", list);
}

}  // namespace memprof::cli
