#include "cli/attach/internal/earlier_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "cli/console/text.h"
#include "cli/run/run.h"

namespace memprof::cli {

EarlierLog::EarlierLog(const std::string& path) : path_(path), aside_(Cat(path, ".", getpid())) {}

EarlierLog::~EarlierLog() {
  if (moved_) renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
}

absl::Status EarlierLog::MoveAside() {
  const absl::StatusOr<bool> found = CheckOutput(path_);
  if (!found.ok() || !*found) return found.status();
  moved_ = rename(path_.c_str(), aside_.c_str()) == 0;
  return moved_ ? absl::OkStatus()
                : absl::PermissionDeniedError(Cat(path_, ": ", std::strerror(errno)));
}

void EarlierLog::Remove() {
  if (std::exchange(moved_, false)) unlink(aside_.c_str());
}

}  // namespace memprof::cli
