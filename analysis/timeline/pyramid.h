// Minima and maxima of 16 values, of 16 of these, and so on: the extremes of any range of a million
// values cost a few steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace memprof::analysis {

// The levels above two lists of equal length, the minimum and the maximum of each place; the same
// list twice if places are single values. The lists belong to the caller, and are passed with each
// call. Immutable once built.
class MinMaxPyramid {
 public:
  using Values = std::span<const std::uint64_t>;

  MinMaxPyramid() = default;
  MinMaxPyramid(Values least, Values most);

  // Extends `low` and `high` by the values of the places [begin, end).
  void Join(Values least, Values most, std::size_t begin, std::size_t end, std::uint64_t& low,
            std::uint64_t& high) const;
  // 0 if empty.
  std::uint64_t Max(Values most) const;
  // The first place whose `most` is Max(); the list must not be empty.
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
