// The hash function of the recorder's tables: fast, and good in its low bits. Not stable across
// versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace memprof::recorder {

// Odd, so that multiplication by it is one to one.
inline constexpr std::uint64_t kHashFactor = 0x9fb21c651e98df25u;
// The initial value of a hash; spreads small numbers.
inline constexpr std::uint64_t kHashSeed = 0x9e3779b97f4a7c15u;

constexpr std::uint64_t Mix(std::uint64_t value) {
  value *= kHashFactor;
  return value ^ value >> 32;
}
constexpr std::uint64_t Mix(std::uint64_t hash, std::uint64_t value) { return Mix(hash ^ value); }

// Never 0.
inline std::uint64_t HashBytes(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const unsigned char*>(data);
  std::uint64_t hash = Mix(kHashSeed, bytes);
  while (bytes > 0) {
    std::uint64_t word = 0;
    const std::size_t take = bytes < 8 ? bytes : 8;
    std::memcpy(&word, at, take);
    hash = Mix(hash, word);
    at += take;
    bytes -= take;
  }
  return hash == 0 ? 1 : hash;
}

}  // namespace memprof::recorder
