// Finds the period of a sequence of allocations: where unmarked steps begin. Independent of
// sessions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace memprof::analysis {

// Allocations in order, as tokens: equal ones (same place, same size) have the same token.
struct TokenStream {
  std::vector<std::uint32_t> token;  // 0 … distinct - 1
  std::vector<std::uint64_t> level;  // bytes live right before each
  std::uint32_t distinct = 0;
  // By token: whether it belongs to a backward pass. Empty = not known.
  std::vector<bool> trains;

  std::uint32_t size() const { return static_cast<std::uint32_t>(token.size()); }
  void Add(std::uint32_t t, std::uint64_t live) {
    token.push_back(t);
    level.push_back(live);
    if (t >= distinct) distinct = t + 1;
  }
};

// How similar the windows of a stream are to the typical one: the (lower) median count of each
// token over all windows.
struct WindowLikeness {
  std::vector<double> likeness;  // of each window: Jaccard index of the multisets, in [0, 1]
  // Two of five windows are at least this similar: every other one may be of another kind.
  double common = 0;
  double weighted = 0;        // mean, weighted by tokens
  std::uint64_t typical = 0;  // tokens of the typical window
};

// Windows are [begins[i], begins[i + 1]); the last ends at `end`.
WindowLikeness CompareWindows(const TokenStream& stream, std::span<const std::uint32_t> begins,
                              std::uint32_t end);

struct Period {
  std::vector<std::uint32_t>
      begins;                  // positions of the first allocation of each step; empty = none
  double confidence = 0;       // in [0, 1]
  double common_likeness = 0;  // of steps, without the first and the last one
  double weighted_likeness = 0;
  double closed = 0;    // share of steps before which memory was back at its lowest
  double typical = 0;   // allocations in the typical step
  bool trains = false;  // steps have backward passes
};

// O(n) except for sorting the counts of the compared windows. `hint`: the number of steps from
// another source, 0 if unknown; it decides between equally good periods.
Period FindPeriod(const TokenStream& stream, std::uint32_t hint = 0);

}  // namespace memprof::analysis
