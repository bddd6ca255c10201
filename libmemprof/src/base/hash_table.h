// A hash table of plain values in memory of the recorder's own, charged to its budget
// (memory_budget.h): open addressing with linear probing; deletions close the gap, so that no
// markers pile up.
//
// An Entry whose bytes are all zero is an empty place. It has
//   bool empty() const;
//   std::uint64_t hash() const;  // as the callers of Find compute it; its low bits choose the
//   place
//
// The table doubles when it is half full. When it may not, or there is no memory, it is filled up
// to seven eighths; beyond that Insert refuses. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {

template <typename Entry>
class HashTable {
  static_assert(std::is_trivially_copyable_v<Entry>);

 public:
  // Capacities in entries, powers of two. Maps no memory before the first Insert.
  HashTable(std::size_t first_capacity, std::size_t max_capacity)
      : first_capacity_(first_capacity), max_capacity_(max_capacity) {}
  ~HashTable() { UnmapMemory(entries_, capacity_ * sizeof(Entry)); }
  HashTable(const HashTable&) = delete;
  HashTable& operator=(const HashTable&) = delete;

  std::size_t size() const { return size_; }

  // The entry of this hash for which `is_same` is true; null if there is none.
  template <typename IsSame>
  Entry* Find(std::uint64_t hash, IsSame is_same) {
    if (capacity_ == 0) return nullptr;
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      Entry& entry = entries_[at];
      if (entry.empty()) return nullptr;
      if (is_same(entry)) return &entry;
    }
  }
  // The entry must not be in the table. Null when there is no place for it. Invalidates pointers
  // into the table.
  Entry* Insert(Entry entry) {
    if (size_ * 2 >= capacity_ && !Grow() && size_ * 8 >= capacity_ * 7) return nullptr;
    Entry* place = EmptyPlace(entry.hash());
    *place = entry;
    ++size_;
    return place;
  }
  // Invalidates pointers into the table.
  void Erase(Entry* entry) {
    std::size_t hole = static_cast<std::size_t>(entry - entries_);
    for (std::size_t at = (hole + 1) & mask(); !entries_[at].empty(); at = (at + 1) & mask()) {
      const std::size_t home = entries_[at].hash() & mask();
      // The entry may move into the hole unless the place of its hash lies between hole and entry.
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    std::memset(static_cast<void*>(&entries_[hole]), 0, sizeof(Entry));
    --size_;
  }
  void Clear() {
    if (size_ > 0) std::memset(static_cast<void*>(entries_), 0, capacity_ * sizeof(Entry));
    size_ = 0;
  }

  template <typename Visit>
  void ForEach(Visit visit) const {
    for (std::size_t i = 0; i < capacity_; ++i)
      if (!entries_[i].empty()) visit(entries_[i]);
  }
  // May call `is_unwanted` more than once for an entry that stays.
  template <typename IsUnwanted>
  void EraseIf(IsUnwanted is_unwanted) {
    for (std::size_t i = 0; i < capacity_;) {
      if (entries_[i].empty() || !is_unwanted(entries_[i]))
        ++i;
      else
        Erase(&entries_[i]);  // may move another entry here
    }
  }

 private:
  std::size_t mask() const { return capacity_ - 1; }
  Entry* EmptyPlace(std::uint64_t hash) {
    std::size_t at = hash & mask();
    while (!entries_[at].empty()) at = (at + 1) & mask();
    return &entries_[at];
  }
  bool Grow() {
    const std::size_t capacity = capacity_ == 0 ? first_capacity_ : capacity_ * 2;
    if (capacity > max_capacity_) return false;
    auto* entries = static_cast<Entry*>(MapMemory(capacity * sizeof(Entry)));
    if (entries == nullptr) return false;
    Entry* const old = entries_;
    const std::size_t old_capacity = capacity_;
    entries_ = entries;
    capacity_ = capacity;
    for (std::size_t i = 0; i < old_capacity; ++i)
      if (!old[i].empty()) *EmptyPlace(old[i].hash()) = old[i];
    UnmapMemory(old, old_capacity * sizeof(Entry));
    return true;
  }

  const std::size_t first_capacity_;
  const std::size_t max_capacity_;
  Entry* entries_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace memprof::recorder
