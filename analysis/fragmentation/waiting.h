// Memory that a framework's allocator keeps after its free, because other streams still use it
// (PyTorch's record_stream). It is free for nobody: neither a block in use nor a hole.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

// Where the program gave blocks to another stream: one call stack.
struct StreamUseSite {
  StackId stack;
  std::uint64_t blocks = 0, bytes = 0;  // each block once
};

struct WaitingMemory {
  int device = 0;
  // The log has the end of each wait, as PyTorch's snapshots do; else the figures are samples, and
  // more may have waited between them.
  bool exact = false;
  // At the first instant at which most bytes waited; none if they never did.
  EventId most;
  std::uint64_t most_bytes = 0, most_blocks = 0;
  std::uint64_t reserved_bytes = 0;     // of the device's segments at that instant
  std::uint64_t peak_active_bytes = 0;  // in use or waiting, by the allocator's count; 0 = unknown
  // Blocks that another stream used than the one they were allocated for.
  std::uint64_t used_blocks = 0, used_bytes = 0;
  std::vector<StreamUseSite> sites;  // most bytes first
};

// Of devices with such blocks or samples, in ascending order. O(events).
std::vector<WaitingMemory> FindWaitingMemory(const Session& session);

}  // namespace memprof::analysis
