// Reads the process's mappings piece by piece.
#include "libmemprof/src/recording/internal/pointer_scan.h"

#include <new>

#include "libmemprof/src/recording/internal/host_memory.h"
#include "libmemprof/src/recording/internal/own_array.h"
#include "libmemprof/src/recording/recorder.h"

namespace memprof::recorder {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // read at once
// Address space that a sanitizer or a runtime has reserved, not data.
constexpr std::size_t kSetAside = std::size_t{1} << 40;

class Scanner {
 public:
  Scanner(ScanTarget* targets, std::size_t count, std::uint64_t deadline_ns, std::uint64_t* buffer,
          PassNotes* notes)
      : targets_(targets),
        count_(count),
        deadline_ns_(deadline_ns),
        buffer_(buffer),
        notes_(notes) {}

  ScanResult Run(const OwnRange* own, std::size_t own_count) {
    MapsReader maps;
    if (!maps.ok() || count_ == 0) return {0, maps.ok()};
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    MapsReader::Line line;
    std::uintptr_t own_library_end = 0;
    while (maps.Next(&line)) {
      // The library's data, and the unnamed mapping after it: its zero-initialised data.
      const bool ours = strstr(line.path, "/libmemprof") != nullptr ||
                        (line.begin == own_library_end && line.path[0] == '\0');
      if (ours) own_library_end = line.end;
      if (!line.wanted || ours || IsRing(line.path) || line.end - line.begin >= kSetAside) continue;
      if (line.begin <= frame && frame < line.end) line.begin = frame & ~std::uintptr_t{7};
      chunks_end_ = line.path[0] == '\0' ? line.end : 0;
      std::uintptr_t cursor = line.begin;
      for (std::size_t i = 0; i < own_count; ++i) {
        if (own[i].end <= cursor || own[i].begin >= line.end) continue;
        if (!ScanRange(cursor, own[i].begin)) return {bytes_, false};
        cursor = own[i].end;
      }
      if (!ScanRange(cursor, line.end)) return {bytes_, false};
    }
    return {bytes_, true};
  }

 private:
  static bool IsRing(const char* path) {
    if (TheRecorder() == nullptr) return false;
    const char* ring = TheRecorder()->ring()->path();
    return ring != nullptr && ring[0] != '\0' && strncmp(path, ring, strlen(ring)) == 0;
  }

  bool ScanRange(std::uintptr_t from, std::uintptr_t end) {
    while (from < end) {
      from = pages_.NextUsed(from, end);
      if (from >= end) break;
      if (NowNs() > deadline_ns_) return false;
      const std::size_t piece = std::min<std::size_t>(end - from, kPiece);
      const ssize_t got = memory_.Read(from, buffer_, piece);
      if (got < 0 && errno != EFAULT && errno != ENOMEM && errno != EIO) return false;
      if (got <= 0) {
        from = (from / PageBytes() + 1) * PageBytes();
        continue;
      }
      const std::size_t words = static_cast<std::size_t>(got) / sizeof(std::uint64_t);
      CountIn(from, words);
      if (notes_ != nullptr && notes_->chunks != nullptr && chunks_end_ != 0)
        NoteChunks(from, words);
      bytes_ += static_cast<std::uint64_t>(got);
      from += static_cast<std::size_t>(got);
    }
    return true;
  }

  void CountIn(std::uintptr_t from, std::size_t words) {
    const std::uint64_t low = targets_[0].address;
    const std::uint64_t span = targets_[count_ - 1].address + targets_[count_ - 1].bytes - low;
    for (std::size_t i = 0; i < words; ++i) {
      if (buffer_[i] - low >= span) continue;
      ScanTarget* after = std::upper_bound(
          targets_, targets_ + count_, buffer_[i],
          [](std::uint64_t word, const ScanTarget& target) { return word < target.address; });
      ScanTarget& target = *(after - 1);
      if (buffer_[i] - target.address >= target.bytes) continue;
      ++target.references;
      if (notes_ != nullptr && target.unfollowed == 0 && target.references <= MostWords(target))
        Note({from + i * sizeof(std::uint64_t), static_cast<std::uint32_t>(&target - targets_),
              static_cast<std::uint32_t>(buffer_[i]) == 0});
    }
  }

  std::uint32_t MostWords(const ScanTarget& target) const {
    const std::uint64_t last = target.address + target.bytes - 1;
    const bool has_multiple = (target.address - 1) >> 32 != last >> 32;
    return notes_->words_each * (has_multiple ? 64 : 1);
  }

  void Note(PointerWord word) {
    if (notes_->words_count == notes_->words_room)
      notes_->words_left_out = true;
    else
      notes_->words[notes_->words_count++] = word;
  }

  // Such a block begins at a page with the words 0 and its size, a number of pages, plus 2.
  void NoteChunks(std::uintptr_t from, std::size_t words) {
    constexpr std::uint64_t kFlags = 7, kIsMapped = 2;
    const std::uintptr_t page = PageBytes();
    for (std::uintptr_t at = (from + page - 1) / page * page;
         at + 2 * sizeof(std::uint64_t) <= from + words * sizeof(std::uint64_t); at += page) {
      const std::uint64_t* head = buffer_ + (at - from) / sizeof(std::uint64_t);
      const std::uint64_t bytes = head[1] & ~kFlags;
      if (head[0] != 0 || (head[1] & kFlags) != kIsMapped || bytes == 0 || bytes % page != 0 ||
          bytes > chunks_end_ - at)
        continue;
      if (notes_->chunks_count > 0) {
        const MappedChunk& last = notes_->chunks[notes_->chunks_count - 1];
        if (at - last.begin < last.bytes) continue;  // its contents
      }
      if (notes_->chunks_count < notes_->chunks_room)
        notes_->chunks[notes_->chunks_count++] = {at, bytes};
    }
  }

  ScanTarget* targets_;
  const std::size_t count_;
  const std::uint64_t deadline_ns_;
  std::uint64_t* buffer_;
  PassNotes* notes_;
  std::uintptr_t chunks_end_ = 0;  // of this mapping; 0 where there are none
  std::uint64_t bytes_ = 0;
  MemoryReader memory_;
  PageFilter pages_;
};

}  // namespace

ScanResult CountReferences(ScanTarget* targets, std::size_t count, std::uint64_t deadline_ns,
                           PassNotes* notes) {
  const OwnArray<std::uint64_t> buffer(kPiece / sizeof(std::uint64_t));
  const OwnArray<OwnRange> own(kMaxOwnRanges);
  const OwnArray<Scanner> room(1);  // too large for a small stack
  if (buffer.get() == nullptr || own.get() == nullptr || room.get() == nullptr) return {0, false};
  std::size_t ranges = 0;
  if (!CopyOwnRanges(own.get(), &ranges)) return {0, false};
  auto* scanner = new (room.get()) Scanner(targets, count, deadline_ns, buffer.get(), notes);
  const ScanResult result = scanner->Run(own.get(), ranges);
  scanner->~Scanner();
  return result;
}

}  // namespace memprof::recorder
