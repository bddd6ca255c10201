// The log on disk. Chunks are framed into a batch, which is written at once, so that a process
// killed at any moment leaves a log that is consistent with its ring (proto/ring.h).
//
// Not thread-safe: used by the thread that starts recording, then by the writer thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "libmemprof/src/base/byte_buffer.h"
#include "libmemprof/src/base/mapped_array.h"
#include "proto/framing.h"

namespace memprof::recorder {

inline constexpr std::size_t kMaxPathBytes = 4096;

class LogFile {
 public:
  LogFile() = default;
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Creates the log that `pattern` names (output_name.h), and its folders. Nothing is ever
  // overwritten: where the name is taken by anything but an empty file of ours, the process id and
  // then a number are inserted before the extension. Returns 0 or an errno.
  int Create(const char* pattern);

  // Absolute.
  const char* path() const { return path_; }
  // Bytes of the file once all batches are written.
  std::uint64_t size() const { return size_; }
  std::size_t batch_bytes() const { return batch_.size(); }

  // From now on no chunk of events or definitions makes the log larger than that; 0 = no limit.
  void SetLimit(std::uint64_t bytes) { limit_ = bytes; }
  // Events, and chunks of definitions, that were refused for that since the last call.
  std::uint64_t TakeRefused() { return std::exchange(refused_, 0); }

  // Adds a chunk to the batch. `events` and the times are for ChunkKind::kEvents.
  void AddChunk(log::ChunkKind kind, const ByteBuffer& payload, std::uint32_t events = 0,
                std::uint64_t first_time_ns = 0, std::uint64_t last_time_ns = 0);

  // Writes the batch. Returns 0, or an errno after the file was cut back to its last complete
  // batch; an existing end that could not be replaced stays. If the size of files is limited
  // (RLIMIT_FSIZE), the last part is kept for Finish, which writes why the log ends there.
  int WriteBatch();

  // Writes the batch, then index and trailer. The next batch overwrites these, and Finish writes
  // them again: the log is complete at every moment.
  int Finish(std::uint64_t end_time_ns, std::uint64_t events, const char* reason);
  bool finished() const { return finished_at_ != 0; }
  // At most, of the index and the trailer that Finish writes.
  std::uint64_t end_bytes() const;

  // log_segments.cc. After Finish: the log gets the name of a segment, and a new one begins under
  // its own name, with this header and the definitions of the one before. `kept` segments stay,
  // older ones are removed, also those of earlier recordings here. Returns 0 or an errno.
  int BeginNext(const ByteBuffer& header, std::uint32_t kept);
  // "run.mprof" becomes "run.segment-7.mprof". False if that is too long.
  bool NameOfSegment(std::uint32_t number, char* path, std::size_t size) const;
  // The log cannot be found any more: its name was removed.
  bool removed() const;

 private:
  struct IndexEntry {
    std::uint64_t offset;
    std::uint64_t first_time_ns;
    std::uint64_t last_time_ns;
    std::uint32_t kind;
    std::uint32_t events;
  };
  struct Segment {
    std::uint32_t number;
    std::uint64_t device;
    std::uint64_t inode;
  };
  static int ExpandAbsolute(const char* pattern, char* path, std::size_t size);
  int CreateAt(const char* path);
  void BeginFile();
  int KeepAsSegment();
  void AdoptSegments();
  void Adopt(int folder, const char* name);
  void CopyDefinitions(int from, std::uint64_t bytes);
  void RemoveOldest();
  // `error`: if not 0, the reason why nothing may be written.
  int Write(int error);
  // Whether counters, index and trailer would no longer fit after the batch.
  bool LeavesNoRoom() const;
  bool IsRefused(log::ChunkKind kind, std::size_t bytes) const;
  bool IsOurFile(int fd) const;
  int FileDescriptor();
  int Truncate(std::uint64_t bytes);
  // Where the batch is written.
  std::uint64_t end() const { return finished_at_ != 0 ? finished_at_ : size_; }
  void EncodeIndex(ByteBuffer* payload) const;

  int fd_ = -1;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t finished_at_ = 0;  // where the index begins, once finished
  std::size_t indexed_ = 0;        // entries of index_ that belong to written batches
  ByteBuffer batch_{Need::kWriter};
  MappedArray<IndexEntry> index_;
  bool index_full_ = false;
  std::uint64_t limit_ = 0;
  std::uint64_t refused_ = 0;
  ByteBuffer packed_{Need::kWriter};
  void* compressor_memory_ = nullptr;
  void* compressor_ = nullptr;  // ZSTD_CCtx, within compressor_memory_
  std::size_t compressor_bytes_ = 0;
  MappedArray<Segment> segments_{Need::kWriter};
  std::uint32_t last_segment_ = 0;
  bool adopted_ = false;
  char path_[kMaxPathBytes] = "";
};

}  // namespace memprof::recorder
