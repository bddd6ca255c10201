// Finds which segments share a private pool.
//
// PyTorch allocates for the capture of a CUDA graph from private pools; several captures may share
// one. A recorded log has the captures, not the pools: the capture in which a segment was made, and
// that in which a block was allocated from it. Captures that allocated from the same segment share
// its pool. Logs that were converted from PyTorch's snapshots have the pools themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// "private pool (1, 0)", with PyTorch's two numbers; "" for 0, none.
std::string PrivatePoolName(std::uint64_t pool);

// The pool of a segment, or of something in a segment; 0 = none. O(1).
std::uint64_t PrivatePoolOf(const Session& session, AllocationId id);

// Finds which segments belong to one private pool: events may name one pool by several numbers.
// Until AssignNumbers, a segment's record has the number of its event.
class PrivatePools {
 public:
  // Both numbers name the same pool: a segment's, and that of the capture in which a block was
  // allocated from this segment. 0 = not known. Near O(1).
  void Join(std::uint64_t first, std::uint64_t second);
  // Gives all segments of a pool the smallest of its numbers.
  void AssignNumbers(std::vector<AllocationRecord>* records);

 private:
  std::uint64_t Least(std::uint64_t name);

  absl::flat_hash_map<std::uint64_t, std::uint64_t> less_;  // another name of the same pool
};

}  // namespace memprof::analysis
