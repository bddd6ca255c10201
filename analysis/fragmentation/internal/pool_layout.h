// The segments of one pool with their holes, kept up to date block by block.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "analysis/fragmentation/series.h"

namespace memprof::analysis {

// Not thread-safe. A block outside of its segment or over another block, as in damaged logs, is
// clipped as in the address map; from then on the segment is recomputed at each change.
class PoolLayout {
 public:
  void AddSegment(std::uint32_t id, std::uint64_t address, std::uint64_t bytes);
  // With everything in it.
  void RemoveSegment(std::uint32_t id);
  bool Has(std::uint32_t segment) const { return segments_.contains(segment); }
  std::size_t BlocksOf(std::uint32_t segment) const { return segments_.at(segment).blocks.size(); }
  void AddBlock(std::uint32_t segment, std::uint32_t block, std::uint64_t address,
                std::uint64_t bytes, std::uint64_t requested);
  void RemoveBlock(std::uint32_t segment, std::uint32_t block, std::uint64_t address);

  PoolState State() const;

 private:
  struct Block {
    std::uint32_t id = 0;
    std::uint64_t end = 0, rounding = 0;
  };
  struct Segment {
    std::uint64_t address = 0, end = 0;
    std::uint64_t free = 0;
    // Blocks overlap, which no allocator allows: holes are counted again; in a large segment only
    // after so many changes that the cost is small.
    bool irregular = false;
    std::size_t changed = 0;                                       // blocks since then
    std::vector<std::pair<std::uint64_t, std::uint64_t>> counted;  // holes: begin, end
    std::multimap<std::uint64_t, Block> blocks;                    // by address
  };

  void AddHole(Segment& segment, std::uint64_t begin, std::uint64_t end);
  void RemoveHole(Segment& segment, std::uint64_t begin, std::uint64_t end);
  // Calls `hole(begin, end)` for each.
  template <typename Hole>
  static void ForEachHole(const Segment& segment, Hole hole);
  // The free range around a regular block at `at`, including itself.
  static std::uint64_t FreeFrom(const Segment& segment,
                                std::multimap<std::uint64_t, Block>::const_iterator at);
  static std::uint64_t FreeTo(const Segment& segment,
                              std::multimap<std::uint64_t, Block>::const_iterator at);
  // Subtracts an irregular segment's share from the sums, or adds it.
  void TakeOut(Segment& segment);
  void PutIn(Segment& segment);
  void Recount(Segment& segment);

  absl::flat_hash_map<std::uint32_t, Segment> segments_;
  absl::btree_map<std::uint64_t, std::uint64_t> holes_;  // number by size
  std::uint64_t hole_count_ = 0;
  std::uint64_t reserved_ = 0, free_ = 0, unused_ = 0, rounding_ = 0;
  absl::uint128 squares_ = 0;
};

}  // namespace memprof::analysis
