// Appending whole chunks to a log that its recorder no longer writes.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "proto/framing.h"

namespace memprof::analysis {

// A regular file of the calling user, open; never one that a link points to.
class OwnFile {
 public:
  OwnFile(const std::string& path, int flags)
      : fd_(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
    if (fd_ < 0) return;
    if (fstat(fd_, &status_) == 0 && S_ISREG(status_.st_mode) && status_.st_uid == geteuid())
      return;
    close(fd_);
    fd_ = -1;
  }
  ~OwnFile() {
    if (fd_ >= 0) close(fd_);
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  bool ok() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  bool HasName() const {
    struct stat now;
    return fstat(fd_, &now) == 0 && now.st_nlink > 0;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(status_.st_size); }

 private:
  int fd_;
  struct stat status_ {};
};

// Adds one chunk to `chunks`, compressed where that helps. `raw` is at most log::kMaxRawBytes.
void AppendChunk(log::ChunkKind kind, const std::string& raw, std::uint32_t events,
                 std::string* chunks);

// Writes all of `bytes` at `offset`, onto the disk. Sets errno if it fails.
bool WriteAll(int fd, const std::string& bytes, std::uint64_t offset);

}  // namespace memprof::analysis
