// How much of a device other processes use, so that the ledger can tell it from what is its own
// and unexplained. On a machine with NVIDIA's driver NVML says it; on the stand-in, an extension.
#pragma once

#include <cstdint>

namespace memprof::recorder {

// 1 + the bytes that other processes use on the device, or 0 where that is not known. The answer
// may be a second old. With `may_load`, libnvidia-ml is loaded if the program has not done so.
// Thread-safe; may be slow (milliseconds) once a second, and tens of them when it loads.
std::uint64_t OtherProcesses(std::int32_t device, std::uint64_t total_bytes, std::uint64_t now_ns,
                             bool may_load);

}  // namespace memprof::recorder
