// Shared by tests of arrays and buffers that take memory from the account.
#pragma once

#include <cstdint>
#include <string>

#include "libmemprof/src/base/byte_buffer.h"

namespace memprof::recorder {

inline constexpr std::uint64_t kMib = std::uint64_t{1} << 20;

inline std::string Text(const ByteBuffer& buffer) {
  return buffer.size() == 0 ? "" : std::string(buffer.data(), buffer.size());
}

}  // namespace memprof::recorder
