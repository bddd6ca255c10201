// Finds chunks and updates their checksums.
#include "tests/fuzz/signing.h"

#include <cstdint>
#include <cstring>

#include "proto/crc32c.h"
#include "proto/framing.h"

namespace memprof::fuzz {

std::vector<Place> Chunks(std::string_view bytes) {
  std::vector<Place> places;
  for (std::size_t at = sizeof(log::FileHeader); at + sizeof(log::ChunkFrame) <= bytes.size();) {
    log::ChunkFrame frame;
    std::memcpy(&frame, bytes.data() + at, sizeof frame);
    const std::size_t size = sizeof frame + frame.stored_bytes;
    if (frame.sync != log::kChunkSync || size > bytes.size() - at) break;
    places.push_back({at, size});
    at += size;
  }
  return places;
}

void Sign(std::string* bytes, const Place& place) {
  const std::uint32_t crc = log::Crc32c(
      bytes->data() + place.offset + sizeof(log::ChunkFrame), place.size - sizeof(log::ChunkFrame),
      log::Crc32c(bytes->data() + place.offset, offsetof(log::ChunkFrame, crc32c)));
  std::memcpy(bytes->data() + place.offset + offsetof(log::ChunkFrame, crc32c), &crc, sizeof crc);
}

}  // namespace memprof::fuzz
