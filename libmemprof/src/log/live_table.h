// What is live, by address: sums for memprof_get_stats, and what kind of memory a free ends. Kept
// by the writer thread so that the program's threads pay nothing for it.
//
// The writer gives it all threads' events in the order of time. A free that comes before its
// allocation all the same is remembered: the allocation then counts as freed at once. Not
// thread-safe.
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
  // Returns the layer that the event should carry: of a free the freed block's, because one
  // function frees memory of several kinds; else, and where the block is not known, its own.
  std::uint8_t Apply(const ring::RingEvent& event);
  const LiveTotals& totals() const { return totals_; }
  // Blocks that are followed now, of all kinds.
  std::size_t size() const { return entries_.size(); }
  // Calls visit(LiveBlock) for each of these.
  template <typename Visit>
  void ForEach(Visit visit) const {
    entries_.ForEach([&visit](const Entry& entry) {
      if (!entry.early_free)
        visit(LiveBlock{entry.address, entry.bytes, entry.device_plus_1, entry.layer});
    });
  }
  // Blocks that there was no room for.
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
  // Frees that may yet be taken back by OP_FREE_FAILED, which follows at once.
  static constexpr std::size_t kRecentFrees = 64;
  static constexpr std::size_t kFirstEntries = 4096;
  static constexpr std::size_t kMaxEntries = std::size_t{1} << 20;  // 32 MiB
  // Low bits of addresses are all alike.
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
  std::uint8_t TakeBack(const ring::RingEvent& event);
  void EndContext(const ring::RingEvent& event);

  HashTable<Entry> entries_{kFirstEntries, kMaxEntries};
  Entry recent_[kRecentFrees] = {};
  LiveTotals totals_;
  std::uint64_t not_followed_ = 0;
};

}  // namespace memprof::recorder
