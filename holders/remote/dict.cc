// Layouts of keys: to 3.10 entries of hash, key, value after indices whose width depends on their
// number; from 3.11 on the keys say how large the indices are, and leave out the hashes of keys
// that are all text.
#include "holders/remote/dict.h"

#include <algorithm>

namespace memprof::holders {
namespace {

constexpr std::uint64_t kMostDictEntries = std::uint64_t{1} << 28;
constexpr std::uint64_t kSomeEntries = 128;  // are read at a time
constexpr std::uint64_t kWithHash = 24, kWithoutHash = 16;

}  // namespace

DictReader::DictReader(Memory& memory, const ObjectLayout& layout, std::uint64_t dict)
    : memory_(memory), layout_(layout) {
  if (memory.Word(dict + at::kDictUsed) == 0) return;
  ReadKeys(memory.Word(dict + at::kDictKeys));
  values_ = memory.Word(dict + at::kDictValues);
  if (values_ != 0) values_ += layout.dict_values;
}

DictReader::DictReader(Memory& memory, const ObjectLayout& layout, std::uint64_t keys,
                       std::uint64_t values)
    : memory_(memory), layout_(layout), values_(values + layout.dict_values) {
  ReadKeys(keys);
}

void DictReader::ReadKeys(std::uint64_t keys) {
  if (layout_.minor <= 10) {
    constexpr std::uint64_t kHeader = 40;
    const std::uint64_t size = memory_.Word(keys + 8), count = memory_.Word(keys + 32);
    if (size == 0 || size > kMostDictEntries || count > size) return;
    const std::uint64_t width = size <= 0xff ? 1 : size <= 0xffff ? 2 : size <= 0xffffffff ? 4 : 8;
    entries_ = keys + kHeader + size * width;
    count_ = count;
    entry_size_ = kWithHash;
    return;
  }
  constexpr std::uint64_t kHeader = 32;
  unsigned char head[kHeader];
  if (!memory_.Read(keys, head, sizeof head)) return;
  const unsigned log_size = head[8], log_index_bytes = head[9], kind = head[10];
  const std::uint64_t count = memory_.Word(keys + 24);
  if (log_size > 32 || log_index_bytes > 36 || kind > 2 || count > std::uint64_t{1} << log_size)
    return;
  entries_ = keys + kHeader + (std::uint64_t{1} << log_index_bytes);
  count_ = count;
  entry_size_ = kind == 0 ? kWithHash : kWithoutHash;
}

// Entries, then values if these are elsewhere.
bool DictReader::Fill() {
  const std::uint64_t some = std::min(kSomeEntries, count_ - next_), words = entry_size_ / 8;
  words_.resize(some * (words + 1));
  if (!memory_.Read(entries_ + next_ * entry_size_, words_.data(), some * entry_size_) ||
      (values_ != 0 && !memory_.Read(values_ + next_ * 8, words_.data() + some * words, some * 8)))
    return false;
  filled_from_ = next_;
  filled_ = some;
  return true;
}

bool DictReader::Next(DictEntry* entry) {
  const std::uint64_t words = entry_size_ / 8;
  for (; next_ < count_; ++next_) {
    if (next_ >= filled_from_ + filled_ && !Fill()) return false;
    const std::uint64_t* first = words_.data() + (next_ - filled_from_) * words;
    entry->key = first[words - 2];
    entry->value = values_ != 0 ? words_[filled_ * words + next_ - filled_from_] : first[words - 1];
    if (entry->value == 0) continue;
    ++next_;
    return true;
  }
  return false;
}

}  // namespace memprof::holders
