// Minima and maxima of 16 values, of 16 of these, and so on: the least and the most of any range of
// a million values costs a few steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace memprof::analysis {

// The levels above two lists of one length, the least and the most of each place; the same list
// twice where places are single values. The lists are the caller's, and given again with each call.
// Immutable once built.
class MinMaxPyramid {
 public:
  using Values = std::span<const std::uint64_t>;

  MinMaxPyramid() = default;
  MinMaxPyramid(Values least, Values most);

  // Lowers `low` and raises `high` to what the places [begin, end) have.
  void Join(Values least, Values most, std::size_t begin, std::size_t end, std::uint64_t& low,
            std::uint64_t& high) const;
  // 0 of nothing.
  std::uint64_t Max(Values most) const;
  // The first place whose `most` is Max(); there must be one.
  std::size_t FirstOfMax(Values most) const;

  std::size_t memory_bytes() const;

 private:
  static constexpr std::size_t kFanOut = 16;

  struct Level {
    std::vector<std::uint64_t> least, most;
  };
  std::vector<Level> levels_;
};

}  // namespace memprof::analysis
