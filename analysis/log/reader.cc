// Finds, checks and returns the chunks of a log file.
#include "analysis/log/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "analysis/log/decode.h"
#include "proto/crc32c.h"

namespace memprof::analysis {
namespace {

constexpr std::uint64_t kFrameBytes = sizeof(log::ChunkFrame);
constexpr std::uint64_t kFirstChunk = sizeof(log::FileHeader);
constexpr std::size_t kWindowBytes = 256u << 10;  // read at a time while scanning

absl::Status OpenError(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      if (absl::StartsWith(path, "ssh://"))
        return absl::NotFoundError(
            absl::StrCat(path,
                         ": is on another machine: run this there, as 'ssh HOST memprof ...', or "
                         "see it here by 'memprof view'"));
      return absl::NotFoundError(absl::StrCat(path, ": no such file"));
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(absl::StrCat(path, ": permission denied"));
    default:
      return absl::UnavailableError(absl::StrCat(path, ": cannot be read: ", strerror(error)));
  }
}

std::uint32_t FrameCrc(const log::ChunkFrame& frame) {
  return log::Crc32c(&frame, offsetof(log::ChunkFrame, crc32c));
}

}  // namespace

bool FramePlausible(const log::ChunkFrame& frame) {
  // zstd compresses columns of repeated values several hundredfold, but only short columns. A
  // larger ratio in a long payload is a decompression bomb.
  const std::uint64_t most = (4u << 20) + 256ull * frame.stored_bytes;
  return frame.sync == log::kChunkSync && frame.stored_bytes <= log::kMaxStoredBytes &&
         frame.raw_bytes <= log::kMaxRawBytes && frame.events <= log::kMaxEventsPerChunk &&
         ((frame.flags & log::kChunkZstd) != 0 ? frame.raw_bytes <= most
                                               : frame.raw_bytes == frame.stored_bytes);
}

bool DefinitionsPlausible(std::uint64_t raw_bytes, std::uint64_t file_bytes) {
  return raw_bytes <= (16u << 20) + 64 * file_bytes;
}

LogReader::LogReader(std::string path, int descriptor, std::uint64_t file_bytes)
    : path_(std::move(path)), descriptor_(descriptor), file_bytes_(file_bytes) {}

LogReader::~LogReader() { close(descriptor_); }

absl::StatusOr<std::unique_ptr<LogReader>> LogReader::Open(const std::string& path, Mode mode,
                                                           std::uint64_t from) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return OpenError(path, errno);
  struct stat info {};
  const int failed = fstat(descriptor, &info);
  std::unique_ptr<LogReader> reader(
      new LogReader(path, descriptor, failed ? 0 : static_cast<std::uint64_t>(info.st_size)));
  reader->owner_ = info.st_uid;
  if (S_ISDIR(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a directory, not a memprof log"));
  if (failed || !S_ISREG(info.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
  if (absl::Status status = reader->ReadFileHeader(); !status.ok()) return status;
  Chunk first;
  if (mode == Mode::kFirst) {
    if (reader->ReadFrame(kFirstChunk, &first)) reader->chunks_.push_back(first);
  } else if (mode == Mode::kScan || !reader->LoadIndex()) {
    reader->Scan(std::max<std::uint64_t>(from, kFirstChunk));
  }
  if (reader->chunks_.empty() && from == 0) {
    return absl::DataLossError(
        reader->damage_.empty()
            ? absl::StrCat(path, ": is cut off before its first chunk; nothing was recorded")
            : absl::StrCat(path, ": is damaged; nothing in it can be read"));
  }
  return reader;
}

absl::Status LogReader::ReadFileHeader() {
  if (file_bytes_ == 0) return absl::InvalidArgumentError(absl::StrCat(path_, ": is empty"));
  log::FileHeader header{};
  const std::size_t size = std::min<std::uint64_t>(sizeof header, file_bytes_);
  if (!ReadAt(0, &header, size))
    return absl::UnavailableError(absl::StrCat(path_, ": cannot be read"));
  if (std::memcmp(header.magic, log::kMagic, std::min(size, sizeof log::kMagic)) != 0)
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is not a memprof log"));
  if (size < sizeof header)
    return absl::InvalidArgumentError(absl::StrCat(path_, ": is cut off in its first bytes"));
  if (header.reader_version > log::kFormatVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": has log format ", header.version, ", which needs a newer memprof (",
                     "this one reads format ", log::kFormatVersion, ")"));
  }
  version_ = header.version;
  return absl::OkStatus();
}

bool LogReader::ReadAt(std::uint64_t offset, void* data, std::size_t size) const {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = pread(descriptor_, at, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;  // an error, or the file became shorter
    at += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// Reads a frame and checks all but the checksum: a sound frame whose payload lies in the file.
bool LogReader::ReadFrame(std::uint64_t offset, Chunk* chunk) const {
  if (file_bytes_ < kFrameBytes || offset > file_bytes_ - kFrameBytes) return false;
  chunk->offset = offset;
  return ReadAt(offset, &chunk->frame, kFrameBytes) && FramePlausible(chunk->frame) &&
         chunk->end() <= file_bytes_;
}

bool LogReader::ChecksumHolds(const Chunk& chunk) const {
  char window[16384];
  std::uint32_t crc = FrameCrc(chunk.frame);
  for (std::uint64_t at = chunk.offset + kFrameBytes; at < chunk.end();) {
    const std::size_t size = std::min<std::uint64_t>(sizeof window, chunk.end() - at);
    if (!ReadAt(at, window, size)) return false;
    crc = log::Crc32c(window, size, crc);
    at += size;
  }
  return crc == chunk.frame.crc32c;
}

// The trailer is the last chunk; its frame is searched backwards from the end of the file.
bool LogReader::FindTrailer(Chunk* trailer) const {
  char tail[4096];
  const std::uint64_t size = std::min<std::uint64_t>(sizeof tail, file_bytes_ - kFirstChunk);
  if (size < kFrameBytes || !ReadAt(file_bytes_ - size, tail, size)) return false;
  for (std::uint64_t back = kFrameBytes; back <= size; ++back) {
    std::uint32_t sync = 0;
    std::memcpy(&sync, tail + size - back, sizeof sync);
    if (sync == log::kChunkSync && ReadFrame(file_bytes_ - back, trailer) &&
        trailer->end() == file_bytes_ && trailer->kind() == log::ChunkKind::kTrailer &&
        ChecksumHolds(*trailer))
      return true;
  }
  return false;
}

bool LogReader::LoadIndex() {
  Chunk trailer, index;
  if (!FindTrailer(&trailer)) return false;
  PayloadBuffer buffer;
  const absl::StatusOr<std::string_view> payload = ReadPayload(trailer, &buffer);
  TrailerRecord record;
  if (!payload.ok() || !DecodeTrailer(*payload, &record) || record.index_offset < kFirstChunk ||
      !ReadFrame(record.index_offset, &index) || index.kind() != log::ChunkKind::kIndex ||
      index.end() != trailer.offset)
    return false;
  if (!LoadIndexEntries(index)) {
    chunks_.clear();
    return false;
  }
  chunks_.push_back(index);
  chunks_.push_back(trailer);
  used_index_ = true;
  return true;
}

// Accepts the index only if its chunks cover the file without a gap and agree with every frame.
bool LogReader::LoadIndexEntries(const Chunk& index) {
  PayloadBuffer buffer;
  const absl::StatusOr<std::string_view> payload = ReadPayload(index, &buffer);
  std::vector<IndexRecord> entries;
  if (!payload.ok() || !DecodeIndex(*payload, &entries)) return false;
  std::uint64_t expected = kFirstChunk;
  for (const IndexRecord& entry : entries) {
    Chunk chunk;
    if (entry.offset != expected || !ReadFrame(entry.offset, &chunk) ||
        chunk.frame.kind != entry.kind || chunk.frame.events != entry.events)
      return false;
    chunks_.push_back(chunk);
    expected = chunk.end();
  }
  return expected == index.offset;
}

void LogReader::Scan(std::uint64_t from) {
  // After damage, the search for the next sound chunk computes a checksum for every four bytes that
  // look like a chunk's beginning. The budget bounds the time for a hostile file.
  std::uint64_t budget = 16 * file_bytes_ + (64u << 20);
  for (std::uint64_t at = from; at < file_bytes_;) {
    Chunk chunk;
    const bool framed = ReadFrame(at, &chunk);
    if (framed && ChecksumHolds(chunk)) {
      chunks_.push_back(chunk);
      at = chunk.end();
      continue;
    }
    const std::uint64_t next = NextSound(at + 1, &budget);
    const bool reaches_end = file_bytes_ - at < kFrameBytes ||
                             (FramePlausible(chunk.frame) && chunk.end() > file_bytes_);
    if (next == file_bytes_ && reaches_end) {
      tail_cut_ = true;
      tail_offset_ = at;
      return;
    }
    damage_.push_back({at, next, framed ? "bad checksum" : "not a chunk"});
    at = next;
  }
}

// Offset of the first sound chunk at or after `from`; the file's size if there is none.
std::uint64_t LogReader::NextSound(std::uint64_t from, std::uint64_t* budget) const {
  std::vector<char> window(kWindowBytes);
  const std::uint32_t sync = log::kChunkSync;
  while (from + kFrameBytes <= file_bytes_) {
    const std::size_t size = std::min<std::uint64_t>(window.size(), file_bytes_ - from);
    if (!ReadAt(from, window.data(), size)) break;
    const char* at = window.data();
    const char* const end = at + size;
    for (; (at = static_cast<const char*>(
                memmem(at, static_cast<std::size_t>(end - at), &sync, sizeof sync)));
         ++at) {
      Chunk chunk;
      if (!ReadFrame(from + static_cast<std::uint64_t>(at - window.data()), &chunk)) continue;
      const std::uint64_t cost = kFrameBytes + chunk.frame.stored_bytes;
      if (cost > *budget) return file_bytes_;
      *budget -= cost;
      if (ChecksumHolds(chunk)) return chunk.offset;
    }
    if (size < window.size()) break;
    from += size - (sizeof sync - 1);  // a sync may straddle two windows
  }
  return file_bytes_;
}

void LogReader::DropBehind(std::uint64_t bytes) {
  if (bytes >= file_bytes_) return;
  std::erase_if(chunks_, [bytes](const Chunk& chunk) { return chunk.end() > bytes; });
  std::erase_if(damage_, [bytes](const Damage& damage) { return damage.end > bytes; });
  tail_cut_ = false;
}

absl::StatusOr<std::string_view> LogReader::ReadPayload(const Chunk& chunk,
                                                        PayloadBuffer* buffer) const {
  const auto damaged = [&](const char* what) {
    return absl::DataLossError(absl::StrCat(path_, ": chunk at offset ", chunk.offset, ": ", what));
  };
  const log::ChunkFrame& frame = chunk.frame;
  if (!FramePlausible(frame) || chunk.end() > file_bytes_) return damaged("not a chunk");
  if (buffer->stored.size() < frame.stored_bytes) buffer->stored.resize(frame.stored_bytes);
  if (!ReadAt(chunk.offset + kFrameBytes, buffer->stored.data(), frame.stored_bytes))
    return damaged("cannot be read");
  if (log::Crc32c(buffer->stored.data(), frame.stored_bytes, FrameCrc(frame)) != frame.crc32c)
    return damaged("bad checksum");
  if ((frame.flags & log::kChunkZstd) == 0)
    return std::string_view(buffer->stored.data(), frame.stored_bytes);
  if (buffer->raw.size() < frame.raw_bytes) buffer->raw.resize(frame.raw_bytes);
  const std::size_t size = ZSTD_decompress(buffer->raw.data(), frame.raw_bytes,
                                           buffer->stored.data(), frame.stored_bytes);
  if (ZSTD_isError(size) || size != frame.raw_bytes) return damaged("does not decompress");
  return std::string_view(buffer->raw.data(), frame.raw_bytes);
}

}  // namespace memprof::analysis
