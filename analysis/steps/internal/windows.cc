// Counts tokens in windows.
#include "analysis/steps/internal/windows.h"

#include <algorithm>

namespace memprof::analysis {

WindowCounts::WindowCounts(const TokenStream& stream, std::span<const std::uint32_t> begins,
                           std::uint32_t end)
    : distinct_(stream.distinct), offsets_{0} {
  std::vector<std::uint32_t> count(stream.distinct, 0);
  for (std::size_t w = 0; w < begins.size(); ++w) {
    const std::uint32_t stop = std::min(w + 1 < begins.size() ? begins[w + 1] : end, stream.size());
    const std::size_t first = entries_.size();
    for (std::uint32_t p = begins[w]; p < stop; ++p)
      if (count[stream.token[p]]++ == 0) entries_.push_back({stream.token[p], 0});
    for (std::size_t e = first; e < entries_.size(); ++e) {
      entries_[e].count = count[entries_[e].token];
      count[entries_[e].token] = 0;
    }
    offsets_.push_back(entries_.size());
    tokens_.push_back(stop > begins[w] ? stop - begins[w] : 0);
  }
}

std::vector<std::uint32_t> WindowCounts::Typical() const {
  std::vector<std::uint32_t> offset(distinct_ + 1, 0);
  for (const Entry& entry : entries_) ++offset[entry.token + 1];
  for (std::uint32_t t = 0; t < distinct_; ++t) offset[t + 1] += offset[t];
  std::vector<std::uint32_t> counts(entries_.size()), next(offset.begin(), offset.end() - 1);
  for (const Entry& entry : entries_) counts[next[entry.token]++] = entry.count;
  std::vector<std::uint32_t> typical(distinct_, 0);
  if (size() == 0) return typical;
  const std::size_t middle = (size() - 1) / 2;  // of all windows, those without the token first
  for (std::uint32_t t = 0; t < distinct_; ++t) {
    const std::size_t with = offset[t + 1] - offset[t], without = size() - with;
    if (middle < without) continue;
    const auto begin = counts.begin() + offset[t];
    const auto at = begin + static_cast<std::ptrdiff_t>(middle - without);
    std::nth_element(begin, at, counts.begin() + offset[t + 1]);
    typical[t] = *at;
  }
  return typical;
}

WindowLikeness WindowCounts::Compare(const std::vector<std::uint32_t>& typical) const {
  WindowLikeness result;
  for (const std::uint32_t count : typical) result.typical += count;
  double weighted = 0;
  std::uint64_t tokens = 0;
  for (std::size_t w = 0; w < size(); ++w) {
    std::uint64_t common = 0;
    for (const Entry& entry : Of(w)) common += std::min(entry.count, typical[entry.token]);
    const std::uint64_t all = tokens_[w] + result.typical - common;
    const double likeness = all == 0 ? 1 : static_cast<double>(common) / static_cast<double>(all);
    result.likeness.push_back(likeness);
    weighted += likeness * static_cast<double>(tokens_[w]);
    tokens += tokens_[w];
  }
  if (tokens > 0) result.weighted = weighted / static_cast<double>(tokens);
  if (size() > 0) {
    std::vector<double> sorted = result.likeness;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(
                                             std::min(sorted.size() - 1, sorted.size() * 3 / 5));
    std::nth_element(sorted.begin(), middle, sorted.end());
    result.common = *middle;
  }
  return result;
}

WindowLikeness CompareWindows(const TokenStream& stream, std::span<const std::uint32_t> begins,
                              std::uint32_t end) {
  const WindowCounts counts(stream, begins, end);
  return counts.Compare(counts.Typical());
}

TokenIndex::TokenIndex(const TokenStream& stream)
    : offsets_(stream.distinct + 1, 0), positions_(stream.size()) {
  for (const std::uint32_t t : stream.token) ++offsets_[t + 1];
  for (std::uint32_t t = 0; t < stream.distinct; ++t) offsets_[t + 1] += offsets_[t];
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  for (std::uint32_t p = 0; p < stream.size(); ++p) positions_[next[stream.token[p]]++] = p;
}

}  // namespace memprof::analysis
