// The entries of a folder, without opendir, which allocates.
#pragma once

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

// Calls `visit(folder, name)` with a descriptor of the folder for each entry, "." and ".." among
// them; for none if it cannot be opened.
template <typename Visit>
void ForEachEntry(const char* path, Visit visit) {
  constexpr std::size_t kLength = 16, kName = 19;  // where linux_dirent64 has them
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  alignas(8) char entries[4096];
  long got = 0;
  while ((got = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0)
    for (long at = 0; at < got;) {
      std::uint16_t bytes = 0;
      memcpy(&bytes, entries + at + kLength, sizeof bytes);
      visit(folder, static_cast<const char*>(entries + at + kName));
      at += bytes;
    }
  close(folder);
}

}  // namespace memprof::recorder
