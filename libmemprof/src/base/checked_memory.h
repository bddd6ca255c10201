// Reads memory that may not be mapped.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

// Whether the whole range can be read now. About 100 ns a page. Keeps errno.
bool IsReadable(std::uint64_t address, std::size_t bytes);

// Copies the range to `to`. False, and `to` is unchanged, when it cannot be read.
bool ReadChecked(std::uint64_t address, void* to, std::size_t bytes);
template <typename Value>
bool ReadChecked(std::uint64_t address, Value* value) {
  return ReadChecked(address, value, sizeof *value);
}

}  // namespace memprof::recorder
