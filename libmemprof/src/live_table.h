// What is live, for memprof_get_stats: a table from address to size, kept by the writer thread so
// that the program's threads pay nothing for it.
//
// Events of different threads reach it in batches and thus not quite in the order of time: a free
// may arrive before its allocation. It is then remembered and settles that allocation when it
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

class LiveTable {
 public:
  LiveTable() = default;
  ~LiveTable();
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  void Apply(const ring::RingEvent& event);
  const LiveTotals& totals() const { return totals_; }

 private:
  struct Entry {
    std::uint64_t address;  // 0 = empty
    std::uint64_t bytes;    // of an allocation; time of an early free
    std::uint32_t context;
    std::uint16_t device_plus_1;
    std::uint16_t early_free;
  };
  static std::size_t Slot(std::uint64_t address, std::size_t capacity);
  Entry* Find(std::uint64_t address);
  bool Insert(const Entry& entry);
  void Erase(Entry* entry);
  bool Enlarge();
  void Allocate(const ring::RingEvent& event);
  void Free(const ring::RingEvent& event);
  void EndContext(const ring::RingEvent& event);

  Entry* entries_ = nullptr;
  std::size_t capacity_ = 0;  // a power of two
  std::size_t used_ = 0;
  LiveTotals totals_;
};

}  // namespace memprof::recorder
