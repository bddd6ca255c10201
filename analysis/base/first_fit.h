// Places ranges one after the other in an unbounded space, each at the lowest place where it fits,
// and frees them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace memprof::analysis {

// In units of the caller, from 0 up to kEnd. Not thread-safe. Holes are stored in order in chunks,
// each with the size of its largest hole. So both calls cost a scan of these sizes and of one
// chunk: tens of nanoseconds with thousands of holes.
class FirstFit {
 public:
  static constexpr std::uint32_t kEnd = 0xffffffff;

  FirstFit();

  // Takes `size` (at least 1) units at the lowest possible place; kEnd where there is none.
  std::uint32_t Take(std::uint32_t size);
  // Frees a range.
  void Give(std::uint32_t low, std::uint32_t size);

  // One beyond the highest unit that was ever taken.
  std::uint32_t height() const { return height_; }
  std::size_t holes() const;

 private:
  static constexpr int kMax = 128;  // holes of a chunk

  struct Chunk {
    int count = 0;
    std::array<std::uint32_t, kMax> low, size;
  };
  void FindLargest(std::size_t chunk);
  void Insert(std::size_t chunk, int at, std::uint32_t low, std::uint32_t size);
  void Erase(std::size_t chunk, int at);
  void Split(std::size_t chunk);

  std::vector<std::unique_ptr<Chunk>> chunks_;  // none is empty
  std::vector<std::uint32_t> largest_, first_;  // of each chunk: largest hole, lowest hole's place
  std::uint32_t height_ = 0;
};

}  // namespace memprof::analysis
