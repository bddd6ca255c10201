// The writer thread: moves events and definitions from the ring to the log (internal/drain.h),
// writes its counters, and ends it.
//
// All private functions run on that thread. It never calls CUDA (except in Housekeeping, which
// stops or resumes the CUPTI source after a signal), holds no lock while it writes, and blocks all
// signals, so that no handler of the program runs on it.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <optional>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/log/internal/drain.h"
#include "libmemprof/src/log/live_table.h"
#include "libmemprof/src/log/log_file.h"
#include "libmemprof/src/log/ring_buffer.h"

namespace memprof::recorder {

// Tasks of the recording's owner. All but before_finish are called on the writer's thread; null =
// nothing to do.
struct Housekeeping {
  struct Counts {
    std::uint64_t stack_nodes;
    std::uint64_t unknown_versions;  // of driver functions
  };
  void* owner = nullptr;                          // passed to each of them
  void (*before_drain)(void* owner) = nullptr;    // several times a second while there are events
  void (*each_second)(void* owner) = nullptr;     // within a LoaderSection
  void (*before_finish)(void* owner) = nullptr;   // by the thread that calls Finish
  void (*at_last_thread)(void* owner) = nullptr;  // no thread of the program is left
  void (*on_failure)(void* owner) = nullptr;      // once: the log cannot be written any more
  Counts (*counts)(void* owner) = nullptr;        // for the log's counters
  // The header of a further segment, counted from 1.
  void (*header)(void* owner, std::uint32_t segment, std::uint64_t start_ns,
                 ByteBuffer* to) = nullptr;
};

class Writer {
 public:
  // The longest wait for the end of the log.
  static constexpr std::uint64_t kMaxFinishNs = 10'000'000'000;

  // The longest sleep while few events arrive: they are safe in the ring, and few large chunks
  // compress twice as well as many small ones.
  static constexpr std::uint64_t kRestNs = 1'000'000'000;

  Writer(RingBuffer* ring, LogFile* log, const Housekeeping& housekeeping,
         std::uint64_t rest_ns = kRestNs, const log::AlwaysOnBudget& always_on = {});
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  bool Start();
  // Ends the thread after a last drain; for tests, which destroy recorders.
  void Stop();

  // Returns true once everything published before the call is in the log, or false after
  // `timeout_ns`.
  bool Flush(std::uint64_t timeout_ns);
  // As Flush; then the log has its counters, index and trailer, and the ring file is removed. Later
  // events reopen the log while they are written. Call Finish again after them, because the
  // counters are those of the last call.
  bool Finish(std::uint64_t timeout_ns);

  // The main thread has called pthread_exit, or is about to. A process ends with its last thread,
  // so the writer has to notice when it is the last, and to end too.
  void NoteEndOfMain() {
    main_has_ended_.store(true, std::memory_order_relaxed);
    ring_->CallAttention();
  }

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::uint64_t log_bytes() const { return drain_.log_bytes(); }
  // As of the last drain.
  LiveTotals totals() const { return drain_.live().totals(); }
  // Of all kinds, as of the last drain.
  std::size_t live_blocks() const { return drain_.live().blocks(); }

  // A copy of the live blocks of cuMemAlloc and cuMemAllocPitch as of the last drain, in no order.
  struct LiveCopy {
    void (*add)(void* to, const LiveBlock& block);
    void* to;
  };
  // False after `timeout_ns`, or if another thread copies at the same time.
  bool CopyLive(LiveCopy* copy, std::uint64_t timeout_ns);

  // For tests without the thread: drains once; false when there was nothing.
  bool DrainOnce();

 private:
  void Call(void (*task)(void* owner)) {
    if (task != nullptr) task(housekeeping_.owner);
  }
  Housekeeping::Counts OutsideCounts() {
    return housekeeping_.counts == nullptr ? Housekeeping::Counts{}
                                           : housekeeping_.counts(housekeeping_.owner);
  }
  static void* ThreadMain(void* self);
  void Loop();
  void Serve(std::uint32_t flush_wanted, std::uint32_t finish_wanted);
  void Rest(std::uint32_t attention);
  bool ProcessIsOver();
  void EndAsLast();
  void ServeHere();
  bool Request(std::atomic<std::uint32_t>* wanted, std::atomic<std::uint32_t>* done,
               std::uint64_t timeout_ns);
  void ServeCopy();
  void CountRefusals();
  void WriteCounters();
  void FinishLog();
  // writer_segments.cc: of a recording that is always on.
  Thinner* BeginThinner();
  void ServeThinner(std::uint64_t now_ns, bool flush, bool finish);
  void BeginSegment(std::uint64_t now_ns);
  void Fail(int error);

  RingBuffer* ring_;
  LogFile* log_;
  Housekeeping housekeeping_;
  const std::uint64_t rest_ns_;
  pthread_t thread_{};
  sigset_t mask_of_program_{};
  bool running_ = false;
  std::atomic<bool> stop_{false};
  std::atomic<bool> main_has_ended_{false};
  std::atomic<bool> ended_{false};         // the thread has ended: callers do its work themselves
  std::atomic<std::uint32_t> serving_{0};  // the thread that does it
  Mutex<LockRank::kWriterServing> serving_mutex_;
  std::atomic<bool> failed_{false};
  std::atomic<std::uint32_t> flush_wanted_{0};
  std::atomic<std::uint32_t> flush_done_{0};
  std::atomic<std::uint32_t> finish_wanted_{0};
  std::atomic<std::uint32_t> finish_done_{0};
  std::atomic<LiveCopy*> copy_{nullptr};  // requested and not yet begun
  std::atomic<std::uint32_t> copy_wanted_{0};
  std::atomic<std::uint32_t> copy_done_{0};
  const log::AlwaysOnBudget always_on_;
  std::optional<Thinner> thinner_;  // if it is always on
  std::uint32_t segment_ = 1;
  Drain drain_;
  ByteBuffer message_{Need::kWriter};  // of counters
  std::uint64_t next_sweep_ns_ = 0;
  std::uint64_t next_end_check_ns_ = 0;
  bool is_over_ = false;
  int status_of_main_ = 0;
  std::uint64_t next_counters_ns_ = 0;
  bool reported_removed_ = false;
};

}  // namespace memprof::recorder
