// Moves events and definitions from the ring to the log. A reader of a killed process finds each of
// them once: they are encoded, then written, then removed from the ring (proto/ring.h).
//
// On the writer's thread only, except log_bytes and the functions of live() that allow others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/log/encoder.h"
#include "libmemprof/src/log/internal/definition_encoder.h"
#include "libmemprof/src/log/internal/live_account.h"
#include "libmemprof/src/log/internal/slab_runs.h"
#include "libmemprof/src/log/log_file.h"
#include "libmemprof/src/log/ring_buffer.h"

namespace memprof::recorder {

class Drain {
 public:
  // `thinner`: what chooses the events that are written; null for all. It must outlive this.
  Drain(RingBuffer* ring, LogFile* log, Thinner* thinner)
      : ring_(ring), log_(log), thinner_(thinner), definition_encoder_(log) {}
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  struct Result {
    bool worked = false;  // there was something
    int error = 0;        // errno of the log
  };
  Result Once();
  // Writes the log's batch, which has `events` events of the ring; returns 0 or an errno.
  int Commit(std::uint64_t events);
  // Encodes and writes what the thinner has kept; returns 0 or an errno. It may rest there for a
  // while, because few large chunks take less of the budget.
  int WriteKept(std::uint64_t now_ns);
  // The log is a new one, without events.
  void BeginSegment() { ring_->header()->events_written.store(0, std::memory_order_release); }
  // Ends the log; returns 0 or an errno.
  int EndLog();
  // Events that the log does not have, after an error of it.
  std::uint64_t CountUnwritten();

  LiveAccount* live() { return &live_; }
  const LiveAccount& live() const { return live_; }
  std::uint64_t log_bytes() const { return log_bytes_.load(std::memory_order_relaxed); }

 private:
  Result TakeThinned(std::size_t runs);
  std::size_t EncodeEvents(std::size_t first_run, std::size_t runs);
  void FlushEncoder();
  void EncodeDefinitions(std::size_t first_run, std::size_t runs);

  RingBuffer* ring_;
  LogFile* log_;
  Thinner* thinner_;
  SlabRuns runs_{ring_, ring::SlabKind::kEvents};
  SlabRuns definition_runs_{ring_, ring::SlabKind::kDefinitions};
  DefinitionEncoder definition_encoder_;
  EventEncoder encoder_;
  LiveAccount live_{ring_};
  ByteBuffer message_{Need::kWriter};
  std::uint64_t kept_lost_ = 0;  // of the thinner's
  std::atomic<std::uint64_t> log_bytes_{0};
};

}  // namespace memprof::recorder
