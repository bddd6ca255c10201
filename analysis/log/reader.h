// The outermost layer of a log file: finds its chunks, checks them and returns their payloads. The
// framing is described in docs/log-format.md.
//
// A log is hostile input: every size is checked against the limits of proto/framing.h and against
// the file before memory is allocated, and the work is bounded by a multiple of the file's size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/framing.h"

namespace memprof::analysis {

// A chunk with a sound frame, and with a sound checksum, unless it was found through the index.
struct Chunk {
  std::uint64_t offset = 0;  // of the frame
  log::ChunkFrame frame{};

  log::ChunkKind kind() const { return static_cast<log::ChunkKind>(frame.kind); }
  std::uint64_t end() const { return offset + sizeof(log::ChunkFrame) + frame.stored_bytes; }
};

// Bytes [begin, end) of the file, which belong to no sound chunk.
struct Damage {
  std::uint64_t begin = 0, end = 0;
  std::string what;
};

// Memory for payloads; one per thread, reused for each chunk.
struct PayloadBuffer {
  std::vector<char> stored, raw;
};

// An open log and the list of its chunks. Const member functions are thread-safe.
class LogReader {
 public:
  // kUseIndex trusts the index of a cleanly ended log for the positions of chunks (wrong checksums
  // are then only found by ReadPayload); kScan reads the whole file and checks everything; kFirst
  // reads only where the first chunk is, the header. With `from`, where a chunk ends, kScan begins
  // there; then no chunk is no error.
  enum class Mode { kUseIndex, kScan, kFirst };

  // Errors: kNotFound, kPermissionDenied, kInvalidArgument (empty, foreign, newer format),
  // kDataLoss (no sound chunk in it). One line that names the file.
  static absl::StatusOr<std::unique_ptr<LogReader>> Open(const std::string& path, Mode mode,
                                                         std::uint64_t from = 0);
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t file_bytes() const { return file_bytes_; }  // when it was opened
  std::uint32_t owner() const { return owner_; }            // user id
  std::uint32_t version() const { return version_; }
  const std::vector<Chunk>& chunks() const { return chunks_; }
  const std::vector<Damage>& damage() const { return damage_; }
  bool used_index() const { return used_index_; }
  // Whether the file ends inside a chunk, which begins at tail_offset().
  bool tail_cut() const { return tail_cut_; }
  std::uint64_t tail_offset() const { return tail_offset_; }

  // Ignores everything after the first `bytes` bytes.
  void DropBehind(std::uint64_t bytes);

  // Reads a chunk's payload, checks its CRC and decompresses it. The view lives in `buffer`.
  // Error: kDataLoss.
  absl::StatusOr<std::string_view> ReadPayload(const Chunk& chunk, PayloadBuffer* buffer) const;

 private:
  LogReader(std::string path, int descriptor, std::uint64_t file_bytes);

  absl::Status ReadFileHeader();
  bool LoadIndex();
  bool FindTrailer(Chunk* trailer) const;
  bool LoadIndexEntries(const Chunk& index);
  void Scan(std::uint64_t from);
  std::uint64_t NextSound(std::uint64_t from, std::uint64_t* budget) const;
  bool ReadAt(std::uint64_t offset, void* data, std::size_t size) const;
  bool ReadFrame(std::uint64_t offset, Chunk* chunk) const;
  bool ChecksumHolds(const Chunk& chunk) const;

  std::string path_;
  int descriptor_;
  std::uint64_t file_bytes_;
  std::uint32_t owner_ = 0;
  std::uint32_t version_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<Damage> damage_;
  bool used_index_ = false, tail_cut_ = false;
  std::uint64_t tail_offset_ = 0;
};

// Whether the sizes of a frame are within the limits, and its compression ratio is plausible.
bool FramePlausible(const log::ChunkFrame& frame);
// Definitions take memory proportional to their raw size; those of real logs, taken together,
// compress by less than this allows.
bool DefinitionsPlausible(std::uint64_t raw_bytes, std::uint64_t file_bytes);

}  // namespace memprof::analysis
