// A growing array of plain values in memory of the recorder's own, charged to its budget
// (memory_budget.h). Never throws: when memory runs out it keeps its items, drops the new ones, and
// sets `failed`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {

template <typename T>
class MappedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit MappedArray(Need need = Need::kTable) : need_(need) {}
  ~MappedArray() { UnmapMemory(items_, mapped_bytes_, need_); }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;

  const T* data() const { return items_; }
  T* data() { return items_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }
  T& operator[](std::size_t i) { return items_[i]; }
  const T& operator[](std::size_t i) const { return items_[i]; }

  // An item was dropped since the last Clear.
  bool failed() const { return failed_; }
  void Clear() {
    size_ = 0;
    failed_ = false;
  }

  // Reserves space for `more` further items; false when there is no memory.
  bool Reserve(std::size_t more) {
    if (TryReserve(more)) return true;
    failed_ = true;
    return false;
  }
  // As Reserve, but does not set `failed`.
  bool TryReserve(std::size_t more) {
    if (more <= mapped_bytes_ / sizeof(T) - size_) return true;
    if (more > kMaxBytes / sizeof(T)) return false;
    std::size_t wanted = mapped_bytes_ == 0 ? kFirstBytes : mapped_bytes_ * 2;
    while (wanted / sizeof(T) < size_ + more) wanted *= 2;
    void* grown = GrowMemory(items_, mapped_bytes_, wanted, need_);
    if (grown == nullptr) return false;
    items_ = static_cast<T*>(grown);
    mapped_bytes_ = wanted;
    return true;
  }
  // False when there is no memory for it.
  bool Append(T item) {
    if (!Reserve(1)) return false;
    items_[size_++] = item;
    return true;
  }
  // Appends all items or none. They must not lie in this array.
  bool Append(const T* items, std::size_t count) {
    if (count == 0) return true;
    if (!Reserve(count)) return false;
    std::memcpy(items_ + size_, items, count * sizeof(T));
    size_ += count;
    return true;
  }
  bool AppendZeros(std::size_t count) {
    if (count == 0) return true;
    if (!Reserve(count)) return false;
    std::memset(static_cast<void*>(items_ + size_), 0, count * sizeof(T));
    size_ += count;
    return true;
  }
  // Inserts before item `at`; does not set `failed`.
  bool Insert(std::size_t at, T item) {
    if (!TryReserve(1)) return false;
    std::memmove(static_cast<void*>(items_ + at + 1), items_ + at, (size_ - at) * sizeof(T));
    items_[at] = item;
    ++size_;
    return true;
  }
  // Keeps the order of the others.
  void Erase(const T* item) {
    const std::size_t at = static_cast<std::size_t>(item - items_);
    --size_;
    std::memmove(static_cast<void*>(items_ + at), items_ + at + 1, (size_ - at) * sizeof(T));
  }
  // Moves the last item into its place.
  void EraseUnordered(T* item) { *item = items_[--size_]; }
  void Truncate(std::size_t size) {
    if (size < size_) size_ = size;
  }

  // The first item for which `wanted` is true; null if there is none.
  template <typename Wanted>
  T* Find(Wanted wanted) {
    for (T& item : *this)
      if (wanted(item)) return &item;
    return nullptr;
  }
  template <typename Unwanted>
  void EraseIf(Unwanted unwanted) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i)
      if (!unwanted(items_[i])) items_[kept++] = items_[i];
    size_ = kept;
  }

 protected:
  // After writing to reserved space.
  void SetEnd(const T* end) { size_ = static_cast<std::size_t>(end - items_); }

 private:
  static constexpr std::size_t kFirstBytes = 16384;
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 40;
  static_assert(sizeof(T) <= kFirstBytes);

  T* items_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_bytes_ = 0;
  bool failed_ = false;
  Need need_;
};

}  // namespace memprof::recorder
