// This process's memory from the kernel's view: mappings, used pages, and their content.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {

// Reads /proc/self/maps line by line; allocates nothing.
class MapsReader {
 public:
  struct Line {
    std::uintptr_t begin, end;
    bool wanted;       // readable and writable
    const char* path;  // of a file, or "[heap]" and the like; "" for other memory
  };

  MapsReader() : fd_(open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapsReader() {
    if (fd_ >= 0) close(fd_);
  }
  MapsReader(const MapsReader&) = delete;
  MapsReader& operator=(const MapsReader&) = delete;
  bool ok() const { return fd_ >= 0; }

  bool Next(Line* line) {
    char* end = static_cast<char*>(memchr(text_ + at_, '\n', filled_ - at_));
    if (end == nullptr) {
      memmove(text_, text_ + at_, filled_ - at_);
      filled_ -= at_;
      at_ = 0;
      while (end == nullptr && filled_ < sizeof text_) {
        const ssize_t got = read(fd_, text_ + filled_, sizeof text_ - filled_);
        if (got <= 0) return false;
        end = static_cast<char*>(memchr(text_ + filled_, '\n', static_cast<std::size_t>(got)));
        filled_ += static_cast<std::size_t>(got);
      }
      if (end == nullptr) return false;
    }
    *end = '\0';
    char* at = text_ + at_;
    at_ = static_cast<std::size_t>(end - text_) + 1;
    line->begin = strtoul(at, &at, 16);
    if (*at == '-') ++at;
    line->end = strtoul(at, &at, 16);
    line->wanted = at[0] == ' ' && at[1] == 'r' && at[2] == 'w';
    const char* path = strchr(at, '/');
    if (path == nullptr) path = strchr(at, '[');
    line->path = path == nullptr ? "" : path;
    return true;
  }

 private:
  const int fd_;
  std::size_t at_ = 0, filled_ = 0;
  char text_[8192];
};

// Which pages are in use: reading the others would only create page tables.
class PageFilter {
 public:
  PageFilter() : fd_(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageFilter() {
    if (fd_ >= 0) close(fd_);
  }
  PageFilter(const PageFilter&) = delete;
  PageFilter& operator=(const PageFilter&) = delete;

  // The first address >= `from` in a used page; `end` if there is none.
  std::uintptr_t NextUsed(std::uintptr_t from, std::uintptr_t end) {
    constexpr std::uint64_t kInMemoryOrSwapped = std::uint64_t{3} << 62;
    if (fd_ < 0) return from;
    for (std::uintptr_t at = from / page_bytes_ * page_bytes_; at < end; at += page_bytes_) {
      const std::size_t page = at / page_bytes_;
      if (page < first_ || page >= first_ + count_) {
        const ssize_t got = pread(fd_, entries_, sizeof entries_, static_cast<off_t>(page * 8));
        if (got < 8) return std::max(at, from);
        first_ = page;
        count_ = static_cast<std::size_t>(got) / 8;
      }
      if ((entries_[page - first_] & kInMemoryOrSwapped) != 0) return std::max(at, from);
    }
    return end;
  }

 private:
  const int fd_;
  const std::size_t page_bytes_ = PageBytes();
  std::size_t first_ = 0, count_ = 0;
  std::uint64_t entries_[512];
};

// Reads this process's memory such that an unmapped page is an error and no signal: by
// process_vm_readv or, where that is forbidden, by /proc/self/mem.
class MemoryReader {
 public:
  MemoryReader() = default;
  ~MemoryReader() {
    if (fd_ >= 0) close(fd_);
  }
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;

  // As read(2).
  ssize_t Read(std::uintptr_t from, void* to, std::size_t bytes) {
    if (fd_ < 0) {
      const iovec local{to, bytes}, remote{reinterpret_cast<void*>(from), bytes};
      const ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
      if (got >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES)) return got;
      fd_ = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
      if (fd_ < 0) return -1;
    }
    return pread(fd_, to, bytes, static_cast<off_t>(from));
  }

 private:
  int fd_ = -1;
};

}  // namespace memprof::recorder
