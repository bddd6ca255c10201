// Reads /proc and the files that the program has mapped.
#include "cli/attach/internal/target.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <map>

#include "cli/console/text.h"
#include "cli/run/elf_file.h"

namespace memprof::cli {
namespace {

using holders::Mapping;

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// libc.so.6, libc-2.31.so; also the libraries that it was divided into up to glibc 2.33.
bool IsPartOfGlibc(const std::string& path) {
  const std::string name = BaseName(path);
  for (const char* part : {"libc", "libpthread", "libdl"})
    if (name.rfind(Cat(part, ".so."), 0) == 0 ||
        (name.rfind(Cat(part, "-2."), 0) == 0 && name.find(".so") != std::string::npos))
      return true;
  return false;
}

bool IsRecorder(const std::string& path) { return BaseName(path) == "libmemprof.so"; }

}  // namespace

absl::StatusOr<Target> Target::Open(pid_t pid) {
  const absl::StatusOr<char> state = holders::ProcessState(pid);
  if (!state.ok()) return state.status();
  if (*state == 'Z' || *state == 'X')
    return absl::NotFoundError(Cat("process ", pid, " has ended"));
  if (*state == 'T')
    return absl::FailedPreconditionError(
        Cat("process ", pid, " is stopped: let it go on first (kill -CONT ", pid, ")"));
  if (*state == 't')
    return absl::FailedPreconditionError(Cat("another debugger or tracer has process ", pid));
  Target target(pid);
  if (absl::Status read = target.Refresh(); !read.ok()) return read;
  const ElfFile own("/proc/self/exe"), other(Cat("/proc/", pid, "/exe"));
  if (other.valid() && !other.SameMachine(own))
    return absl::FailedPreconditionError(
        Cat("process ", pid, " runs code of another kind of processor than this memprof"));
  return target;
}

absl::Status Target::Refresh() {
  absl::StatusOr<std::vector<Mapping>> mappings = holders::ReadMappings(pid_);
  if (!mappings.ok()) return mappings.status();
  mappings_ = *std::move(mappings);
  recorder_.clear();
  for (const Mapping& mapping : mappings_)
    if (IsRecorder(mapping.path)) recorder_ = mapping.path;
  return absl::OkStatus();
}

absl::StatusOr<StubParts> Target::Functions() const {
  std::map<std::string, std::uint64_t> found;
  std::string last;
  for (const Mapping& mapping : mappings_) {
    if (mapping.path == last || !IsPartOfGlibc(mapping.path)) continue;
    last = mapping.path;
    found.merge(holders::FindSymbols(
        pid_, mappings_, mapping.path,
        {"pthread_create", "pthread_detach", "dlopen", "dlsym", "__libc_dlopen_mode"}));
  }
  if (found.empty())
    return absl::FailedPreconditionError(
        Cat("process ", pid_, " does not use glibc as a shared library (a static program, or another "
            "C library): start it with 'memprof run' instead"));
  StubParts parts;
  parts.pthread_create = found["pthread_create"];
  parts.pthread_detach = found["pthread_detach"];
  parts.dlopen = found["dlopen"] != 0 ? found["dlopen"] : found["__libc_dlopen_mode"];
  parts.dlsym = found["dlsym"];
  if (parts.pthread_create == 0 || parts.pthread_detach == 0 || parts.dlopen == 0 ||
      parts.dlsym == 0)
    return absl::FailedPreconditionError(
        Cat("process ", pid_, " has not loaded libpthread and libdl, which its release of glibc has "
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
    const std::uint64_t end = holders::EndOfCode(pid_, mappings_, mapping);
    constexpr std::uint64_t kAlign = 64;
    const std::uint64_t begin = (end + kAlign - 1) / kAlign * kAlign;
    if (end > mapping.begin && begin < mapping.end && mapping.end - begin >= bytes) return begin;
  }
  return std::nullopt;
}

std::uint64_t Target::SymbolOfRecorder(const std::string& name) const {
  if (recorder_.empty()) return 0;
  const auto found = holders::FindSymbols(pid_, mappings_, recorder_, {name});
  const auto at = found.find(name);
  return at == found.end() ? 0 : at->second;
}

}  // namespace memprof::cli
