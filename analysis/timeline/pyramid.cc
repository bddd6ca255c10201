// Builds the levels, and searches them.
#include "analysis/timeline/pyramid.h"

#include <algorithm>

namespace memprof::analysis {

MinMaxPyramid::MinMaxPyramid(Values least, Values most) {
  while (least.size() > kFanOut) {
    Level level;
    for (std::size_t i = 0; i < least.size(); i += kFanOut) {
      const std::size_t count = std::min(kFanOut, least.size() - i);
      level.least.push_back(*std::ranges::min_element(least.subspan(i, count)));
      level.most.push_back(*std::ranges::max_element(most.subspan(i, count)));
    }
    levels_.push_back(std::move(level));
    least = levels_.back().least;
    most = levels_.back().most;
  }
}

void MinMaxPyramid::Join(Values least, Values most, std::size_t begin, std::size_t end,
                         std::uint64_t& low, std::uint64_t& high) const {
  const auto join = [&](std::size_t from, std::size_t to) {
    for (; from < to; ++from) {
      low = std::min(low, least[from]);
      high = std::max(high, most[from]);
    }
  };
  // Goes up a level while the range is wider than a node; joins the places at both ends that do not
  // fill a node.
  for (std::size_t level = 0; begin < end; ++level) {
    const std::size_t inner_begin = (begin + kFanOut - 1) / kFanOut, inner_end = end / kFanOut;
    if (level == levels_.size() || inner_begin >= inner_end) return join(begin, end);
    join(begin, inner_begin * kFanOut);
    join(inner_end * kFanOut, end);
    begin = inner_begin;
    end = inner_end;
    least = levels_[level].least;
    most = levels_[level].most;
  }
}

std::uint64_t MinMaxPyramid::Max(Values most) const {
  const Values top = levels_.empty() ? most : Values(levels_.back().most);
  return top.empty() ? 0 : *std::ranges::max_element(top);
}

std::size_t MinMaxPyramid::FirstOfMax(Values most) const {
  const std::uint64_t max = Max(most);
  std::size_t place = 0;
  for (std::size_t level = levels_.size(); level-- > 0;) {
    while (levels_[level].most[place] != max) ++place;
    place *= kFanOut;
  }
  while (most[place] != max) ++place;
  return place;
}

std::size_t MinMaxPyramid::memory_bytes() const {
  std::size_t bytes = 0;
  for (const Level& level : levels_)
    bytes += (level.least.capacity() + level.most.capacity()) * sizeof(std::uint64_t);
  return bytes;
}

}  // namespace memprof::analysis
