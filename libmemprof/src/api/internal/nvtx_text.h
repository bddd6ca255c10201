// Texts, which NVTX passes in one of several forms.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

// Writes the text as zero-terminated UTF-8, cut to `room` bytes (at least 1) with the zero; returns
// its length without the zero. `type` is one of nvtx::MessageType, `value` the value of NVTX's
// union.
std::size_t NvtxText(std::int32_t type, const void* value, char* out, std::size_t room);

}  // namespace memprof::recorder
