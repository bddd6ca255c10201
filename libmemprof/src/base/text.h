// Text that may stand in a protobuf `string`: valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/byte_buffer.h"

namespace memprof::recorder {

inline constexpr std::size_t kMaxTextBytes = 32 * 1024;

// Bytes of the UTF-8 sequence that begins at `text`, of `length` bytes at most; 0 if there is none.
std::size_t Utf8SequenceLength(const unsigned char* text, std::size_t length);

// Writes the code point, or U+FFFD for an invalid one, to `bytes`, which must have space for 4;
// returns the number of bytes written.
std::size_t EncodeUtf8(std::uint32_t point, char* bytes);

// True when `text` needs no change.
bool IsCleanText(const char* text, std::size_t length);

// Appends `text` to `out`, cut after kMaxTextBytes bytes, every byte that is not part of valid
// UTF-8 replaced by U+FFFD.
void AppendCleanText(const char* text, std::size_t length, ByteBuffer* out);

}  // namespace memprof::recorder
