// What happened before an instant that tells about free memory then: the largest request of each
// pool, and since when nothing was in a hole.
//
// One question looks back over the log; many questions to one log want the index, which answers
// the same from what it keeps: about 10 B for each block of a framework's allocator.
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

// The largest block that each pool was asked for, as it grew until an event.
class LargestRequests {
 public:
  // O(records up to `until`); none = nothing.
  LargestRequests(const Session& session, EventId until);
  // Up to `event`, at most `until`; 0 = nothing was. O(log changes).
  std::uint64_t At(const PoolKey& pool, EventId event) const;

 private:
  using Growth = std::vector<std::pair<EventId, std::uint64_t>>;  // in order of events
  std::map<PoolKey, Growth> pools_;
};

// Of each segment, piece by piece, since when no block was in it: 0 for blocks; for holes the time
// at which the last block ended that was in it, or the birth of the segment.
using TimesOfPieces = std::vector<std::vector<TimeNs>>;

// Looks back from an instant at what ended before it until every hole is told: holes are young,
// mostly. O(events back to the birth of the oldest segment with a hole that no block was ever in).
TimesOfPieces LookBackAtHoles(const Session& session, std::span<const MapSegment> segments,
                              TimeNs now);

// The same at any instant in O(pieces of the segments × log).
//
// Of each segment there are its blocks in order of their ends, and now and then, after as many ends
// as a few times its pieces, a copy of what is known of every address: the last end there. A
// question begins at the copy before its instant and looks back over the ends since.
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
  class Asked;

  void Add(const Session& session, AllocationId segment);

  absl::flat_hash_map<std::uint32_t, Past> segments_;  // by allocation; of those with blocks
  std::vector<AllocationId> ends_;                     // blocks, by segment, by their end
  std::vector<Copy> copies_;                           // by segment, in order
  // Of each copy, from each address on up to the next: the event of the last end, or none.
  std::vector<std::uint64_t> addresses_;
  std::vector<EventId> last_;
};

}  // namespace memprof::analysis
