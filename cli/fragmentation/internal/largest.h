// The part of a long list that is printed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace memprof::cli {

// For pools and the like: a program has a few of them, but a hostile log may have a hundred
// thousand.
inline constexpr std::size_t kMaxListed = 1000;

// The kMaxListed elements of `all` with the largest weight, in the order of `all`; of equal weights
// the first. Pointers into `all`.
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
