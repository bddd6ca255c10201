// A growing block of bytes that protozero can write into. It never throws: when memory runs out
// it keeps what it has, swallows the rest, and `failed()` tells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "libmemprof/src/base/sys.h"

namespace memprof::recorder {

class ByteBuffer {
 public:
  explicit ByteBuffer(Need need = Need::kTable) : need_(need) {}
  ~ByteBuffer() { UnmapMemory(data_, capacity_, need_); }
  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;

  const char* data() const { return data_; }
  char* data() { return data_; }
  std::size_t size() const { return size_; }
  bool failed() const { return failed_; }
  void Clear() {
    size_ = 0;
    failed_ = false;
  }

  // Room for `more` further bytes; false when there is none.
  bool Reserve(std::size_t more) {
    if (TryReserve(more)) return true;
    failed_ = true;
    return false;
  }
  // As Reserve, and nothing has failed when there is none.
  bool TryReserve(std::size_t more) {
    if (size_ + more <= capacity_) return true;
    std::size_t wanted = capacity_ == 0 ? 16384 : capacity_ * 2;
    while (wanted < size_ + more) wanted *= 2;
    void* grown = GrowMemory(data_, capacity_, wanted, need_);
    if (grown == nullptr) return false;
    data_ = static_cast<char*>(grown);
    capacity_ = wanted;
    return true;
  }
  void Append(const void* bytes, std::size_t count) {
    if (count == 0 || !Reserve(count)) return;
    std::memcpy(data_ + size_, bytes, count);
    size_ += count;
  }
  void AppendZeros(std::size_t count) {
    if (count == 0 || !Reserve(count)) return;
    std::memset(data_ + size_, 0, count);
    size_ += count;
  }
  void push_back(char byte) {  // protozero calls it by this name
    if (!Reserve(1)) return;
    data_[size_++] = byte;
  }
  void Resize(std::size_t size) {
    if (size <= size_) size_ = size;
  }
  void Erase(std::size_t from, std::size_t to) {
    if (to > size_ || from >= to) return;
    std::memmove(data_ + from, data_ + to, size_ - to);
    size_ -= to - from;
  }
  // A varint straight into the reserved room; the caller has reserved 10 bytes.
  void PutVarint(std::uint64_t value) {
    while (value >= 0x80) {
      data_[size_++] = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    data_[size_++] = static_cast<char>(value);
  }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  bool failed_ = false;
  Need need_;
};

}  // namespace memprof::recorder
