// Checksums of mutated logs: without good ones no mutation would reach a decoder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::fuzz {

struct Place {
  std::size_t offset = 0, size = 0;  // of a chunk
};

// The chunks of a log as their frames tile it; ends at the first that does not fit.
std::vector<Place> Chunks(std::string_view bytes);

// Makes the checksum of the chunk at `place` good again.
void Sign(std::string* bytes, const Place& place);

}  // namespace memprof::fuzz
