// The new content of the ring's slabs of one kind: runs within one slab, for each thread in the
// order in which it filled them. Belongs to the writer's thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libmemprof/src/log/ring_buffer.h"

namespace memprof::recorder {

struct SlabRun {
  ring::SlabHeader* slab;
  std::uint64_t sequence;
  std::uint32_t thread;
  std::uint32_t from;
  std::uint32_t to;
};

class SlabRuns {
 public:
  SlabRuns(RingBuffer* ring, ring::SlabKind kind) : ring_(ring), kind_(kind) {}
  ~SlabRuns();
  SlabRuns(const SlabRuns&) = delete;
  SlabRuns& operator=(const SlabRuns&) = delete;

  // Reads the ring again; returns the number of runs.
  std::size_t Collect();
  const SlabRun& operator[](std::size_t i) const { return runs_[i]; }

 private:
  RingBuffer* ring_;
  ring::SlabKind kind_;
  SlabRun* runs_ = nullptr;  // as many as the ring may have slabs
};

// Returns slabs that are sealed and drained to the free list.
void ReleaseDrainedSlabs(RingBuffer* ring);
// A thread normally seals its slab when it ends; a thread that was killed cannot.
void SealSlabsOfDeadThreads(RingBuffer* ring);

}  // namespace memprof::recorder
