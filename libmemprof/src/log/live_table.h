// What is live, by address: sums for memprof_get_stats, and what kind of memory a free ends. Kept
// by the writer thread so that the program's threads pay nothing for it.
//
// The writer gives it a consistent cut of all threads' events in the order of time. A free that
// comes before its allocation all the same is remembered, and settles that allocation when it
// comes. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

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
  LiveTable() = default;
  ~LiveTable();
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  // Returns the layer that the event should carry: of a free the freed block's, because one
  // function frees memory of several kinds; else, and where the block is not known, its own.
  std::uint8_t Apply(const ring::RingEvent& event);
  const LiveTotals& totals() const { return totals_; }
  // Blocks that are followed now, of all kinds.
  std::size_t size() const { return used_; }
  // Calls visit(address, bytes, device_plus_1, layer) for each of these.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::size_t i = 0; i < capacity_; ++i)
      if (entries_[i].address != 0 && entries_[i].early_free == 0)
        visit(entries_[i].address, entries_[i].bytes, entries_[i].device_plus_1, entries_[i].layer);
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
    std::uint8_t early_free;
  };
  // Frees that may yet be taken back by OP_FREE_FAILED, which follows at once.
  static constexpr std::size_t kRecentFrees = 64;
  static std::size_t Slot(std::uint64_t address, std::size_t capacity);
  Entry* Find(std::uint64_t address);
  bool Insert(const Entry& entry);
  void Erase(Entry* entry);
  bool Enlarge();
  void Begin(const Entry& entry);
  void End(Entry* entry);
  void Allocate(const ring::RingEvent& event);
  std::uint8_t Free(const ring::RingEvent& event);
  std::uint8_t TakeBack(const ring::RingEvent& event);
  void EndContext(const ring::RingEvent& event);

  Entry* entries_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two
  std::size_t used_ = 0;
  Entry recent_[kRecentFrees] = {};
  LiveTotals totals_;
  std::uint64_t not_followed_ = 0;
};

}  // namespace memprof::recorder
