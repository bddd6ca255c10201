// The next log of a recording that is a row of segments.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int LogFile::KeepAsSegment() {
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
