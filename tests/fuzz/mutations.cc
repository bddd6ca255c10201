// Damages bytes, and whole logs.
#include "tests/fuzz/mutations.h"

#include <vector>

#include "proto/framing.h"
#include "tests/fuzz/rich_log.h"
#include "tests/fuzz/signing.h"

namespace memprof::fuzz {

void Scribble(std::mt19937& random, std::string* bytes, std::size_t begin, std::size_t size) {
  if (size == 0) return;
  for (int i = 1 + static_cast<int>(random() % 4); i > 0; --i) {
    char& byte = (*bytes)[begin + random() % size];
    constexpr char kEdges[] = {0, 1, 0x7f, static_cast<char>(0x80), static_cast<char>(0xff)};
    byte = random() % 2 ? kEdges[random() % 5] : static_cast<char>(byte ^ (1 << random() % 8));
  }
}

std::string MutatedLog(std::mt19937& random) {
  std::string bytes = RichLog(random, 40 + static_cast<int>(random() % 400),
                              {.events_per_chunk = 20, .compress = false});
  const std::vector<Place> chunks = Chunks(bytes);
  for (int i = 1 + static_cast<int>(random() % 3); i > 0; --i) {
    const Place& place = chunks[random() % chunks.size()];
    Scribble(random, &bytes, place.offset + sizeof(log::ChunkFrame),
             place.size - sizeof(log::ChunkFrame));
    Sign(&bytes, place);
  }
  return bytes;
}

}  // namespace memprof::fuzz
