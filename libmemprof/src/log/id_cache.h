// A cache of one thread for the ids of names and tensors: the same names come again and again, and
// the table of all of them (definitions.h) has a lock that all threads share.
//
// Direct-mapped. Keys are compared completely; keys that are too long are not cached. Not
// thread-safe: belongs to one thread, and lies in zeroed memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "libmemprof/src/base/hash.h"

namespace memprof::recorder {

// A key, put together from parts. If the parts do not fit, the key is void.
class IdCacheKey {
 public:
  static constexpr std::size_t kMaxBytes = 108;

  void Add(const void* part, std::size_t bytes) {
    if (bytes > kMaxBytes - bytes_) {
      fits_ = false;
      return;
    }
    if (bytes > 0) std::memcpy(data_ + bytes_, part, bytes);
    bytes_ += bytes;
  }
  // With the terminating zero, so that two texts in a row are unambiguous.
  void AddText(const char* text) { Add(text, std::strlen(text) + 1); }
  bool fits() const { return fits_; }
  const char* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  std::uint64_t Hash() const { return HashBytes(data_, bytes_); }

 private:
  std::size_t bytes_ = 0;
  bool fits_ = true;
  char data_[kMaxBytes];
};

class IdCache {
 public:
  // The id of `key`; 0 if it is not cached.
  std::uint32_t Find(const IdCacheKey& key, std::uint64_t hash) const {
    const Entry& entry = entries_[hash % kEntries];
    return key.fits() && entry.hash == hash && entry.bytes == key.bytes() &&
                   std::memcmp(entry.key, key.data(), key.bytes()) == 0
               ? entry.id
               : 0;
  }
  void Store(const IdCacheKey& key, std::uint64_t hash, std::uint32_t id) {
    if (!key.fits() || id == 0) return;
    Entry& entry = entries_[hash % kEntries];
    // In steps, because a handler may leave by a jump: no key has the length 0.
    entry.bytes = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    entry.hash = hash;
    entry.id = id;
    std::memcpy(entry.key, key.data(), key.bytes());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    entry.bytes = static_cast<std::uint32_t>(key.bytes());
  }

 private:
  static constexpr std::size_t kEntries = 128;
  struct Entry {
    std::uint64_t hash;
    std::uint32_t id;
    std::uint32_t bytes;
    char key[IdCacheKey::kMaxBytes + 4];
  };
  static_assert(sizeof(Entry) == 128);
  Entry entries_[kEntries];
};

}  // namespace memprof::recorder
