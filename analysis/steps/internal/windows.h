// Windows of a token stream: the count of each token in each window, and the typical window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/steps/internal/pattern.h"

namespace memprof::analysis {

// Counts of tokens in windows [begins[i], begins[i + 1]), the last one up to `end`. Takes memory
// for the distinct tokens of each window.
class WindowCounts {
 public:
  struct Entry {
    std::uint32_t token = 0, count = 0;
  };

  WindowCounts(const TokenStream& stream, std::span<const std::uint32_t> begins, std::uint32_t end);

  std::size_t size() const { return offsets_.size() - 1; }
  std::span<const Entry> Of(std::size_t window) const {
    return std::span(entries_).subspan(offsets_[window], offsets_[window + 1] - offsets_[window]);
  }
  std::uint64_t Tokens(std::size_t window) const { return tokens_[window]; }

  // The (lower) median count of every token over all windows.
  std::vector<std::uint32_t> Typical() const;
  // Jaccard index of each window's multiset and `typical`.
  WindowLikeness Compare(const std::vector<std::uint32_t>& typical) const;

 private:
  std::uint32_t distinct_ = 0;
  std::vector<Entry> entries_;
  std::vector<std::size_t> offsets_;
  std::vector<std::uint64_t> tokens_;
};

// Positions of each token, ascending.
class TokenIndex {
 public:
  explicit TokenIndex(const TokenStream& stream);
  std::span<const std::uint32_t> Of(std::uint32_t token) const {
    return std::span(positions_).subspan(offsets_[token], offsets_[token + 1] - offsets_[token]);
  }

 private:
  std::vector<std::uint32_t> offsets_, positions_;
};

}  // namespace memprof::analysis
