// The next log of a recording that is a row of segments.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "libmemprof/src/base/folder.h"
#include "libmemprof/src/log/log_file.h"
#include "libmemprof/src/log/output_name.h"

namespace memprof::recorder {
namespace {

constexpr int kMaxAttempts = 1000;
constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE

// Nothing is ever overwritten. Returns 0 or an errno.
int Rename(const char* from, const char* to) {
  if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, kNoReplace) == 0) return 0;
  if (errno != ENOSYS && errno != EINVAL) return errno;
  if (link(from, to) != 0) return errno;
  return unlink(from) == 0 ? 0 : errno;
}

bool ReadAt(int fd, void* to, std::size_t bytes, std::uint64_t offset) {
  return pread(fd, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

}  // namespace

bool LogFile::NameOfSegment(std::uint32_t number, char* path, std::size_t size) const {
  const int extension = static_cast<int>(ExtensionAt(path_));
  const int length =
      snprintf(path, size, "%.*s.segment-%u%s", extension, path_, number, path_ + extension);
  return length > 0 && static_cast<std::size_t>(length) < size;
}

// Of an earlier recording, if it is a log of this user.
void LogFile::Adopt(int folder, const char* name) {
  const char* const own = strrchr(path_, '/') + 1;
  const std::size_t stem = ExtensionAt(own);
  if (strncmp(name, own, stem) != 0 || strncmp(name + stem, ".segment-", 9) != 0) return;
  char whole[kMaxPathBytes];
  const auto number = static_cast<std::uint32_t>(strtoul(name + stem + 9, nullptr, 10));
  if (number == 0 || !NameOfSegment(number, whole, sizeof whole) ||
      strcmp(strrchr(whole, '/') + 1, name) != 0)
    return;
  const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  char magic[sizeof log::kMagic];
  if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
      ReadAt(fd, magic, sizeof magic, 0) && memcmp(magic, log::kMagic, sizeof magic) == 0)
    segments_.Append({number, status.st_dev, status.st_ino});
  if (fd >= 0) close(fd);
  last_segment_ = std::max(last_segment_, number);
}

void LogFile::AdoptSegments() {
  char path[kMaxPathBytes];
  strcpy(path, path_);
  strrchr(path, '/')[1] = '\0';
  ForEachEntry(path, [this](int folder, const char* name) { Adopt(folder, name); });
  std::sort(segments_.begin(), segments_.end(),
            [](const Segment& a, const Segment& b) { return a.number < b.number; });
}

int LogFile::KeepAsSegment() {
  if (!std::exchange(adopted_, true)) AdoptSegments();
  char name[kMaxPathBytes];
  int error = EEXIST;
  for (int attempt = 0; attempt < kMaxAttempts && error == EEXIST; ++attempt) {
    if (!NameOfSegment(++last_segment_, name, sizeof name)) return ENAMETOOLONG;
    error = Rename(path_, name);
  }
  if (error == 0) segments_.Append({last_segment_, device_, inode_});
  return error == ENOENT ? 0 : error;  // the user removed it
}

void LogFile::RemoveOldest() {
  const Segment oldest = segments_[0];
  segments_.Erase(segments_.begin());
  char name[kMaxPathBytes];
  struct stat status;
  if (NameOfSegment(oldest.number, name, sizeof name) && lstat(name, &status) == 0 &&
      status.st_dev == oldest.device && status.st_ino == oldest.inode)
    unlink(name);
}

// Ids of definitions are those of the recording, whatever log they are in.
void LogFile::CopyDefinitions(int from, std::uint64_t bytes) {
  log::ChunkFrame frame;
  for (std::uint64_t at = sizeof(log::FileHeader); at + sizeof frame <= bytes;) {
    if (!ReadAt(from, &frame, sizeof frame, at) || frame.sync != log::kChunkSync ||
        frame.stored_bytes > bytes - at - sizeof frame)
      return;
    const std::size_t whole = sizeof frame + frame.stored_bytes;
    if (frame.kind == static_cast<std::uint16_t>(log::ChunkKind::kDefinitions)) {
      if (!batch_.Reserve(whole)) return;
      const std::uint64_t offset = end() + batch_.size();
      if (index_.TryReserve(1)) index_.Append({offset, 0, 0, frame.kind, 0});
      packed_.Clear();
      if (!packed_.Reserve(whole) || !ReadAt(from, packed_.data(), whole, at)) return;
      batch_.Append(packed_.data(), whole);
    }
    at += whole;
  }
}

int LogFile::BeginNext(const ByteBuffer& header, std::uint32_t kept) {
  const int old = FileDescriptor();
  const std::uint64_t old_bytes = size_;
  if (const int error = KeepAsSegment()) return error;
  fd_ = -1;
  if (const int error = CreateAt(path_)) {
    fd_ = old;
    return error;
  }
  size_ = finished_at_ = 0;
  index_.Clear();
  indexed_ = 0;
  index_full_ = false;
  batch_.Clear();
  BeginFile();
  AddChunk(log::ChunkKind::kHeader, header);
  if (old >= 0) {
    CopyDefinitions(old, old_bytes);
    close(old);
  }
  while (segments_.size() > kept) RemoveOldest();
  return 0;
}

}  // namespace memprof::recorder
