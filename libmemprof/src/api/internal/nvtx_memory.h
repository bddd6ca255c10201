// Texts that NVTX gives in one of several forms.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

// The text as UTF-8 with its end, cut to `room`; its length. `type` is one of nvtx::MessageType,
// `value` what NVTX's union holds.
std::size_t NvtxText(std::int32_t type, const void* value, char* out, std::size_t room);

}  // namespace memprof::recorder
