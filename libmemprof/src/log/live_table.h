// The live blocks by address: the sums for memprof_get_stats, and which kind of memory a free ends.
// Kept by the writer thread, so that the program's threads do not pay for it.
//
// Takes the events of all threads in the order of time. A free that still precedes its allocation
// is stored, and the allocation then counts as freed at once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/base/hash_table.h"
#include "proto/ring.h"

namespace memprof::recorder {

struct LiveTotals {
  std::uint64_t allocations = 0;  // of kinds that occupy a device
  std::uint64_t frees = 0;
  std::uint64_t live_bytes = 0;  // as requested
  std::uint64_t peak_bytes = 0;
};

struct LiveBlock {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint16_t device_plus_1;
  std::uint8_t layer;
};

class LiveTable {
 public:
  // Returns the layer that the event should have. For a free that is the layer of the freed block,
  // because one function frees several kinds of memory; for other events, and for unknown blocks,
  // the event's own.
  std::uint8_t Apply(const ring::RingEvent& event);
  const LiveTotals& totals() const { return totals_; }
  // The number of live blocks, of all kinds.
  std::size_t size() const { return entries_.size(); }
  // Calls visit(LiveBlock) for each live block.
  template <typename Visit>
  void ForEach(Visit visit) const {
    entries_.ForEach([&visit](const Entry& entry) {
      if (!entry.early_free)
        visit(LiveBlock{entry.address, entry.bytes, entry.device_plus_1, entry.layer});
    });
  }
  // Blocks for which there was no space.
  std::uint64_t not_followed() const { return not_followed_; }

 private:
  struct Entry {
    std::uint64_t address;  // 0 = empty
    std::uint64_t bytes;    // of an allocation; time of an early free
    std::uint32_t context;
    std::uint16_t device_plus_1;
    std::uint8_t layer;
    bool early_free;

    bool empty() const { return address == 0; }
    std::uint64_t hash() const { return HashOf(address); }
  };
  // Frees that OP_FREE_FAILED may cancel, which follows at once.
  static constexpr std::size_t kRecentFrees = 64;
  static constexpr std::size_t kFirstEntries = 4096;
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 20;  // 32 MiB
  // The low bits of addresses are all zero.
  static std::uint64_t HashOf(std::uint64_t address) { return Mix(address >> 4); }
  Entry* Find(std::uint64_t address) {
    return entries_.Find(HashOf(address),
                         [address](const Entry& entry) { return entry.address == address; });
  }
  Entry* RecentFree(std::uint64_t address) { return &recent_[HashOf(address) % kRecentFrees]; }
  void Begin(const Entry& entry);
  void StopCounting(const Entry& entry);
  void End(Entry* entry);
  void Allocate(const ring::RingEvent& event);
  std::uint8_t Free(const ring::RingEvent& event);
  std::uint8_t UndoFree(const ring::RingEvent& event);
  void EndContext(const ring::RingEvent& event);

  HashTable<Entry> entries_{kFirstEntries, kMaxEntries};
  Entry recent_[kRecentFrees] = {};
  LiveTotals totals_;
  std::uint64_t not_followed_ = 0;
};

}  // namespace memprof::recorder
