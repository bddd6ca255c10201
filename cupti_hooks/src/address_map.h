// Which 2 MiB granules of the address space ever held memory of the driver, as two bitmaps over
// 47 bits of address: a launch asks it which of its argument words can be device pointers, and a
// copy through unified addressing asks which way it goes.
//
// Marks are never taken back, so an answer may be a false yes, never a false no for memory that
// was marked. Lookups and marks are lock-free; only the touched pages of the maps (one page covers
// 64 GiB of addresses) take memory.
#pragma once

#include <cstdint>

namespace memprof::cupti {

enum class MemorySide { kDevice, kHost };

// Maps the bitmaps. Idempotent; called under the control lock. False when there is no address
// space left, in which case every lookup answers no.
bool OpenAddressMap();
void MarkAddresses(MemorySide side, std::uint64_t address, std::uint64_t bytes);
bool IsMarked(MemorySide side, std::uint64_t address);
// In either map.
bool IsMarked(std::uint64_t address);

}  // namespace memprof::cupti
