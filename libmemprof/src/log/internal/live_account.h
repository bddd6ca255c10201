// Keeps the table of live blocks up to date, from the events of each batch in the order of time
// over all threads.
#pragma once

#include <atomic>
#include <cstddef>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/mapped_array.h"
#include "libmemprof/src/log/internal/slab_runs.h"
#include "libmemprof/src/log/live_table.h"
#include "libmemprof/src/log/thinner.h"

namespace memprof::recorder {

class LiveAccount {
 public:
  explicit LiveAccount(RingBuffer* ring) : ring_(ring) {}
  LiveAccount(const LiveAccount&) = delete;
  LiveAccount& operator=(const LiveAccount&) = delete;

  // On the writer's thread. Sets the layer of frees to that of the freed block; then passes the
  // events on in the order of time, if there is somebody for them.
  void Apply(const SlabRuns& runs, std::size_t count, Thinner* next);
  const LiveTable& table() const { return table_; }

  // As of the last batch; for any thread.
  LiveTotals totals() const;
  std::size_t blocks() const { return blocks_.load(std::memory_order_relaxed); }

 private:
  // Position of the merge in the runs of one thread.
  struct Cursor {
    std::size_t run, end_run;
    std::uint32_t event;
  };
  void ApplyOne(ring::RingEvent* event);

  RingBuffer* ring_;
  LiveTable table_;
  MappedArray<Cursor> cursors_{Need::kWriter};
  std::atomic<std::size_t> blocks_{0};
  mutable Mutex<LockRank::kLiveTotals> totals_mutex_;
  LiveTotals totals_;
};

}  // namespace memprof::recorder
