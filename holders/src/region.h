// An array in memory of its own, which is given back at once and does not touch the heap of the
// program. Grows by doubling; pages that were never written take no memory. Not thread-safe.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace memprof::holders {

template <typename T>
class Region {
 public:
  Region() = default;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    if (items_ != nullptr) munmap(items_, room_ * sizeof(T));
  }

  // All zero. False without memory.
  bool Create(std::size_t size) {
    if (!Reserve(size)) return false;
    size_ = size;
    return true;
  }
  bool Push(T item) {
    if (size_ == room_ && !Reserve(room_ == 0 ? kFirst : room_ * 2)) return false;
    items_[size_++] = item;
    return true;
  }
  void Clear() { size_ = 0; }
  T& operator[](std::size_t index) { return items_[index]; }
  const T& operator[](std::size_t index) const { return items_[index]; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  const T* data() const { return items_; }

 private:
  static constexpr std::size_t kFirst = std::size_t{1} << 16;

  bool Reserve(std::size_t room) {
    if (room <= room_) return true;
    void* got = items_ == nullptr
                    ? mmap(nullptr, room * sizeof(T), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                    : mremap(items_, room_ * sizeof(T), room * sizeof(T), MREMAP_MAYMOVE);
    if (got == MAP_FAILED) return false;
    madvise(got, room * sizeof(T), MADV_HUGEPAGE);  // read in no order
    items_ = static_cast<T*>(got);
    room_ = room;
    return true;
  }

  T* items_ = nullptr;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

}  // namespace memprof::holders
