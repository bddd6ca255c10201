// An array in memory of the recorder's own.
#pragma once

#include <cstddef>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {

// Zeroed, and freed by the destructor; null without memory.
template <typename T>
class OwnArray {
 public:
  explicit OwnArray(std::size_t size)
      : size_(size), items_(static_cast<T*>(MapMemory(size * sizeof(T)))) {}
  // Of `less` where there is no memory for `size`.
  OwnArray(std::size_t size, std::size_t less) : OwnArray(size) {
    if (items_ != nullptr) return;
    size_ = less;
    items_ = static_cast<T*>(MapMemory(less * sizeof(T)));
  }
  ~OwnArray() { UnmapMemory(items_, size_ * sizeof(T)); }
  OwnArray(const OwnArray&) = delete;
  OwnArray& operator=(const OwnArray&) = delete;
  T* get() const { return items_; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_;
  T* items_;
};

}  // namespace memprof::recorder
