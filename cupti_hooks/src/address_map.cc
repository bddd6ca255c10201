// Bitmaps of the granules that ever held driver memory.
#include "cupti_hooks/src/address_map.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#include "libmemprof/src/arch/arch.h"

namespace memprof::cupti {
namespace {

constexpr unsigned kGranuleBits = 21;  // 2 MiB, the driver's own granularity
constexpr std::uint64_t kGranules = std::uint64_t{1}
                                    << (recorder::arch::kAddressBits - kGranuleBits);
constexpr std::size_t kWords = kGranules / 64;

using Word = std::atomic<std::uint64_t>;
static_assert(sizeof(Word) == 8 && Word::is_always_lock_free);

// Zero pages of an anonymous mapping are valid zero-initialised atomics.
std::atomic<Word*> g_maps[2];

Word* Map(MemorySide side) {
  return g_maps[side == MemorySide::kHost ? 1 : 0].load(std::memory_order_acquire);
}

}  // namespace

bool OpenAddressMap() {
  for (auto& map : g_maps) {
    if (map.load(std::memory_order_acquire) != nullptr) continue;
    void* memory = mmap(nullptr, kWords * sizeof(Word), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    map.store(static_cast<Word*>(memory), std::memory_order_release);
  }
  return true;
}

void MarkAddresses(MemorySide side, std::uint64_t address, std::uint64_t bytes) {
  Word* map = Map(side);
  if (map == nullptr || bytes == 0) return;
  const std::uint64_t first = address >> kGranuleBits;
  if (first >= kGranules) return;
  std::uint64_t last = kGranules - 1;
  if (bytes - 1 <= ~address) {
    const std::uint64_t end = (address + (bytes - 1)) >> kGranuleBits;
    if (end < last) last = end;
  }
  for (std::uint64_t word = first / 64; word <= last / 64; ++word) {
    std::uint64_t mask = ~std::uint64_t{0};
    if (word == first / 64) mask &= ~std::uint64_t{0} << (first % 64);
    if (word == last / 64) mask &= ~std::uint64_t{0} >> (63 - last % 64);
    if ((map[word].load(std::memory_order_relaxed) & mask) != mask) {
      map[word].fetch_or(mask, std::memory_order_relaxed);
    }
  }
}

bool IsMarked(MemorySide side, std::uint64_t address) {
  const Word* map = Map(side);
  const std::uint64_t granule = address >> kGranuleBits;
  if (map == nullptr || granule >= kGranules) return false;
  return ((map[granule / 64].load(std::memory_order_relaxed) >> (granule % 64)) & 1) != 0;
}

bool IsMarked(std::uint64_t address) {
  return IsMarked(MemorySide::kDevice, address) || IsMarked(MemorySide::kHost, address);
}

}  // namespace memprof::cupti
