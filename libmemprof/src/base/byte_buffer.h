// A growing buffer of bytes (MappedArray) into which varints can be written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/mapped_array.h"

namespace memprof::recorder {

class ByteBuffer : public MappedArray<char> {
 public:
  static constexpr std::size_t kMaxVarintBytes = 10;

  using MappedArray<char>::MappedArray;
  void Append(const void* bytes, std::size_t count) {
    MappedArray<char>::Append(static_cast<const char*>(bytes), count);
  }
  void AppendByte(unsigned char byte) { MappedArray<char>::Append(static_cast<char>(byte)); }
  // The caller has reserved kMaxVarintBytes.
  void PutVarint(std::uint64_t value) {
    char* at = end();
    while (value >= 0x80) {
      *at++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at++ = static_cast<char>(value);
    SetEnd(at);
  }
};

}  // namespace memprof::recorder
