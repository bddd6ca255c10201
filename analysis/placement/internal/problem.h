// A placement problem reduced to small numbers, and orders in which to place its buffers.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/placement/internal/space.h"
#include "analysis/placement/placement.h"

namespace memprof::analysis {

// A change of what is alive; ends come before beginnings of the same time.
struct PlacementChange {
  std::uint64_t time = 0;
  bool begins = false;
  std::uint32_t buffer = 0;
  bool operator<(const PlacementChange& other) const {
    return time != other.time ? time < other.time : begins < other.begins;
  }
};

// For buffers that have bytes and a lifetime, in order.
std::vector<PlacementChange> PlacementChanges(const std::vector<PlacementBuffer>& buffers);

// The problem in small numbers. Only the overlap of lifetimes matters: a time is a run of
// beginnings without an end in between.
struct PlacementProblem {
  std::vector<SpaceBuffer> buffers;
  std::vector<std::uint32_t> original;  // row of each in the caller's list
  std::vector<std::uint32_t> always;    // rows alive at all times
  std::uint32_t times = 0;
  std::uint64_t unit = 1;           // bytes
  std::uint64_t always_bytes = 0;   // at the bottom
  std::vector<std::uint64_t> live;  // units alive at each time
};

// The problem of all buffers that have bytes and a lifetime.
PlacementProblem Simplify(const std::vector<PlacementBuffer>& buffers);

// The problem of the larger buffers only: the fewest that hold all but a share of the memory ever
// alive at a time. `original` are rows of `whole`. Empty if that is hardly smaller.
PlacementProblem Core(const PlacementProblem& whole, double share);

// The most units alive at a time.
std::uint64_t Bound(const PlacementProblem& problem);

inline double Life(const SpaceBuffer& buffer) { return buffer.last - buffer.begin + 1.0; }
inline double Units(const SpaceBuffer& buffer) { return static_cast<double>(buffer.units); }

struct PlacementOrder {
  const char* name;
  PlacementRule rule;
  std::vector<std::uint32_t> order;
};

// Orders that do well on many problems come first.
std::vector<PlacementOrder> MakeOrders(const PlacementProblem& problem);

}  // namespace memprof::analysis
