// Places ranges one after the other into a space without end, each at the lowest place where it
// fits, and takes them back.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace memprof::analysis {

// In units of the caller, from 0 up to kEnd. Not thread-safe. Holes lie in order in chunks that
// know their largest hole, so that both calls cost a scan of the chunks' maxima and of one chunk:
// tens of nanoseconds where there are thousands of holes.
class FirstFit {
 public:
  static constexpr std::uint32_t kEnd = 0xffffffff;

  FirstFit();

  // The lowest place where `size` (at least 1) units are free, which are taken from now on; kEnd
  // where there is none.
  std::uint32_t Take(std::uint32_t size);
  // Gives back what was taken.
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
