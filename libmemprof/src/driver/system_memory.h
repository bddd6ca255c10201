// The file cache in the memory of a GPU that shares the system's memory. cuMemGetInfo counts it as
// used, though the system gives it up when memory is asked for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

// Sums up "Cached", "Buffers" and "FilePages" of a meminfo file, of the system or of a NUMA node,
// less "Shmem", which is no cache though it is counted there. 1 + bytes; 0 if it names none of
// them.
std::uint64_t ParseFileCache(const char* text, std::size_t bytes);

// 1 + the bytes of the file cache in the memory of the device: of its NUMA node if it is one (as
// GH200 is), of the whole system for an integrated GPU. 0 for other devices, and where the system
// does not say. Reads a file of /sys or /proc. Thread-safe.
std::uint64_t FileCache(std::int32_t device);

}  // namespace memprof::recorder
