// Draining the ring: what to take, in which order, and how it becomes final.
#include "libmemprof/src/log/writer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "libmemprof/src/log/pbf_writer.h"
#include "libmemprof/src/log/vocabulary.h"
#include "proto/anomalies.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;
using ring::SlabHeader;
using ring::SlabKind;
using ring::SlabState;

constexpr std::uint64_t kTickNs = 50'000'000;
// Longest rest while little happens: events are safe in the ring meanwhile, and few large chunks
// compress twice as well as many small ones.
constexpr std::uint64_t kRestNs = 1'000'000'000;
constexpr std::uint64_t kSweepNs = 1'000'000'000;
// How soon the process ends after its last thread: by pthread_exit of a main thread that was
// recorded.
constexpr std::uint64_t kEndLookNs = 20'000'000;
constexpr std::uint64_t kCountersNs = 10'000'000'000;
// Events that become final in one commit: bounds the batch in memory and what a disk error loses.
constexpr std::uint64_t kEventsPerCommit = 16 * 1024;
constexpr std::size_t kDefinitionSlabsPerCommit = 32;  // 2 MiB before packing
constexpr std::uint64_t kEventsPerHeartbeat = 4096;
constexpr char kCleanEnd[] = "exit";  // log.Trailer.reason

}  // namespace

Writer::~Writer() {
  const std::size_t bytes =
      ring_->header() == nullptr ? 0 : ring_->header()->slab_count * sizeof(Run);
  UnmapMemory(runs_, bytes, Need::kWriter);
  UnmapMemory(definition_runs_, bytes, Need::kWriter);
}

bool Writer::Start() {
  RegisterLoaderFlag(&loader_);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 20);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask_of_program_);
  const int error = pthread_create(&thread_, &attributes, &Writer::ThreadMain, this);
  pthread_sigmask(SIG_SETMASK, &mask_of_program_, nullptr);
  pthread_attr_destroy(&attributes);
  running_ = error == 0;
  return running_;
}

void Writer::Stop() {
  if (!running_) return;
  stop_.store(true, std::memory_order_release);
  ring_->CallAttention();
  pthread_join(thread_, nullptr);
  running_ = false;
}

void* Writer::ThreadMain(void* self) {
  pthread_setname_np(pthread_self(), "memprof");
  static_cast<Writer*>(self)->Loop();
  return nullptr;
}

void Writer::Loop() {
  ring_->SetWriter(CurrentTid());
  while (!stop_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = ring_->Attention();
    const std::uint32_t finish_wanted = finish_wanted_.load(std::memory_order_acquire);
    const std::uint32_t flush_wanted = flush_wanted_.load(std::memory_order_acquire);
    Call(housekeeping_.before_drain);
    const bool worked = DrainOnce();
    Serve(flush_wanted, finish_wanted);
    if (!worked || ring_->Attention() == seen)
      ring_->WaitForAttention(
          seen, main_has_ended_.load(std::memory_order_relaxed) ? kEndLookNs : kRestNs);
    if (ProcessIsOver()) return EndAsLast();
  }
  DrainOnce();
}

bool Writer::ProcessIsOver() {
  const std::uint64_t now = NowNs();
  if (now < next_look_ns_) return false;
  next_look_ns_ = now + (main_has_ended_.load(std::memory_order_relaxed) ? kEndLookNs : kSweepNs);
  return OnlyOwnThreadsAreLeft(1);
}

// The C library ends the process with its last thread, which runs the exit handlers: on a stack
// and with a signal mask as the program has them, so not on this thread. What they allocate is
// written by them at once.
void Writer::EndAsLast() {
  Call(housekeeping_.at_last_thread);
  ended_.store(true, std::memory_order_release);
  Finish(kLongestFinishNs);
  pthread_t last;
  const auto wait_for = [](void* writer) -> void* {
    auto* self = static_cast<Writer*>(writer);
    pthread_join(self->thread_, nullptr);
    pthread_sigmask(SIG_SETMASK, &self->mask_of_program_, nullptr);
    return nullptr;
  };
  if (pthread_create(&last, nullptr, wait_for, this) == 0)
    pthread_detach(last);
  else
    pthread_sigmask(SIG_SETMASK, &mask_of_program_, nullptr);
}

void Writer::ServeHere() {
  const std::uint32_t here = CurrentTid();
  if (serving_.load(std::memory_order_relaxed) == here) return;
  LockGuard lock(serving_mutex_);
  serving_.store(here, std::memory_order_relaxed);
  ring_->SetWriter(here);
  const std::uint32_t finish_wanted = finish_wanted_.load(std::memory_order_acquire);
  const std::uint32_t flush_wanted = flush_wanted_.load(std::memory_order_acquire);
  while (DrainOnce()) continue;
  Serve(flush_wanted, finish_wanted);
  serving_.store(0, std::memory_order_relaxed);
}

void Writer::Serve(std::uint32_t flush_wanted, std::uint32_t finish_wanted) {
  const std::uint64_t now = NowNs();
  if (now >= next_sweep_ns_) {
    SealDeadThreads();
    LoaderSection section(&loader_);
    Call(housekeeping_.each_second);
    next_sweep_ns_ = now + kSweepNs;
  }
  if (now >= next_counters_ns_ && !failed()) {
    if (next_counters_ns_ != 0) {
      WriteCounters();
      Commit(0);
    }
    next_counters_ns_ = now + kCountersNs;
  }
  if (finish_wanted != finish_done_.load(std::memory_order_relaxed)) {
    FinishLog();
    finish_done_.store(finish_wanted, std::memory_order_release);
    FutexWake(&finish_done_, 64);
  }
  if (flush_wanted != flush_done_.load(std::memory_order_relaxed)) {
    flush_done_.store(flush_wanted, std::memory_order_release);
    FutexWake(&flush_done_, 64);
  }
  ServeCopy();
  CountRefusals();
  ring_->header()->writer_cpu_ns.store(ThreadCpuNs(), std::memory_order_relaxed);
}

bool Writer::Request(std::atomic<std::uint32_t>* wanted, std::atomic<std::uint32_t>* done,
                     std::uint64_t timeout_ns) {
  const std::uint32_t ticket = wanted->fetch_add(1, std::memory_order_acq_rel) + 1;
  const std::uint64_t deadline = NowNs() + timeout_ns;
  for (;;) {
    const std::uint32_t reached = done->load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(reached - ticket) >= 0) return !failed();
    const std::uint64_t now = NowNs();
    if (now >= deadline || failed()) return false;
    if (ended_.load(std::memory_order_acquire)) {
      ServeHere();
      continue;
    }
    ring_->CallAttention();
    FutexWait(done, reached, std::min(deadline - now, kTickNs));
  }
}

bool Writer::Flush(std::uint64_t timeout_ns) {
  return Request(&flush_wanted_, &flush_done_, timeout_ns);
}

bool Writer::Finish(std::uint64_t timeout_ns) {
  Call(housekeeping_.before_finish);
  return Request(&finish_wanted_, &finish_done_, timeout_ns);
}

bool Writer::CopyLive(LiveCopy* copy, std::uint64_t timeout_ns) {
  LiveCopy* none = nullptr;
  if (!copy_.compare_exchange_strong(none, copy)) return false;
  const std::uint32_t done = copy_done_.load(std::memory_order_acquire);
  if (Request(&copy_wanted_, &copy_done_, timeout_ns)) return true;
  if (copy_.exchange(nullptr) == copy) return false;
  // It has been begun, and writes to the caller's memory until it is done.
  while (copy_done_.load(std::memory_order_acquire) == done && !failed())
    FutexWait(&copy_done_, done, kTickNs);
  return true;
}

void Writer::ServeCopy() {
  const std::uint32_t wanted = copy_wanted_.load(std::memory_order_acquire);
  LiveCopy* copy = copy_.exchange(nullptr);
  if (copy == nullptr) return;
  live_.ForEach([copy](std::uint64_t address, std::uint64_t bytes, std::uint16_t device_plus_1,
                       std::uint8_t layer) {
    if (layer == kLayerLinear || layer == kLayerPitched)
      copy->add(copy->to, {address, bytes, device_plus_1, layer});
  });
  copy_done_.store(wanted, std::memory_order_release);
  FutexWake(&copy_done_, 64);
}

LiveTotals Writer::totals() const {
  LockGuard lock(totals_mutex_);
  return totals_;
}

// Leaves events later than `time_ns` for the next drain. What is left is a consistent cut: an
// allocation is published before any thread can stamp the free of it, so no free is in a batch
// that its allocation is not in.
void Writer::CutAt(std::uint64_t time_ns, Run* runs, std::size_t count) {
  bool cut = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && runs[i].thread != runs[i - 1].thread) cut = false;
    if (cut) runs[i].to = runs[i].from;
    const RingEvent* events = SlabEvents(runs[i].slab);
    std::uint32_t at = runs[i].from;
    while (at < runs[i].to && events[at].time_ns <= time_ns) ++at;
    cut = cut || at < runs[i].to;
    runs[i].to = at;
  }
}

// All slabs of the kind that hold something new, each thread's in the order in which it filled
// them. A slab that was seen half full while its successor already existed is looked at again:
// what the successor holds came later.
std::size_t Writer::CollectRuns(SlabKind kind) {
  const std::uint64_t cut_ns = kind == SlabKind::kEvents ? NowNs() : 0;
  Run*& runs = kind == SlabKind::kEvents ? runs_ : definition_runs_;
  if (runs == nullptr)
    runs = static_cast<Run*>(MapMemory(ring_->header()->slab_count * sizeof(Run), Need::kWriter));
  if (runs == nullptr) return 0;
  std::size_t count = 0;
  const std::uint32_t ready = ring_->slabs_ready();
  for (std::uint32_t i = 0; i < ready; ++i) {
    SlabHeader* slab = ring_->slab(i);
    const SlabState state = slab->state.load(std::memory_order_acquire);
    if (state == SlabState::kFree || slab->kind != kind) continue;
    runs[count++] = {slab, slab->sequence, slab->thread,
                     slab->taken.load(std::memory_order_relaxed),
                     slab->published.load(std::memory_order_acquire)};
  }
  std::sort(runs, runs + count, [](const Run& a, const Run& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.sequence < b.sequence;
  });
  for (std::size_t i = 0; i + 1 < count; ++i)
    if (runs[i + 1].thread == runs[i].thread)
      runs[i].to = runs[i].slab->published.load(std::memory_order_acquire);
  if (kind == SlabKind::kEvents) CutAt(cut_ns, runs, count);
  return static_cast<std::size_t>(
      std::remove_if(runs, runs + count, [](const Run& run) { return run.to <= run.from; }) - runs);
}

bool Writer::DrainOnce() {
  if (failed()) return false;
  const std::size_t event_runs = CollectRuns(SlabKind::kEvents);
  const std::size_t definition_runs = CollectRuns(SlabKind::kDefinitions);
  if (event_runs + definition_runs == 0) {
    ReleaseDrained();
    return false;
  }
  ring::RingHeader* header = ring_->header();
  std::size_t defined = 0;
  // Many definitions are committed in pieces, which bounds the batch.
  for (; definition_runs - defined > kDefinitionSlabsPerCommit;
       defined += kDefinitionSlabsPerCommit) {
    header->commit_at.store(ring::kNotCommitted, std::memory_order_release);
    EncodeDefinitions(defined, defined + kDefinitionSlabsPerCommit);
    if (!Commit(0)) return false;
    ReleaseDrained();
  }
  header->commit_at.store(ring::kNotCommitted, std::memory_order_release);
  EncodeDefinitions(defined, definition_runs);
  Account(event_runs);
  std::size_t done = 0;
  do {
    header->commit_at.store(ring::kNotCommitted, std::memory_order_release);
    const std::size_t first = done;
    done = EncodeEvents(first, event_runs);
    std::uint64_t events = 0;
    for (std::size_t i = first; i < done; ++i) {
      runs_[i].slab->pending.store(runs_[i].to, std::memory_order_release);
      events += runs_[i].to - runs_[i].from;
    }
    if (!Commit(events)) return false;
    ReleaseDrained();  // each time: threads may be waiting for room
  } while (done < event_runs);
  return true;
}

std::size_t Writer::EncodeEvents(std::size_t first_run, std::size_t runs) {
  std::uint64_t events = 0;
  std::size_t run = first_run;
  for (; run < runs && events < kEventsPerCommit; ++run) {
    const RingEvent* at = SlabEvents(runs_[run].slab) + runs_[run].from;
    std::uint32_t left = runs_[run].to - runs_[run].from;
    events += left;
    ring_->Heartbeat();
    while (left > 0) {
      const std::uint32_t part = std::min(left, log::kEventsPerChunk - encoder_.events());
      if (part == 0 || !encoder_.Add(runs_[run].thread, at, part)) {
        FlushEncoder();
        continue;
      }
      at += part;
      left -= part;
    }
  }
  FlushEncoder();
  return run;
}

void Writer::FlushEncoder() {
  const std::uint32_t events = encoder_.events();
  if (events == 0) return;
  message_.Clear();
  encoder_.Encode(&message_);
  log_->AddChunk(log::ChunkKind::kEvents, message_, events, encoder_.first_time_ns(),
                 encoder_.last_time_ns());
}

void Writer::EncodeDefinitions(std::size_t first_run, std::size_t runs) {
  for (std::size_t i = first_run; i < runs; ++i) {
    const Run& run = definition_runs_[i];
    definition_encoder_.Add(SlabBytesBegin(run.slab) + run.from, run.to - run.from);
    run.slab->pending.store(run.to, std::memory_order_release);
  }
  definition_encoder_.Finish();
}

bool Writer::Commit(std::uint64_t events) {
  ring::RingHeader* header = ring_->header();
  header->pending_events.store(events, std::memory_order_release);
  header->commit_at.store(log_->size() + log_->batch_bytes(), std::memory_order_release);
  // Once it was ended, the log stays so: the process may be gone before anybody asks again.
  const int error =
      log_->finished()
          ? log_->Finish(NowNs(), header->events_written.load(std::memory_order_relaxed) + events,
                         kCleanEnd)
          : log_->WriteBatch();
  if (error != 0) {
    Fail(error);
    return false;
  }
  const std::uint32_t ready = ring_->slabs_ready();
  for (std::uint32_t i = 0; i < ready; ++i) {
    SlabHeader* slab = ring_->slab(i);
    const std::uint32_t pending = slab->pending.load(std::memory_order_relaxed);
    if (slab->taken.load(std::memory_order_relaxed) != pending)
      slab->taken.store(pending, std::memory_order_release);
  }
  header->committed.store(log_->size(), std::memory_order_release);
  header->events_written.fetch_add(events, std::memory_order_release);
  header->pending_events.store(0, std::memory_order_release);
  log_bytes_.store(log_->size(), std::memory_order_relaxed);
  return true;
}

void Writer::ReleaseDrained() {
  const std::uint32_t ready = ring_->slabs_ready();
  for (std::uint32_t i = 0; i < ready; ++i) {
    SlabHeader* slab = ring_->slab(i);
    if (slab->state.load(std::memory_order_acquire) != SlabState::kSealed) continue;
    if (slab->published.load(std::memory_order_acquire) ==
        slab->taken.load(std::memory_order_relaxed))
      ring_->Release(slab);
  }
}

// A thread normally gives its slab back when it ends; one that was cut off cannot.
void Writer::SealDeadThreads() {
  const std::uint32_t ready = ring_->slabs_ready();
  for (std::uint32_t i = 0; i < ready; ++i) {
    SlabHeader* slab = ring_->slab(i);
    if (slab->state.load(std::memory_order_acquire) != SlabState::kOwned ||
        slab->kind != SlabKind::kEvents || slab->tid == 0)
      continue;
    if (syscall(SYS_tgkill, getpid(), slab->tid, 0) != 0 && errno == ESRCH) ring_->Seal(slab);
  }
}

// Applies the batch in the order of time over all threads: each thread is in order already, so the
// earliest head goes first.
void Writer::Account(std::size_t runs) {
  struct Cursor {
    std::size_t run, end_run;
    std::uint32_t event;
  };
  cursors_.Clear();
  if (runs == 0 || !cursors_.Reserve(runs * sizeof(Cursor))) return;
  auto* cursors = reinterpret_cast<Cursor*>(cursors_.data());
  std::size_t threads = 0;
  for (std::size_t run = 0; run < runs; ++run) {
    if (threads > 0 && runs_[cursors[threads - 1].run].thread == runs_[run].thread)
      cursors[threads - 1].end_run = run + 1;
    else
      cursors[threads++] = {run, run + 1, runs_[run].from};
  }
  for (std::uint64_t events = 1; threads > 0; ++events) {
    if (events % kEventsPerHeartbeat == 0) ring_->Heartbeat();
    RingEvent* earliest = nullptr;
    Cursor* which = nullptr;
    for (std::size_t i = 0; i < threads; ++i) {
      RingEvent* event = SlabEvents(runs_[cursors[i].run].slab) + cursors[i].event;
      if (earliest != nullptr && event->time_ns >= earliest->time_ns) continue;
      earliest = event;
      which = &cursors[i];
    }
    ApplyToLive(earliest);
    if (++which->event < runs_[which->run].to) continue;
    if (++which->run < which->end_run)
      which->event = runs_[which->run].from;
    else
      *which = cursors[--threads];
  }
  live_blocks_.store(live_.size(), std::memory_order_relaxed);
  LockGuard lock(totals_mutex_);
  totals_ = live_.totals();
}

namespace {

// Whether memory of the kind `freed` went back through a function for the kind `by` that CUDA does
// not prescribe for it; the readers have the same rule (analysis/load/internal/spaces.h). cuMemFree
// is the one function for three kinds; it and cuMemFreeAsync end what was imported at an address;
// cuMemFreeAsync ends what a pool in the host's memory has handed out.
bool IsForeignFree(std::uint8_t freed, std::uint8_t by) {
  const auto is_linear = [](std::uint8_t kind) {
    return kind == kLayerLinear || kind == kLayerPitched || kind == kLayerManaged;
  };
  if (freed == by || (is_linear(freed) && is_linear(by))) return false;
  if (freed == kLayerImported) return !is_linear(by) && by != kLayerStreamOrdered;
  return freed != kLayerPinned || by != kLayerStreamOrdered;
}

}  // namespace

void Writer::ApplyToLive(RingEvent* event) {
  const std::uint8_t layer = live_.Apply(*event);
  if (layer == event->layer) return;
  if (event->op == kOpFree && IsForeignFree(layer, event->layer))
    ring_->Count(log::Anomaly::kForeignFrees);
  event->layer = layer;
}

// What others count, into the ring, where it outlives the process.
void Writer::CountRefusals() {
  const auto set = [this](log::Anomaly anomaly, std::uint64_t value) {
    ring_->header()->anomalies[static_cast<int>(anomaly)].store(value, std::memory_order_relaxed);
  };
  set(log::Anomaly::kMemoryRefused, RefusedRequests());
  set(log::Anomaly::kBlocksNotFollowed, live_.not_followed());
  set(log::Anomaly::kVersionsUnknown, OutsideCounts().unknown_versions);
}

void Writer::WriteCounters() {
  static constexpr const char* kNames[] = {
#define MEMPROF_ANOMALY_NAME(identifier, name, severity, advice) name,
      MEMPROF_ANOMALIES(MEMPROF_ANOMALY_NAME)
#undef MEMPROF_ANOMALY_NAME
  };
  CountRefusals();
  const ring::RingHeader* header = ring_->header();
  message_.Clear();
  PbfWriter counters(message_);
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const std::uint64_t value = header->anomalies[i].load(std::memory_order_relaxed);
    if (value == 0) continue;
    PbfWriter counter(counters, 1);
    counter.add_string(1, kNames[i]);
    counter.add_uint64(2, value);
  }
  const std::uint64_t written = header->events_written.load(std::memory_order_relaxed);
  {
    PbfWriter self(counters, 2);
    self.add_uint64(1, written);
    self.add_uint64(2, written);
    self.add_uint64(3, log_->size());
    self.add_uint64(4, header->hook_time_ns.load(std::memory_order_relaxed));
    self.add_uint64(5, ThreadCpuNs());
    self.add_uint64(6, ring_->backed_bytes() + ChargedMemory());
    self.add_uint64(7, OutsideCounts().stack_nodes);
  }
  log_->AddChunk(log::ChunkKind::kCounters, message_);
}

void Writer::FinishLog() {
  if (failed()) return;
  WriteCounters();
  const std::uint64_t events = ring_->header()->events_written.load(std::memory_order_relaxed);
  const int error = log_->Finish(NowNs(), events, kCleanEnd);
  if (error != 0) {
    Fail(error);
    return;
  }
  log_bytes_.store(log_->size(), std::memory_order_relaxed);
  ring_->Remove();
  if (log_->removed() && !told_removed_)
    Message("%.300s was removed while it was being written", log_->path());
  told_removed_ = log_->removed();
}

// Tells the user once, tries to leave a log that says why it ends here, and stops recording.
void Writer::Fail(int error) {
  if (failed_.exchange(true, std::memory_order_acq_rel)) return;
  char reason[128] = "error: ";
  char text[100];
  strncat(reason, strerror_r(error, text, sizeof text), sizeof reason - strlen(reason) - 1);
  Message("cannot write %.300s: %s; recording stops here, the program goes on", log_->path(),
          reason + strlen("error: "));
  ring_->Count(log::Anomaly::kWriteErrors);
  Call(housekeeping_.on_failure);
  WriteCounters();
  log_->Finish(NowNs(), ring_->header()->events_written.load(std::memory_order_relaxed), reason);
  ring_->Remove();
}

}  // namespace memprof::recorder
