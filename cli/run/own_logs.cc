#include "cli/run/own_logs.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "analysis/base/run_identity.h"
#include "analysis/log/decode.h"
#include "analysis/log/reader.h"
#include "cli/run/log_names.h"
#include "proto/run_list.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

const std::string kListName = "memprof-run-";
// A file server's clock may be behind this host's. The header says whose a log is; the time only
// spares a look at what is old.
constexpr std::int64_t kMostBehindNs = std::int64_t{600} * 1'000'000'000;

// MEMPROF_RUN of the process that wrote the log; "" if it had none, or the log is no log.
std::string RunOfLog(const std::string& path) {
  const auto log = analysis::LogReader::Open(path, analysis::LogReader::Mode::kFirst);
  if (!log.ok() || (*log)->chunks()[0].kind() != log::ChunkKind::kHeader) return "";
  analysis::PayloadBuffer buffer;
  analysis::HeaderRecord header;
  const auto payload = (*log)->ReadPayload((*log)->chunks()[0], &buffer);
  if (!payload.ok() || !analysis::DecodeHeader(*payload, &header)) return "";
  return std::string(analysis::VariableOf(header.run, "MEMPROF_RUN"));
}

// Lists are named by the process of their run. A run that this takes for dead, because it is in a
// container of its own, searches.
void RemoveOldLists(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!absl::StartsWith(name, kListName)) continue;
    const std::string rest = name.substr(kListName.size());
    pid_t pid = 0;
    struct stat status;
    if (!absl::SimpleAtoi(rest.substr(0, rest.find('-')), &pid) || pid <= 0 || kill(pid, 0) == 0 ||
        errno != ESRCH || lstat(entry.path().c_str(), &status) != 0 || status.st_uid != geteuid())
      continue;
    unlink(entry.path().c_str());
  }
}

bool IsRegular(const std::string& path, struct stat* status) {
  return lstat(path.c_str(), status) == 0 && S_ISREG(status->st_mode) && status->st_size > 0;
}

}  // namespace

RunList::RunList(const std::string& directory) {
  RemoveOldLists(directory);
  std::random_device random;
  const std::uint64_t number = (std::uint64_t{random()} << 32) | random();
  path_ = absl::StrCat(directory, "/", kListName, getpid(), "-", absl::Hex(number));
  const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, log::kRunListMagic, sizeof log::kRunListMagic);
  close(fd);
}

RunList::~RunList() { unlink(path_.c_str()); }

std::vector<std::string> RunList::Entries(bool* whole) const {
  std::ifstream file(path_, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string magic(log::kRunListMagic, sizeof log::kRunListMagic);
  *whole = absl::StartsWith(text, magic) && text.size() < log::kFullRunList;
  if (!*whole) return {};
  return absl::StrSplit(text.substr(magic.size()), '\0', absl::SkipEmpty());
}

std::optional<std::vector<std::string>> RunList::Read() const {
  bool whole = false;
  std::vector<std::string> logs = Entries(&whole);
  if (!whole) return std::nullopt;
  std::erase(logs, log::kNoLogEntry);
  return logs;
}

bool RunList::HasFailures() const {
  bool whole = false;
  const std::vector<std::string> entries = Entries(&whole);
  return std::find(entries.begin(), entries.end(), log::kNoLogEntry) != entries.end();
}

pid_t RunList::ProcessLeft() const {
  const std::string variable =
      absl::StrCat(std::string(1, '\0'), "MEMPROF_RUN=", path_, std::string(1, '\0'));
  // A process that is just starting another program has no environment for a moment.
  constexpr int kLooks = 3;
  constexpr unsigned kPauseUs = 10'000;
  for (int look = 0; look < kLooks; ++look) {
    bool starts = false;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      pid_t pid = 0;
      if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
      std::ifstream file(entry.path() / "environ", std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      if (absl::StrContains(absl::StrCat(std::string(1, '\0'), text), variable)) return pid;
      std::error_code kernel;  // threads of the kernel have none, and no program either
      starts |=
          file.is_open() && text.empty() && !fs::read_symlink(entry.path() / "exe", kernel).empty();
    }
    if (!starts) break;
    usleep(kPauseUs);
  }
  return 0;
}

std::vector<std::string> FindLogs(const std::string& pattern, std::int64_t since_unix_ns,
                                  const std::string& run) {
  std::vector<std::string> files = FilesOfPattern(pattern);
  std::erase_if(files, [&](const std::string& file) {
    struct stat status;
    if (!IsRegular(file, &status)) return true;
    const std::int64_t written = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    return written < since_unix_ns - kMostBehindNs || RunOfLog(file) != run;
  });
  return files;
}

bool RunsBesideOthers() {
  for (const char* rank : {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_STEP_ID",
                           "JOB_COMPLETION_INDEX"})
    if (getenv(rank) != nullptr) return true;  // a batch script of Slurm has SLURM_PROCID too
  return false;
}

std::vector<std::string> OwnLogs(const std::string& pattern, std::int64_t since_unix_ns,
                                 const RunList& list) {
  std::optional<std::vector<std::string>> logs;
  if (RunsBesideOthers()) logs = list.Read();
  if (!logs || logs->empty()) logs = FindLogs(pattern, since_unix_ns, list.path());
  std::erase_if(*logs, [](const std::string& log) {
    struct stat status;
    return !IsRegular(log, &status);
  });
  std::sort(logs->begin(), logs->end(), [](const std::string& one, const std::string& other) {
    return strverscmp(one.c_str(), other.c_str()) < 0;
  });
  return *std::move(logs);
}

}  // namespace memprof::cli
