// What one thread named lately, and the ids it got: names come again and again, and the table of
// all of them (definitions.h) has a lock that all threads share.
//
// A direct-mapped cache. Keys are compared whole; those that are too long are not kept. Not
// thread-safe: belongs to one thread, and lies in zeroed memory.
#pragma once

#include <cstdint>
#include <cstring>

#include "libmemprof/src/base/hash.h"

namespace memprof::recorder {

// Bytes of a key put together from parts; what does not fit makes it void.
class RecallKey {
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
  // With its end, so that what comes after it is told apart.
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

class Recall {
 public:
  // The id that `key` got, or 0.
  std::uint32_t Find(const RecallKey& key, std::uint64_t hash) const {
    const Entry& entry = entries_[hash % kEntries];
    return key.fits() && entry.hash == hash && entry.bytes == key.bytes() &&
                   std::memcmp(entry.key, key.data(), key.bytes()) == 0
               ? entry.id
               : 0;
  }
  void Store(const RecallKey& key, std::uint64_t hash, std::uint32_t id) {
    if (!key.fits() || id == 0) return;
    Entry& entry = entries_[hash % kEntries];
    entry.hash = hash;
    entry.id = id;
    entry.bytes = static_cast<std::uint32_t>(key.bytes());
    std::memcpy(entry.key, key.data(), key.bytes());
  }

 private:
  static constexpr std::size_t kEntries = 128;
  struct Entry {
    std::uint64_t hash;
    std::uint32_t id;
    std::uint32_t bytes;
    char key[RecallKey::kMaxBytes + 4];
  };
  static_assert(sizeof(Entry) == 128);
  Entry entries_[kEntries];
};

}  // namespace memprof::recorder
