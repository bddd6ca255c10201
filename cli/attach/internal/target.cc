// Reads /proc and the files that the program has mapped.
#include "cli/attach/internal/target.h"

#include <dirent.h>
#include <elf.h>
#include <pwd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "analysis/base/text.h"
#include "cli/attach/internal/program_folder.h"
#include "cli/console/text.h"
#include "cli/run/elf_file.h"

namespace memprof::cli {
namespace {

using analysis::BaseName;
using holders::Mapping;

// libc.so.6, libc-2.31.so; also the libraries that it was divided into up to glibc 2.33.
bool IsPartOfGlibc(const std::string& path) {
  const std::string_view name = BaseName(path);
  for (const char* part : {"libc", "libpthread", "libdl"})
    if (name.rfind(Cat(part, ".so."), 0) == 0 ||
        (name.rfind(Cat(part, "-2."), 0) == 0 && name.find(".so") != std::string::npos))
      return true;
  return false;
}

constexpr char kDeleted[] = " (deleted)";
bool IsRecorder(const std::string& path) { return BaseName(path) == "libmemprof.so"; }

// How many filters of system calls a thread has. Before Linux 5.9, 1 for any number.
int FiltersIn(const std::string& status) {
  std::ifstream file(status);
  int mode = 0, filters = 0;
  for (std::string word; file >> word;) {
    if (word == "Seccomp:") file >> mode;
    if (word == "Seccomp_filters:") file >> filters;
  }
  return mode == 0 ? 0 : std::max(filters, 1);
}

// Why the process cannot be read, if that is because it is another user's.
absl::Status Forbidden(pid_t pid, const absl::Status& status) {
  const uid_t user = UserOf(pid);
  if (!absl::IsPermissionDenied(status) || user == geteuid() || geteuid() == 0) return status;
  const passwd* known = getpwuid(user);
  return absl::FailedPreconditionError(Cat("process ", pid, " belongs to user ",
                                           known == nullptr ? std::to_string(user) : known->pw_name,
                                           ": run memprof as that user or as root"));
}

}  // namespace

bool Lives(pid_t thread) {
  const absl::StatusOr<char> state = holders::ProcessState(thread);
  return state.ok() && *state != 'Z' && *state != 'X';
}

std::vector<pid_t> ThreadsOf(pid_t pid) {
  std::vector<pid_t> threads;
  DIR* folder = opendir(Cat("/proc/", pid, "/task").c_str());
  if (folder == nullptr) return threads;
  while (const dirent* entry = readdir(folder)) {
    pid_t thread = 0;
    if (absl::SimpleAtoi(entry->d_name, &thread) && Lives(thread)) threads.push_back(thread);
  }
  closedir(folder);
  return threads;
}

absl::Status CheckTracer(pid_t pid, pid_t thread) {
  std::ifstream file(Cat("/proc/", thread, "/status"));
  pid_t tracer = 0;
  for (std::string word; file >> word;)
    if (word == "TracerPid:") file >> tracer;
  if (tracer == 0) return absl::OkStatus();
  std::string name;
  std::getline(std::ifstream(Cat("/proc/", tracer, "/comm")) >> std::ws, name);
  return absl::FailedPreconditionError(Cat("process ", pid, " is traced already, by process ",
                                           tracer, name.empty() ? "" : " (", name,
                                           name.empty() ? "" : ")", ": end that first"));
}

absl::StatusOr<Target> Target::Open(pid_t pid) {
  absl::StatusOr<char> state = holders::ProcessState(pid);
  if (!state.ok()) return state.status();
  Target target(pid);
  absl::Status read = target.Refresh();
  if (absl::IsNotFound(read)) return read;
  state = holders::ProcessState(target.task_);
  if (!state.ok()) return state.status();
  if (*state == 'T')
    return absl::FailedPreconditionError(
        Cat("process ", pid, " is stopped: let it go on first (kill -CONT ", pid, ")"));
  if (*state == 't')
    if (absl::Status traced = CheckTracer(pid, target.task_); !traced.ok()) return traced;
  if (!read.ok()) return Forbidden(pid, read);
  const ElfFile own("/proc/self/exe"), other(Cat("/proc/", target.task_, "/exe"));
  if (other.valid() && !other.SameMachine(own))
    return absl::FailedPreconditionError(
        Cat("process ", pid, " runs code of another kind of processor than this memprof"));
  return target;
}

absl::Status Target::Refresh() {
  if (!Lives(task_)) {
    const std::vector<pid_t> threads = ThreadsOf(pid_);
    if (threads.empty()) return absl::NotFoundError(Cat("process ", pid_, " has ended"));
    task_ = threads.front();
  }
  absl::StatusOr<std::vector<Mapping>> mappings = holders::ReadMappings(task_);
  if (!mappings.ok()) return mappings.status();
  mappings_ = *std::move(mappings);
  recorder_.clear();
  for (const Mapping& mapping : mappings_) {
    if (mapping.path == recorder_file_ && !recorder_.empty()) continue;
    // After an end in a container its file is gone. It is the same one as before if its symbols can
    // still be read; the loader knows it by its path.
    const std::string path(absl::StripSuffix(mapping.path, kDeleted));
    if (!IsRecorder(path) ||
        (path != mapping.path &&
         holders::FindSymbols(task_, mappings_, mapping.path, {"memprof_attach_page"}).empty()))
      continue;
    recorder_ = SeenThere(path);
    recorder_file_ = mapping.path;
  }
  return absl::OkStatus();
}

std::string Target::SeenThere(const std::string& mapped) const {
  std::error_code error;
  const std::string root = std::filesystem::read_symlink(Cat("/proc/", task_, "/root"), error);
  return absl::StartsWith(mapped, root + "/") ? mapped.substr(root.size()) : mapped;
}

absl::StatusOr<StubParts> Target::Functions() const {
  std::map<std::string, std::uint64_t> found;
  std::string last;
  for (const Mapping& mapping : mappings_) {
    if (mapping.path == last || !IsPartOfGlibc(mapping.path)) continue;
    last = mapping.path;
    found.merge(holders::FindSymbols(
        task_, mappings_, mapping.path,
        {"pthread_create", "pthread_detach", "dlopen", "dlsym", "__libc_dlopen_mode", "munmap"}));
  }
  if (found.empty())
    return absl::FailedPreconditionError(
        Cat("process ", pid_,
            " does not use glibc as a shared library (a static program, or another "
            "C library): start it with 'memprof run' instead"));
  StubParts parts;
  parts.pthread_create = found["pthread_create"];
  parts.pthread_detach = found["pthread_detach"];
  parts.dlopen = found["dlopen"] != 0 ? found["dlopen"] : found["__libc_dlopen_mode"];
  parts.dlsym = found["dlsym"];
  parts.munmap = found["munmap"];
  parts.place = FindPlace();
  if (parts.pthread_create == 0 || parts.pthread_detach == 0 || parts.dlopen == 0 ||
      parts.dlsym == 0 || parts.munmap == 0)
    return absl::FailedPreconditionError(
        Cat("process ", pid_,
            " has not loaded libpthread and libdl, which its release of glibc has "
            "apart: start it with 'memprof run' instead"));
  return parts;
}

// The mapping is made of whole pages, and what follows the code there is padding of the file. The
// loader and the kernel's own pages are left alone.
std::optional<std::uint64_t> Target::FindGap(std::size_t bytes) const {
  for (const Mapping& mapping : mappings_) {
    if (!mapping.executable || mapping.path.empty() || mapping.path[0] != '/' ||
        BaseName(mapping.path).rfind("ld-", 0) == 0)
      continue;
    const std::uint64_t end = holders::EndOfCode(task_, mappings_, mapping);
    constexpr std::uint64_t kAlign = 64;
    const std::uint64_t begin = (end + kAlign - 1) / kAlign * kAlign;
    if (end > mapping.begin && begin < mapping.end && mapping.end - begin >= bytes) return begin;
  }
  return std::nullopt;
}

// In the middle of the largest hole. What is at the top is the kernel's.
std::uint64_t Target::FindPlace() const {
  constexpr std::uint64_t kEndOfUserSpace = std::uint64_t{1} << 47, kAlign = 1 << 21;
  std::uint64_t place = 0, largest = 0;
  for (std::size_t i = 1; i < mappings_.size() && mappings_[i].begin < kEndOfUserSpace; ++i) {
    const std::uint64_t hole = mappings_[i].begin - mappings_[i - 1].end;
    if (hole <= largest) continue;
    largest = hole;
    place = (mappings_[i - 1].end + hole / 2) / kAlign * kAlign;
  }
  return place;
}

bool Target::Read(std::uint64_t address, void* to, std::size_t bytes) const {
  const iovec here{to, bytes}, there{reinterpret_cast<void*>(address), bytes};
  return process_vm_readv(task_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

std::uint64_t Target::SymbolOfRecorder(const std::string& name) const {
  if (recorder_.empty()) return 0;
  const auto found = holders::FindSymbols(task_, mappings_, recorder_file_, {name});
  const auto at = found.find(name);
  return at == found.end() ? 0 : at->second;
}

std::uint64_t Target::SymbolOfPython(const std::string& name) const {
  std::string last;
  for (const Mapping& mapping : mappings_) {
    // The first file is the program, which may have another name and Python in it.
    if (mapping.path == last || mapping.path.empty() || mapping.path[0] != '/' ||
        (!last.empty() && BaseName(mapping.path).find("python") == std::string_view::npos))
      continue;
    last = mapping.path;
    const auto found = holders::FindSymbols(task_, mappings_, mapping.path, {name});
    if (const auto at = found.find(name); at != found.end()) return at->second;
  }
  return 0;
}

absl::Status Target::CheckFilters() const {
  const int ours = FiltersIn("/proc/self/status");
  for (const pid_t thread : ThreadsOf(pid_))
    if (FiltersIn(Cat("/proc/", thread, "/status")) > ours)
      return absl::FailedPreconditionError(
          Cat("process ", pid_,
              " has a seccomp filter, which may kill it for system calls of the recorder; if the "
              "filter only refuses calls, attach with --force"));
  return absl::OkStatus();
}

absl::Status Target::CheckLibrary(const std::string& library) const {
  for (const Mapping& mapping : mappings_) {
    if (!mapping.executable) continue;
    const std::string name(BaseName(mapping.path));
    if (absl::StartsWith(name, "ld-musl"))
      return absl::FailedPreconditionError(
          Cat("process ", pid_,
              " uses musl, and the recorder needs glibc: use a build of the "
              "program for glibc, in an image such as Debian's"));
    if (!absl::StartsWith(name, "libc.so.") && !absl::StartsWith(name, "libc-2.")) continue;
    const std::string file = Cat("/proc/", task_, "/root", SeenThere(mapping.path));
    const ElfFile c_library(file);
    if (!c_library.valid()) continue;
    const std::set<std::string> missing = MissingVersions(ElfFile(library), c_library);
    if (missing.empty()) continue;
    return absl::FailedPreconditionError(Cat("process ", pid_, " uses glibc ", ReleaseOfGlibc(file),
                                             ", and the recorder needs ", HighestVersion(missing),
                                             ": use an image with a newer glibc"));
  }
  return absl::OkStatus();
}

}  // namespace memprof::cli
