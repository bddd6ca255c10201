// The history before an instant that explains its free memory: the largest request of each pool,
// and since when each hole has been free.
//
// A single query searches the log backwards. For many queries there is an index with the same
// results: about 10 B for each block of a framework's allocator.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"
#include "analysis/timeline/address_map.h"

namespace memprof::analysis {

// Device, private pool, stream, small blocks.
using PoolKey = std::tuple<int, std::uint64_t, std::uint64_t, bool>;
PoolKey PoolOf(const Allocation& segment);

// The largest block requested from each pool up to an event.
class LargestRequests {
 public:
  // O(records up to `until`); none = nothing.
  LargestRequests(const Session& session, EventId until);
  // Up to `event`, at most `until`; 0 = none. O(log changes).
  std::uint64_t At(const PoolKey& pool, EventId event) const;

 private:
  using Growth = std::vector<std::pair<EventId, std::uint64_t>>;  // in order of events
  std::map<PoolKey, Growth> pools_;
};

// For each segment and piece, since when no block was in it: 0 for blocks; for holes the end of the
// last block in it, or the birth of the segment.
using TimesOfPieces = std::vector<std::vector<TimeNs>>;

// Searches backwards from an instant until every hole is resolved: most holes are young. O(events
// back to the birth of the oldest segment with a hole that never had a block).
TimesOfPieces LookBackAtHoles(const Session& session, std::span<const MapSegment> segments,
                              TimeNs now);

// The same for any instant in O(pieces of the segments × log).
//
// Stores the blocks of each segment in the order of their ends and, after every so many ends (a few
// times the number of its pieces), a copy of the last end at every address. A query begins at the
// copy before its instant and adds the ends since.
class HoleIndex {
 public:
  explicit HoleIndex(const Session& session);  // O(blocks × log)
  TimesOfPieces At(const Session& session, std::span<const MapSegment> segments, TimeNs now) const;
  std::size_t memory_bytes() const;

 private:
  struct Copy {
    std::uint32_t ends = 0;  // of the segment, before it
    std::size_t first = 0;   // in addresses_ and last_
  };
  struct Past {
    std::size_t first_end = 0, ends = 0;     // in ends_
    std::size_t first_copy = 0, copies = 0;  // in copies_
    std::uint64_t end_address = 0;           // of all its blocks
  };
  class SegmentQuery;

  void Add(const Session& session, AllocationId segment);

  absl::flat_hash_map<std::uint32_t, Past> segments_;  // by allocation; of those with blocks
  std::vector<AllocationId> ends_;                     // blocks, by segment, by their end
  std::vector<Copy> copies_;                           // by segment, in order
  // For each copy, from each address up to the next one: the event of the last end, or none.
  std::vector<std::uint64_t> addresses_;
  std::vector<EventId> last_;
};

}  // namespace memprof::analysis
