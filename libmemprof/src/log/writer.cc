// The writer thread: its loop, and requests of other threads.
#include "libmemprof/src/log/writer.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "libmemprof/src/base/loader_gate.h"
#include "libmemprof/src/log/proto_writer.h"
#include "libmemprof/src/log/vocabulary.h"
#include "proto/anomalies.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kTickNs = 50'000'000;
constexpr std::uint64_t kSweepNs = 1'000'000'000;
// How often the writer checks for the end of the last thread, and after the main thread has called
// pthread_exit: it delays the end of the process by up to this time.
constexpr std::uint64_t kEndCheckNs = 50'000'000, kEndPollNs = 20'000'000;
constexpr std::uint64_t kCountersNs = 10'000'000'000;

// Of the writer's thread. Not a member: flags stay in the list, and a recording may be taken down.
LoaderFlag g_loader_flag;
std::atomic<pid_t> g_loader_flag_of{0};  // the process in whose list it is

void RegisterWritersFlag() {
  if (g_loader_flag_of.exchange(getpid()) != getpid()) RegisterLoaderFlag(&g_loader_flag);
}

}  // namespace

Writer::Writer(RingBuffer* ring, LogFile* log, const Housekeeping& housekeeping,
               std::uint64_t rest_ns, const log::AlwaysOnBudget& always_on)
    : ring_(ring),
      log_(log),
      housekeeping_(housekeeping),
      rest_ns_(rest_ns),
      always_on_(always_on),
      drain_(ring, log, BeginThinner()) {}

bool Writer::Start() {
  RegisterWritersFlag();
  // No stretch may begin before the log does.
  if (thinner_) thinner_->BeginSegment(ring_->header()->start_time_ns);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t{1} << 20);
  SignalsOff::MaskOfProgram(&mask_of_program_);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread_, &attributes, &Writer::ThreadMain, this);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
    if (!worked || ring_->Attention() == seen) Rest(seen);
    if (ProcessIsOver()) return EndAsLast();
  }
  DrainOnce();
}

// Until something happens, or the process seems to be over.
void Writer::Rest(std::uint32_t attention) {
  const std::uint64_t until = NowNs() + rest_ns_;
  for (std::uint64_t now; ring_->Attention() == attention && (now = NowNs()) < until;) {
    const bool ends = main_has_ended_.load(std::memory_order_relaxed);
    ring_->WaitForAttention(attention, std::min(until - now, ends ? kEndPollNs : kEndCheckNs));
    if (ProcessIsOver()) return;
  }
}

bool Writer::ProcessIsOver() {
  const std::uint64_t now = NowNs();
  if (is_over_ || now < next_end_check_ns_) return is_over_;
  next_end_check_ns_ =
      now + (main_has_ended_.load(std::memory_order_relaxed) ? kEndPollNs : kEndCheckNs);
  const int left = LastThreadsLeft(1, &status_of_main_);
  is_over_ = left == 0 || (left == 1 && status_of_main_ != 0);
  return is_over_;
}

// The C library ends the process with its last thread, which runs the exit handlers. They expect a
// stack and a signal mask like the program's, so they do not run on this thread. Events of that
// time are written at once by the thread that makes them. If the main thread ended by the bare
// system call, or was killed, no exit handler runs, and the process has the status of its last
// thread: therefore the writer leaves before that, or has the status of the main thread.
void Writer::EndAsLast() {
  Call(housekeeping_.at_last_thread);
  ended_.store(true, std::memory_order_release);
  Finish(kMaxFinishNs);
  if (status_of_main_ != 0 && LastThreadsLeft(1, &status_of_main_) == 1) return;
  if (status_of_main_ != 0) EndLike(status_of_main_);
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
    SealSlabsOfDeadThreads(ring_);
    LoaderSection section(&g_loader_flag);
    Call(housekeeping_.each_second);
    next_sweep_ns_ = now + kSweepNs;
  }
  if (thinner_.has_value() && !failed())
    ServeThinner(now, flush_wanted != flush_done_.load(std::memory_order_relaxed),
                 finish_wanted != finish_done_.load(std::memory_order_relaxed));
  if (now >= next_counters_ns_ && !failed() && !thinner_.has_value()) {
    if (next_counters_ns_ != 0) {
      WriteCounters();
      if (const int error = drain_.Commit(0)) Fail(error);
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
  // The copy has begun, and writes to the caller's memory until it is done.
  while (copy_done_.load(std::memory_order_acquire) == done && !failed())
    FutexWait(&copy_done_, done, kTickNs);
  return true;
}

void Writer::ServeCopy() {
  const std::uint32_t wanted = copy_wanted_.load(std::memory_order_acquire);
  LiveCopy* copy = copy_.exchange(nullptr);
  if (copy == nullptr) return;
  drain_.live()->table().ForEach([copy](const LiveBlock& block) {
    if (block.layer == kLayerLinear || block.layer == kLayerPitched) copy->add(copy->to, block);
  });
  copy_done_.store(wanted, std::memory_order_release);
  FutexWake(&copy_done_, 64);
}

bool Writer::DrainOnce() {
  if (failed()) return false;
  const Drain::Result result = drain_.Once();
  if (result.error != 0) Fail(result.error);
  return result.worked && result.error == 0;
}

// Copies counters of other modules to the ring, where they outlive the process.
void Writer::CountRefusals() {
  const auto set = [this](log::Anomaly anomaly, std::uint64_t value) {
    ring_->header()->anomalies[static_cast<int>(anomaly)].store(value, std::memory_order_relaxed);
  };
  set(log::Anomaly::kMemoryRefused, RefusedRequests());
  set(log::Anomaly::kBlocksNotFollowed, drain_.live()->table().not_followed());
  if (thinner_.has_value()) set(log::Anomaly::kBudgetSpent, thinner_->lost());
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
  ProtoWriter counters(message_);
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    const std::uint64_t value = header->anomalies[i].load(std::memory_order_relaxed);
    if (value == 0) continue;
    ProtoWriter counter(counters, 1);
    counter.AddText(1, kNames[i]);
    counter.AddVarint(2, value);
  }
  const std::uint64_t written = header->events_written.load(std::memory_order_relaxed);
  {
    ProtoWriter self(counters, 2);
    self.AddVarint(1, written + (thinner_.has_value() ? thinner_->left_out() : 0));
    self.AddVarint(2, written);
    self.AddVarint(3, log_->size());
    self.AddVarint(4, header->hook_time_ns.load(std::memory_order_relaxed));
    self.AddVarint(5, ThreadCpuNs());
    self.AddVarint(6, ring_->backed_bytes() + ChargedMemory());
    self.AddVarint(7, OutsideCounts().stack_nodes);
  }
  log_->AddChunk(log::ChunkKind::kCounters, message_);
}

void Writer::FinishLog() {
  if (failed()) return;
  WriteCounters();
  if (const int error = drain_.EndLog()) {
    Fail(error);
    return;
  }
  ring_->Remove();
  if (log_->removed() && !reported_removed_)
    Message("%.300s was removed while it was being written", log_->path());
  reported_removed_ = log_->removed();
}

// Reports the error to the user once, tries to write the reason to the log, and stops recording.
void Writer::Fail(int error) {
  if (failed_.exchange(true, std::memory_order_acq_rel)) return;
  char reason[128] = "error: ";
  char text[100];
  strncat(reason, strerror_r(error, text, sizeof text), sizeof reason - strlen(reason) - 1);
  Message("cannot write %.300s: %s; recording stops here, the program goes on", log_->path(),
          reason + strlen("error: "));
  ring_->Count(log::Anomaly::kWriteErrors);
  Call(housekeeping_.on_failure);
  const std::uint64_t unwritten = drain_.CountUnwritten();
  ring_->Count(log::Anomaly::kEventsLost, unwritten);
  WriteCounters();
  const std::uint64_t written = ring_->header()->events_written.load(std::memory_order_relaxed);
  // If not even the end can be written, the ring keeps what there is: another process may be able
  // to append it.
  if (log_->Finish(NowNs(), written, reason) == 0) {
    ring_->Remove();
  } else {
    ring_->Count(log::Anomaly::kEventsLost, -unwritten);
  }
}

}  // namespace memprof::recorder
