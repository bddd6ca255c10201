// Frames chunks, and writes them.
#include "analysis/log/internal/append.h"

#include <zstd.h>

#include <cerrno>

#include "analysis/log/reader.h"
#include "proto/crc32c.h"

namespace memprof::analysis {
namespace {

constexpr int kCompressionLevel = 3;

}  // namespace

void AppendChunk(log::ChunkKind kind, const std::string& raw, std::uint32_t events,
                 std::string* chunks) {
  std::string stored(ZSTD_compressBound(raw.size()), '\0');
  const std::size_t bytes =
      ZSTD_compress(stored.data(), stored.size(), raw.data(), raw.size(), kCompressionLevel);
  log::ChunkFrame frame{};
  frame.sync = log::kChunkSync;
  frame.kind = static_cast<std::uint16_t>(kind);
  frame.flags = log::kChunkZstd;
  frame.stored_bytes = static_cast<std::uint32_t>(bytes);
  frame.raw_bytes = static_cast<std::uint32_t>(raw.size());
  // Readers take what is compressed too well for a decompression bomb.
  if (ZSTD_isError(bytes) == 0 && bytes < raw.size() && FramePlausible(frame)) {
    stored.resize(bytes);
  } else {
    stored = raw;
    frame.flags = 0;
    frame.stored_bytes = frame.raw_bytes;
  }
  frame.events = events;
  const std::uint32_t crc = log::Crc32c(&frame, offsetof(log::ChunkFrame, crc32c));
  frame.crc32c = log::Crc32c(stored.data(), stored.size(), crc);
  chunks->append(reinterpret_cast<const char*>(&frame), sizeof frame);
  chunks->append(stored);
}

bool WriteAll(int fd, const std::string& bytes, std::uint64_t offset) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written =
        pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return fdatasync(fd) == 0;
}

}  // namespace memprof::analysis
