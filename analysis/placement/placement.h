// Offline placement (dynamic storage allocation): addresses for buffers with known lifetimes, such
// that the highest used address is as low as possible.
//
// Method: the most bytes alive at a time are a lower bound. Buffers that live all the time are
// placed at the bottom. The rest is placed greedily, one buffer after the other, each in a gap
// between the placed buffers that overlap it in time: in several orders (size, area, duration, …)
// and by two rules (the tightest gap, the lowest gap). While there is time, the best arrangement is
// then improved: buffers at the top move to the front of the order, and everything is placed again.
// Only the bound is proved; the gap to it shows how good the result is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::analysis {

// Alive in [begin, end) of any clock, end > begin.
struct PlacementBuffer {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
};

struct PlacementOptions {
  double seconds = 2;  // limit of wall-clock time; at least one order is always tried
  int threads = 1;
  std::uint64_t seed = 1;  // of the local search
};

struct PlacementResult {
  std::vector<std::uint64_t> addresses;  // of the buffers; empty if no arrangement was searched
  std::uint64_t height = 0;              // bytes: highest end of a buffer
  std::uint64_t bound = 0;               // bytes: most alive at a time
  std::string found_by;                  // the order and rule, or the search, as text
  std::uint64_t arrangements = 0;        // number that were tried

  // How far `height` is above `bound`, as a share of it.
  double gap() const {
    if (bound == 0) return 0;
    return static_cast<double>(height - bound) / static_cast<double>(bound);
  }
};

PlacementResult PlaceBuffers(const std::vector<PlacementBuffer>& buffers,
                             const PlacementOptions& options = {});

// The most bytes alive at a time. O(n log n).
std::uint64_t PlacementBound(const std::vector<PlacementBuffer>& buffers);

// Two buffers that overlap in time and in address, or a buffer beyond `height`, as text; "" if
// there are none. Independent of the method of placement. O(n log n).
std::string PlacementConflict(const std::vector<PlacementBuffer>& buffers,
                              const std::vector<std::uint64_t>& addresses, std::uint64_t height);

}  // namespace memprof::analysis
