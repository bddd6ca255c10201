// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected), as in RFC 3720 appendix B.4.
// Header-only, because the recorder and the readers need the same function and share no library.
// Thread-safe; no allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace memprof::log {
namespace internal {

constexpr std::array<std::array<std::uint32_t, 256>, 8> MakeCrc32cTables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);
    tables[0][i] = crc;
  }
  for (std::uint32_t i = 0; i < 256; ++i)
    for (std::size_t k = 1; k < 8; ++k)
      tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xff];
  return tables;
}

inline constexpr auto kCrc32cTables = MakeCrc32cTables();

}  // namespace internal

// Returns the CRC of `size` bytes at `data`, continuing from `crc` (0 at the start):
// Crc32c(b, n, Crc32c(a, m)) equals the CRC of a followed by b.
inline std::uint32_t Crc32c(const void* data, std::size_t size, std::uint32_t crc = 0) {
  const auto& tables = internal::kCrc32cTables;
  const auto* bytes = static_cast<const unsigned char*>(data);
  crc = ~crc;
  for (; size >= 8; bytes += 8, size -= 8) {  // slicing-by-8: one table per byte position
    const std::uint32_t low = crc ^ (bytes[0] | bytes[1] << 8 | bytes[2] << 16 |
                                     static_cast<std::uint32_t>(bytes[3]) << 24);
    crc = tables[7][low & 0xff] ^ tables[6][(low >> 8) & 0xff] ^ tables[5][(low >> 16) & 0xff] ^
          tables[4][low >> 24] ^ tables[3][bytes[4]] ^ tables[2][bytes[5]] ^ tables[1][bytes[6]] ^
          tables[0][bytes[7]];
  }
  for (; size > 0; ++bytes, --size) crc = (crc >> 8) ^ tables[0][(crc ^ *bytes) & 0xff];
  return ~crc;
}

}  // namespace memprof::log
