// A file that is read with care: it may be anything.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace memprof::analysis {

class OpenFile {
 public:
  // Does not wait for a writer of a pipe, and does not become the terminal of this process.
  explicit OpenFile(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  bool Status(struct stat* status) const { return fd_ >= 0 && fstat(fd_, status) == 0; }
  // At most `most` bytes; false if there are more.
  bool Read(std::size_t most, std::string* text) const {
    text->resize(most + 1);
    std::size_t size = 0;
    while (size <= most) {
      const ssize_t got = read(fd_, text->data() + size, text->size() - size);
      if (got <= 0) break;
      size += static_cast<std::size_t>(got);
    }
    text->resize(size);
    return size <= most;
  }

 private:
  const int fd_;
};

}  // namespace memprof::analysis
