#include "libmemprof/src/log/run_list.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

#include "libmemprof/src/base/sys.h"
#include "proto/run_list.h"

namespace memprof::recorder {
namespace {

bool IsList(int fd) {
  struct stat status;
  char magic[sizeof log::kRunListMagic];
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
         status.st_size < log::kFullRunList &&
         pread(fd, magic, sizeof magic, 0) == static_cast<ssize_t>(sizeof magic) &&
         memcmp(magic, log::kRunListMagic, sizeof magic) == 0;
}

}  // namespace

void AddToRunList(const char* list, const char* log) {
  // In one piece, between zeros: what a full disk cut is then a name of its own.
  char entry[PATH_MAX + 2] = "";
  const std::size_t length = strlen(log);
  if (list[0] != '/' || length > PATH_MAX) return;
  memcpy(entry + 1, log, length);
  entry[length + 1] = '\0';
  const int fd = open(list, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  if (IsList(fd)) {
    const FileSizeSignalOff signal_off;
    [[maybe_unused]] const ssize_t written = write(fd, entry, length + 2);
  }
  close(fd);
}

}  // namespace memprof::recorder
