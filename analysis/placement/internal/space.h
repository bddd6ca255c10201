// The buffers placed so far, and where the next one fits: the inner loop of placement.
//
// Times are numbered densely. Addresses are counted in units; all are below 2^40. Placed buffers
// are stored by time in an implicit binary tree: each in the lowest node whose range of times
// contains its lifetime. Buffers that overlap a lifetime are in the nodes that its range touches;
// only the nodes at its two borders also have others.
#pragma once

#include <cstdint>
#include <vector>

namespace memprof::analysis {

struct SpaceBuffer {
  std::uint32_t begin = 0, last = 0;  // alive at times begin…last
  std::uint64_t units = 0;            // > 0
};

enum class PlacementRule {
  kTightest,  // the smallest gap that is large enough, then the lowest
  kLowest,    // the lowest gap that is large enough
};

class PlacementSpace {
 public:
  // `times`: their number. `buffers` outlive this.
  PlacementSpace(const std::vector<SpaceBuffer>& buffers, std::uint32_t times);

  // Places a buffer that is not placed yet.
  void Place(std::uint32_t buffer, PlacementRule rule);
  void PlaceAt(std::uint32_t buffer, std::uint64_t address);
  void Remove(std::uint32_t buffer);
  void Clear();

  std::uint64_t address(std::uint32_t buffer) const { return address_[buffer]; }
  std::uint64_t end(std::uint32_t buffer) const {
    return address_[buffer] + buffers_[buffer].units;
  }
  // Placed buffers alive at some time of begin…last.
  void Overlapping(std::uint32_t begin, std::uint32_t last,
                   std::vector<std::uint32_t>* found) const;

 private:
  struct Entry {
    std::uint32_t begin = 0, last = 0;
    std::uint64_t address = 0, end = 0;
    std::uint32_t buffer = 0;
  };
  struct Level {
    std::vector<std::vector<Entry>> nodes;
    std::vector<std::uint64_t> used;  // bit i: nodes[i] is not empty
  };

  template <typename Visit>
  void ForOverlapping(std::uint32_t begin, std::uint32_t last, const Visit& visit) const;
  void SortTaken();
  std::uint64_t Gap(std::uint64_t units, PlacementRule rule) const;

  const std::vector<SpaceBuffer>& buffers_;
  std::vector<Level> levels_;
  std::vector<std::uint64_t> address_;
  std::vector<std::uint32_t> slot_;  // place in its node's list
  // Scratch: the overlapping buffers, as (address << 24) + a row of ends_, and their ends.
  std::vector<std::uint64_t> taken_, ends_, sorted_;
};

}  // namespace memprof::analysis
