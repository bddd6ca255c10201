// Checksums of mutated logs: without valid checksums no mutation would reach a decoder.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::fuzz {

struct Place {
  std::size_t offset = 0, size = 0;  // of a chunk
};

// The chunks of a log as delimited by their frames; ends at the first frame that is not valid.
std::vector<Place> Chunks(std::string_view bytes);

// Makes the checksum of the chunk at `place` valid again.
void Sign(std::string* bytes, const Place& place);

}  // namespace memprof::fuzz
