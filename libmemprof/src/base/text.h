// Text that may stand in a protobuf `string`: valid UTF-8.
#pragma once

#include <cstddef>

#include "libmemprof/src/base/byte_buffer.h"

namespace memprof::recorder {

inline constexpr std::size_t kLongestText = 32 * 1024;

// Bytes of the UTF-8 sequence that begins at `text`, of `length` bytes at most; 0 if there is none.
std::size_t Utf8SequenceLength(const unsigned char* text, std::size_t length);

// True when `text` needs no change.
bool IsCleanText(const char* text, std::size_t length);

// Appends `text` to `out`, cut after kLongestText bytes, every byte that is not part of valid
// UTF-8 replaced by U+FFFD.
void AppendCleanText(const char* text, std::size_t length, ByteBuffer* out);

}  // namespace memprof::recorder
