// Frames, compresses and writes chunks.
#define ZSTD_STATIC_LINKING_ONLY
#include "libmemprof/src/log/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "libmemprof/src/log/output_name.h"
#include "libmemprof/src/log/proto_writer.h"
#include "libmemprof/src/log/ring_buffer.h"
#include "proto/crc32c.h"

namespace memprof::recorder {
namespace {

constexpr int kCompressionLevel = 1;
constexpr int kMaxAttempts = 1000;
constexpr std::uint64_t kMinLimit = 256 * 1024;
constexpr std::size_t kMaxIndexEntries = 262144;  // 8 MiB
// Smaller chunks are stored as they are.
constexpr std::size_t kWorthCompressing = 128;

}  // namespace

LogFile::~LogFile() {
  UnmapMemory(compressor_memory_, compressor_bytes_, Need::kWriter);
  if (fd_ >= 0 && IsOurFile(fd_)) close(fd_);
}

int LogFile::CreateAt(const char* path) {
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) {
    // An empty file may have been created for this log (mktemp).
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno == ELOOP || errno == ENXIO || errno == EISDIR ? EEXIST : errno;
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != 0 ||
        status.st_uid != geteuid()) {
      close(fd);
      return EEXIST;
    }
  }
  if (fd < 0) return errno;
  // If two processes choose the same new or empty file, one of them gets it. Without file locks
  // only the name of the file keeps them apart.
  struct stat status;
  const bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (taken || fstat(fd, &status) != 0 || status.st_size != 0) {
    close(fd);
    return EEXIST;
  }
  fchmod(fd, 0600);  // it may have had other permissions while it was empty
  fd_ = MoveDescriptorHigh(fd);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  return 0;
}

// The program may change its directory; the log must be found all the same.
int LogFile::ExpandAbsolute(const char* pattern, char* path, std::size_t size) {
  std::size_t used = 0;
  if (pattern[0] != '/') {
    if (getcwd(path, size - 1) == nullptr) return errno;
    used = strlen(path);
    path[used++] = '/';
  }
  return ExpandOutput(pattern, path + used, size - used) ? 0 : ENAMETOOLONG;
}

int LogFile::Create(const char* pattern) {
  char base[kMaxPathBytes - 64];
  if (const int error = ExpandAbsolute(pattern, base, sizeof base)) return error;
  if (const int error = MakeFolders(pattern, base)) return error;
  // Nothing of use would fit.
  if (FileSizeLimit() < kMinLimit) return EFBIG;
  const std::size_t extension = ExtensionAt(base);
  int error = EEXIST;
  for (int attempt = 0; attempt < kMaxAttempts && error == EEXIST; ++attempt) {
    if (attempt == 0)
      snprintf(path_, sizeof path_, "%s", base);
    else if (attempt == 1)
      snprintf(path_, sizeof path_, "%.*s.%d%s", static_cast<int>(extension), base,
               static_cast<int>(getpid()), base + extension);
    else
      snprintf(path_, sizeof path_, "%.*s.%d.%d%s", static_cast<int>(extension), base,
               static_cast<int>(getpid()), attempt, base + extension);
    error = CreateAt(path_);
  }
  if (error != 0) return error;
  compressor_bytes_ = ZSTD_estimateCCtxSize(kCompressionLevel);
  compressor_memory_ = MapMemory(compressor_bytes_, Need::kWriter);
  if (compressor_memory_ != nullptr)
    compressor_ = ZSTD_initStaticCCtx(compressor_memory_, compressor_bytes_);
  BeginFile();
  return 0;
}

void LogFile::BeginFile() {
  log::FileHeader header{};
  memcpy(header.magic, log::kMagic, sizeof header.magic);
  header.version = log::kFormatVersion;
  header.reader_version = 1;
  batch_.Append(&header, sizeof header);
}

void LogFile::AddChunk(log::ChunkKind kind, const ByteBuffer& payload, std::uint32_t events,
                       std::uint64_t first_time_ns, std::uint64_t last_time_ns) {
  if (payload.failed()) return;
  const char* stored = payload.data();
  std::size_t stored_bytes = payload.size();
  log::ChunkFrame frame{};
  if (payload.size() >= kWorthCompressing && compressor_ != nullptr) {
    packed_.Clear();
    const std::size_t bound = ZSTD_compressBound(payload.size());
    if (packed_.Reserve(bound)) {
      const std::size_t bytes =
          ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(compressor_), packed_.data(), bound,
                            payload.data(), payload.size(), kCompressionLevel);
      if (ZSTD_isError(bytes) == 0 && bytes < payload.size()) {
        stored = packed_.data();
        stored_bytes = bytes;
        frame.flags = log::kChunkZstd;
      }
    }
  }
  if (IsRefused(kind, sizeof frame + stored_bytes)) {
    refused_ += events == 0 ? 1 : events;
    return;
  }
  // The longest logs have no index; readers then scan the file.
  index_full_ |= index_.size() >= kMaxIndexEntries || !index_.TryReserve(1);
  if (index_full_) index_.Clear();
  if (!index_full_)
    index_.Append({end() + batch_.size(), first_time_ns, last_time_ns,
                   static_cast<std::uint32_t>(kind), events});
  frame.sync = log::kChunkSync;
  frame.kind = static_cast<std::uint16_t>(kind);
  frame.stored_bytes = static_cast<std::uint32_t>(stored_bytes);
  frame.raw_bytes = static_cast<std::uint32_t>(payload.size());
  frame.events = events;
  const std::uint32_t crc = log::Crc32c(&frame, offsetof(log::ChunkFrame, crc32c));
  frame.crc32c = log::Crc32c(stored, stored_bytes, crc);
  batch_.Append(&frame, sizeof frame);
  batch_.Append(stored, stored_bytes);
}

bool LogFile::IsRefused(log::ChunkKind kind, std::size_t bytes) const {
  return limit_ != 0 && (kind == log::ChunkKind::kEvents || kind == log::ChunkKind::kDefinitions) &&
         end() + batch_.size() + bytes + end_bytes() > limit_;
}

bool LogFile::IsOurFile(int fd) const {
  struct stat status;
  return fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

// As for the ring: the program may have closed our descriptor and opened another file under its
// number, to which nothing must be written.
int LogFile::FileDescriptor() {
  if (fd_ >= 0 && IsOurFile(fd_)) return fd_;
  fd_ = -1;
  const int fd = open(path_, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  if (!IsOurFile(fd)) {
    close(fd);
    errno = ENOENT;
    return -1;
  }
  fd_ = MoveDescriptorHigh(fd);
  return fd_;
}

bool LogFile::removed() const {
  struct stat status;
  return fd_ >= 0 && fstat(fd_, &status) == 0 && status.st_nlink == 0;
}

int LogFile::Truncate(std::uint64_t bytes) {
  const int fd = FileDescriptor();
  if (fd < 0) return errno;
  return ftruncate(fd, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

int LogFile::WriteBatch() { return Write(end() > 0 && LeavesNoRoom() ? EFBIG : 0); }

// An entry of the index takes less than 40 bytes, even uncompressed.
bool LogFile::LeavesNoRoom() const { return end() + batch_.size() + end_bytes() > FileSizeLimit(); }

std::uint64_t LogFile::end_bytes() const {
  constexpr std::uint64_t kCountersAndTrailer = 4096;
  return (index_.size() + 2) * 40 + kCountersAndTrailer;
}

// Overwrites index and trailer, if the log was ended, in one call: a process that ends at this
// moment then leaves the old end or the new one. (The kernel may still stop between two pages.)
int LogFile::Write(int error) {
  if (batch_.size() == 0) return 0;
  const FileSizeSignalOff signal_off;
  const std::uint64_t start = end();
  const int fd = FileDescriptor();
  if (error == 0) error = fd < 0 ? errno : batch_.failed() ? ENOMEM : 0;
  std::size_t done = 0;
  while (error == 0 && done < batch_.size()) {
    const ssize_t written =
        pwrite(fd, batch_.data() + done, batch_.size() - done, static_cast<off_t>(start + done));
    if (written > 0)
      done += static_cast<std::size_t>(written);
    else if (written == 0)
      error = EIO;
    else if (errno != EINTR)
      error = errno;
  }
  if (error != 0) {
    if (done > 0 || finished_at_ == 0) {
      Truncate(start);
      size_ = start;
      finished_at_ = 0;
    }
    if (!index_full_) index_.Truncate(indexed_);
  } else {
    const std::uint64_t old_size = size_;
    size_ = start + batch_.size();
    finished_at_ = 0;
    indexed_ = index_.size();
    if (size_ < old_size) error = Truncate(size_);
  }
  batch_.Clear();
  return error;
}

void LogFile::EncodeIndex(ByteBuffer* payload) const {
  ProtoWriter message(*payload);
  for (const IndexEntry& entry : index_) {
    ProtoWriter chunk(message, 1);
    chunk.AddVarint(1, entry.offset);
    chunk.AddVarint(2, entry.kind);
    if (entry.events == 0) continue;
    chunk.AddVarint(3, entry.events);
    chunk.AddVarint(4, entry.first_time_ns);
    chunk.AddVarint(5, entry.last_time_ns);
  }
}

int LogFile::Finish(std::uint64_t end_time_ns, std::uint64_t events, const char* reason) {
  const std::uint64_t index_at = end() + batch_.size();
  ByteBuffer payload(Need::kWriter);
  if (!index_full_) EncodeIndex(&payload);
  // Without enough memory for the index, the log has none.
  index_full_ |= payload.failed() || !batch_.TryReserve(payload.size() + 2 * kWorthCompressing);
  const bool indexed = !index_full_;
  if (indexed) AddChunk(log::ChunkKind::kIndex, payload);
  payload.Clear();
  ProtoWriter trailer(payload);
  trailer.AddVarint(1, end_time_ns);
  trailer.AddVarint(2, events);
  trailer.AddText(3, reason);
  if (indexed) trailer.AddVarint(4, index_at);
  AddChunk(log::ChunkKind::kTrailer, payload);
  const int error = Write(0);
  if (error != 0) return error;
  // The index lists neither itself nor the trailer; a later Finish lists what precedes them.
  if (!index_full_) index_.Truncate(index_.size() - 2);
  indexed_ = index_.size();
  finished_at_ = index_at;
  return 0;
}

}  // namespace memprof::recorder
