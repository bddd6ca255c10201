// Which segments share a private pool.
//
// PyTorch keeps what the capture of a CUDA graph takes in pools of their own; several captures may
// share one. A recorded log names captures, not pools: that in which a segment was made, and that
// in which a block was taken from it. Captures that took from the same segment share its pool. Logs
// made from PyTorch's snapshots name the pools themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// "private pool (1, 0)", with PyTorch's two numbers; "" for 0, none.
std::string PrivatePoolName(std::uint64_t pool);

// Of a segment, or of what lies in one; 0 = none. O(1).
std::uint64_t PrivatePoolOf(const Session& session, AllocationId id);

// Until Settle, `second` of a segment's record is what its event named.
class PrivatePools {
 public:
  // A block was handed out from a segment that names `first`, in a capture that is named `second`;
  // either may be 0, which tells nothing. Near O(1).
  void Share(std::uint64_t first, std::uint64_t second);
  // Gives all segments of one pool its number: the least of the names that they go by.
  void Settle(std::vector<AllocationRecord>* records);

 private:
  std::uint64_t Least(std::uint64_t name);

  absl::flat_hash_map<std::uint64_t, std::uint64_t> less_;  // another name of the same pool
};

}  // namespace memprof::analysis
