// Looks at memory that may not be there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

// Whether all of it can be read now. About 100 ns for each page. Keeps errno.
bool IsReadable(std::uint64_t address, std::size_t bytes);

// Copies it to `to`; false, with `to` as it was, where it cannot be read.
bool ReadChecked(std::uint64_t address, void* to, std::size_t bytes);
template <typename Value>
bool ReadChecked(std::uint64_t address, Value* value) {
  return ReadChecked(address, value, sizeof *value);
}

}  // namespace memprof::recorder
