// Two bitmaps over all addresses of a program: which 2 MiB granules ever held device memory of the
// driver, and which held pinned host memory. A launch uses them to find device pointers among its
// arguments; a copy between unified addresses uses them to find its direction.
//
// Marks are never removed. So a lookup may answer yes for memory that was freed, but never no for
// memory that was marked. Lookups and marks are lock-free. Only the touched pages of the bitmaps
// (one page covers 64 GiB of addresses) take memory.
#pragma once

#include <cstdint>

namespace memprof::cupti {

enum class MemorySide { kDevice, kHost };

// Maps the bitmaps. May be called again; needs the control lock. False when there is no address
// space left: every lookup then answers no.
bool OpenAddressMap();
void MarkAddresses(MemorySide side, std::uint64_t address, std::uint64_t bytes);
bool IsMarked(MemorySide side, std::uint64_t address);
// Whether either bitmap has the mark.
bool IsMarked(std::uint64_t address);

}  // namespace memprof::cupti
