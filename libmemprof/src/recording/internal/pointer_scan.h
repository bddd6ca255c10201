// Counts the words of host memory that point to given ranges of device memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::recorder {

struct ScanTarget {
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t references;
  std::uint16_t device_plus_1;
  std::uint8_t layer;
  std::uint8_t is_probe : 1;
  std::uint8_t unfollowed : 1;  // only counted: its words are not wanted
};

// A word that points to a target.
struct PointerWord {
  std::uint64_t at;
  std::uint32_t target;
  bool may_be_half;  // a multiple of 4 GiB: perhaps a zero beside half of an old pointer
};
// What may be the header of a block that malloc has mapped on its own (heap_blocks.h).
struct MappedChunk {
  std::uint64_t begin, bytes;
};

// What a pass writes down besides the counts. The arrays are there before the pass, because it
// reads memory that is mapped meanwhile.
struct PassNotes {
  PointerWord* words;  // in the order of their addresses
  std::size_t words_room, words_count;
  // The most that are kept of each target; 64 times as many if it has a multiple of 4 GiB in it.
  std::uint32_t words_each;
  bool words_left_out;  // for lack of room
  MappedChunk* chunks;  // null: not wanted
  std::size_t chunks_room, chunks_count;
};

struct ScanResult {
  std::uint64_t bytes;  // of host memory read
  bool complete;        // whether all memory was read; else no conclusion is possible
};

// Counts the words that point into each of `targets`, which are sorted by address and do not
// overlap. Gives up at `deadline_ns` (NowNs). `notes` may be null.
ScanResult CountReferences(ScanTarget* targets, std::size_t count, std::uint64_t deadline_ns,
                           PassNotes* notes = nullptr);

}  // namespace memprof::recorder
