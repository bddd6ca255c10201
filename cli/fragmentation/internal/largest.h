// What is listed where a log has more than anybody reads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace memprof::cli {

// Pools, and other things that a program has a few of, but a log may have a hundred thousand.
inline constexpr std::size_t kMaxListed = 1000;

// The kMaxListed of `all` that weigh most, in the order of `all`; the first of those that weigh
// the same. They point into `all`.
template <typename T, typename Weight>
std::vector<const T*> Largest(const std::vector<T>& all, Weight weight) {
  std::vector<const T*> kept;
  for (const T& one : all) kept.push_back(&one);
  if (kept.size() <= kMaxListed) return kept;
  const auto end = kept.begin() + kMaxListed;
  std::nth_element(kept.begin(), end, kept.end(), [&weight](const T* a, const T* b) {
    const auto weight_a = weight(*a), weight_b = weight(*b);
    return weight_a != weight_b ? weight_a > weight_b : a < b;
  });
  kept.erase(end, kept.end());
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace memprof::cli
