// A process as /proc shows it: its state, what is mapped, symbols of the files that are mapped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::holders {

// What to do where another process may not be looked at.
inline constexpr char kHowToBeAllowed[] =
    "become its user or root; if kernel.yama.ptrace_scope is above 0, set it to 0 or become root; "
    "in a container allow SYS_PTRACE";

struct Mapping {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t offset = 0;  // in the file
  bool readable = false;
  std::string path;  // "" of anonymous memory
  bool executable = false;
};

// The letter of /proc/PID/stat: R, S, D, T, ... kNotFound without such a process.
absl::StatusOr<char> ProcessState(pid_t pid);

// In the order of their addresses. kPermissionDenied if the process may not be looked at.
absl::StatusOr<std::vector<Mapping>> ReadMappings(pid_t pid);

// That of `mappings`, which are sorted, in which the address is; or null.
const Mapping* Containing(const std::vector<Mapping>& mappings, std::uint64_t address);

// The addresses in the process of those of `names` that the ELF file at `path` defines; the file is
// opened as the process would (another root). Empty for other files.
std::map<std::string, std::uint64_t> FindSymbols(pid_t pid, const std::vector<Mapping>& mappings,
                                                 const std::string& path,
                                                 const std::vector<std::string>& names);

// The address behind the last byte that the file of `mapping` has for it; 0 if that cannot be told.
std::uint64_t EndOfCode(pid_t pid, const std::vector<Mapping>& mappings, const Mapping& mapping);

}  // namespace memprof::holders
