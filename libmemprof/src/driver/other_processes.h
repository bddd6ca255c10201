// How much of a device other processes use, so that readers do not report it as unexplained memory.
// From NVML with NVIDIA's driver, from an extension with the stand-in.
#pragma once

#include <cstdint>

namespace memprof::recorder {

// 1 + the bytes that other processes use on the device; 0 if that is not known. The result may be a
// second old. With `may_load`, loads libnvidia-ml if the program has not done so. Thread-safe.
// Takes milliseconds once a second, and tens of milliseconds when it loads the library.
std::uint64_t OtherProcesses(std::int32_t device, std::uint64_t total_bytes, std::uint64_t now_ns,
                             bool may_load);

}  // namespace memprof::recorder
