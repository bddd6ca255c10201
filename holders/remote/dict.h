// The entries of a dictionary in another process, and the attributes of an instance without one.
#pragma once

#include <cstdint>
#include <vector>

#include "holders/remote/layout.h"
#include "holders/remote/memory.h"

namespace memprof::holders {

struct DictEntry {
  std::uint64_t key = 0, value = 0;
};

class DictReader {
 public:
  // Of the dict at `dict`.
  DictReader(Memory& memory, const ObjectLayout& layout, std::uint64_t dict);
  // Of values beside the keys that instances of a class share.
  DictReader(Memory& memory, const ObjectLayout& layout, std::uint64_t keys, std::uint64_t values);

  // The next entry that has a value; false at the end.
  bool Next(DictEntry* entry);

 private:
  void ReadKeys(std::uint64_t keys);
  bool Fill();

  Memory& memory_;
  const ObjectLayout& layout_;
  std::uint64_t entries_ = 0, count_ = 0,
                entry_size_ = 0;  // a key's place is its last words but one
  std::uint64_t values_ = 0;      // 0 = in the entries
  std::uint64_t next_ = 0;
  std::uint64_t filled_from_ = 0, filled_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace memprof::holders
