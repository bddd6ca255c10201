// One recording: its parts, its threads, its events.
#include "libmemprof/src/recording/recorder.h"

#include <errno.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "libmemprof/src/log/header.h"
#include "libmemprof/src/log/run_list.h"
#include "libmemprof/src/recording/control.h"
#include "libmemprof/src/recording/host_scan.h"
#include "libmemprof/src/recording/record_event.h"
#include "libmemprof/src/recording/thread_end.h"
#include "libmemprof/src/recording/thread_states.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kMaxFinishNs = 10'000'000'000;

// Never 0 and never used before in this process or its parents.
std::atomic<std::uint64_t> g_last_epoch{0};
std::atomic<pid_t> g_process{0};  // the process of the recorder; survives a fork, unlike g_control

}  // namespace

ControlPage g_control;
std::atomic<Recorder*> g_recorder{nullptr};

void SetRecorder(Recorder* recorder) {
  if (recorder != nullptr) g_process.store(getpid(), std::memory_order_relaxed);
  g_recorder.store(recorder, std::memory_order_release);
}

pid_t RecordedProcess() { return g_process.load(std::memory_order_relaxed); }

Recorder::Recorder(const Settings& settings, const Housekeeping& housekeeping)
    : settings_(settings),
      epoch_(g_last_epoch.fetch_add(1, std::memory_order_relaxed) + 1),
      definitions_(&ring_),
      stacks_(&definitions_, &ring_),
      writer_(&ring_, &log_, housekeeping, settings.rest_ms * 1'000'000, settings.always_on),
      driver_(&definitions_, settings.scan_at_exit ? ScanAtExit : nullptr) {}

int Recorder::Open() {
  const std::uint64_t start_ns = NowNs();
  const std::uint64_t start_unix_ns = UnixNs();
  if (const int error = log_.Create(settings_.output)) return error;
  RingOptions options;
  options.events = settings_.ring_events;
  options.shared_directory = settings_.shared_directory;
  options.most_bytes = RingShare(settings_.memory_bytes);
  options.log_path = log_.path();
  options.start_time_ns = start_ns;
  if (!ring_.Create(options)) return ENOMEM;
  SetMemoryLimit(settings_.memory_bytes, ring_.most_bytes());
  ByteBuffer header;
  EncodeHeader(start_ns, start_unix_ns, ring_.path(), settings_.always_on, 1, &header);
  log_.AddChunk(log::ChunkKind::kHeader, header);
  if (const int error = log_.WriteBatch()) {
    ring_.Remove();
    return error;
  }
  ring_.header()->committed.store(log_.size(), std::memory_order_release);
  stacks_.Create(settings_.stack_depth, settings_.memory_bytes);
  definitions_.InternString("");  // so that an empty name has an id
  for (int i = 0; i < kFunctionCount; ++i)
    api_labels_[i] = definitions_.InternString(FunctionName(static_cast<FunctionId>(i)));
  if (!writer_.Start()) {
    ring_.Remove();
    return EAGAIN;
  }
  AddToRunList(settings_.run_list, log_.path());
  return 0;
}

void Recorder::EncodeSegmentHeader(std::uint32_t segment, std::uint64_t start_ns, ByteBuffer* to) {
  EncodeHeader(start_ns, UnixNs(), ring_.path(), settings_.always_on, segment, to);
}

void Recorder::Finish() {
  SystemSection section;
  writer_.Finish(kMaxFinishNs);
}

ThreadState* Recorder::BindThread(ThreadSlot* slot) {
  SystemSection section;
  if (slot->epoch != epoch_) slot->thread_id = 0;
  ThreadState* const state = TakeThreadState(slot, epoch_);
  if (state == nullptr) {
    Count(log::Anomaly::kThreadSlotsExhausted);
    return nullptr;
  }
  if (!state->loader_registered) {
    RegisterLoaderFlag(&state->loader);
    state->loader_registered = true;
  }
  state->slab = nullptr;
  state->used = 0;
  state->room = 0;
  state->tid = CurrentTid();
  state->context = {};
  state->chosen_pools = {};
  state->torch_stream = {};
  state->stack_bounds = FindStackBounds();
  stacks_.Reset(&state->memo);
  if (slot->thread_id == 0) {
    slot->thread_id = last_thread_id_.fetch_add(1, std::memory_order_relaxed) + 1;
    char name[17] = "";
    prctl(PR_GET_NAME, name, 0, 0, 0);
    definitions_.AddThread(slot->thread_id, state->tid, name);
  }
  state->thread_id = slot->thread_id;
  slot->state = state;
  slot->epoch = epoch_;
  NoticeThreadEnd(state);
  return state;
}

void Recorder::ReleaseThread(ThreadState* state) {
  SystemSection section;
  const SignalsOff signals_off;
  LeaveSlab(state);
  state->memo.Release();
}

void Recorder::LeaveSlab(ThreadState* state) {
  if (state->slab != nullptr) ring_.Seal(state->slab);
  state->slab = nullptr;
  state->used = 0;
  state->room = 0;
}

// If a handler left in between by a jump, the thread would seal the slab again, or go on with it,
// when it already belongs to another thread or to the definitions; or a slab would be lost. But
// handlers run during the wait.
bool Recorder::TakeSlab(ThreadState* state) {
  SystemSection section;
  constexpr auto kKind = ring::SlabKind::kEvents;
  RingBuffer::Wait wait(ring_);
  do {
    // Without system calls for each event that is lost while the ring is full.
    if (state->slab == nullptr && !ring_.MayHaveSlab(kKind)) continue;
    const SignalsOff signals_off;
    LeaveSlab(state);
    state->slab = ring_.TryAcquire(kKind, state->thread_id, state->tid, wait);
    if (state->slab == nullptr) continue;
    state->room = ring::kEventsPerSlab;
    return true;
  } while (ring_.WaitAfterTry(kKind, &wait));
  Count(log::Anomaly::kEventsLost);
  return false;
}

ThreadState* BindHere(ThreadSlot* slot) {
  // A visit that never ends would keep the recording from being taken down; the C library's locks
  // are taken too.
  const SignalsOff signals_off;
  const Visit visit;
  return Recording() ? TheRecorder()->BindThread(slot) : nullptr;
}

bool RecordEvent(ThreadSlot* slot, ring::RingEvent* event, bool with_stack) {
  return RecordEventHere(slot, event, with_stack);
}

}  // namespace memprof::recorder
