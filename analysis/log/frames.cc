// Frames a stream as chunks are framed.
#include "analysis/log/frames.h"

#include <zstd.h>

#include <cstring>
#include <utility>

#include "analysis/log/internal/append.h"
#include "analysis/log/reader.h"
#include "proto/crc32c.h"

namespace memprof::analysis {

void AppendFrame(std::uint16_t kind, const std::string& payload, std::string* out) {
  AppendChunk(static_cast<log::ChunkKind>(kind), payload, 0, out);
}

absl::StatusOr<std::optional<StreamFrame>> FrameReader::Next() {
  log::ChunkFrame frame{};
  const std::size_t there = bytes_.size() - begin_;
  if (there < sizeof frame) return std::nullopt;
  std::memcpy(&frame, bytes_.data() + begin_, sizeof frame);
  if (!FramePlausible(frame) || frame.stored_bytes > kMostFrameBytes ||
      frame.raw_bytes > kMostFrameBytes)
    return absl::DataLossError("the stream is damaged: no frame");
  if (there - sizeof frame < frame.stored_bytes) return std::nullopt;
  const char* const stored = bytes_.data() + begin_ + sizeof frame;
  const std::uint32_t crc = log::Crc32c(&frame, offsetof(log::ChunkFrame, crc32c));
  if (log::Crc32c(stored, frame.stored_bytes, crc) != frame.crc32c)
    return absl::DataLossError("the stream is damaged: a wrong checksum");
  StreamFrame whole{.kind = frame.kind, .payload = {}};
  if ((frame.flags & log::kChunkZstd) == 0) {
    whole.payload.assign(stored, frame.stored_bytes);
  } else {
    whole.payload.resize(frame.raw_bytes);
    const std::size_t size =
        ZSTD_decompress(whole.payload.data(), whole.payload.size(), stored, frame.stored_bytes);
    if (ZSTD_isError(size) != 0 || size != frame.raw_bytes)
      return absl::DataLossError("the stream is damaged: it does not decompress");
  }
  begin_ += sizeof frame + frame.stored_bytes;
  // Moved together now and then, not for each frame.
  if (begin_ >= bytes_.size() / 2) bytes_.erase(0, std::exchange(begin_, 0));
  return whole;
}

}  // namespace memprof::analysis
