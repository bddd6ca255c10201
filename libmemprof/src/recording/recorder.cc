// One recording: its parts, its threads, its events.
#include "libmemprof/src/recording/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

#include <bit>

#include "libmemprof/src/lifecycle/lifecycle.h"
#include "libmemprof/src/log/header.h"
#include "libmemprof/src/stacks/unwinder.h"

namespace memprof::recorder {
namespace {

// What hooks may use of a thread's stack beyond what the program does; counts as the recorder's.
constexpr std::size_t kStackOfHooks = 16384;

// Its memo charges for itself as it grows, and is not copied to children; the rest they keep.
ThreadState* NewThreadState() {
  constexpr std::size_t kCharged = offsetof(ThreadState, memo) + 4096 + kStackOfHooks;
  if (!ChargeMemory(kCharged, Need::kThread, InChild::kKept)) return nullptr;
  void* memory = MapAddressSpace(sizeof(ThreadState), InChild::kKept);
  if (memory == nullptr) ReturnMemory(kCharged, Need::kThread, InChild::kKept);
  return static_cast<ThreadState*>(memory);
}

}  // namespace

ControlPage g_control;
thread_local constinit ThreadSlot t_thread_slot
    __attribute__((tls_model("initial-exec"))) = {0, nullptr, 0, 0, 0, nullptr};

// Stacks grow downwards: a frame lives no more when another function's begins at its place or above
// it. One that was left further down may have been written over; if it is whole it is believed.
// Only on the thread's own stack: a signal handler's, or a coroutine's, lies anywhere.
__attribute__((noinline, cold, no_sanitize("address"))) bool RecursionGuard::Abandoned(
    const RecursionGuard& here) {
  const ThreadSlot& slot = CurrentThread();
  if (!Recording()) return false;
  const RecursionGuard* outermost = slot.outermost;
  const StackBounds bounds = slot.state != nullptr ? slot.state->stack_bounds : FindStackBounds();
  const auto address = [](const void* at) { return reinterpret_cast<std::uint64_t>(at); };
  if (!bounds.Contains(address(&here)) || !bounds.Contains(address(outermost))) return false;
  if (&here == outermost || outermost->slot_ != &slot || outermost->depth_ != 1) return true;
  return address(here.frame_) > address(outermost->frame_) ||
         (here.frame_ == outermost->frame_ && here.caller_ != outermost->caller_);
}

Recorder::Recorder(const Settings& settings)
    : settings_(settings),
      epoch_(NextEpoch()),
      definitions_(&ring_),
      modules_(&definitions_),
      stacks_(&definitions_, &modules_),
      python_(&definitions_, &ring_),
      writer_({&ring_, &log_, &modules_, &stacks_}),
      driver_(&definitions_),
      torch_(&definitions_, driver_.vmm()) {}

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
  WriteHeader(start_ns, start_unix_ns);
  if (const int error = log_.WriteBatch()) {
    ring_.Remove();
    return error;
  }
  ring_.header()->committed.store(log_.size(), std::memory_order_release);
  // 4 MiB of 256.
  const auto buckets = std::bit_floor(static_cast<std::uint32_t>(settings_.memory_bytes >> 8));
  if (!stacks_.Create(buckets)) settings_.stack_depth = 0;
  if (settings_.stack_depth > 0 && !LoadUnwinder()) Count(log::Anomaly::kStacksUnavailable);
  if (settings_.stack_depth > 0) python_.Look(modules_.changes());
  definitions_.InternString("");  // so that an empty name has an id
  for (int i = 0; i < kFunctionCount; ++i)
    api_labels_[i] = definitions_.InternString(FunctionName(static_cast<FunctionId>(i)));
  if (!writer_.Start(SwitchOff)) {
    ring_.Remove();
    return EAGAIN;
  }
  return 0;
}

void Recorder::WriteHeader(std::uint64_t start_ns, std::uint64_t start_unix_ns) {
  ByteBuffer payload;
  EncodeHeader(start_ns, start_unix_ns, ring_.path(), &payload);
  log_.AddChunk(log::ChunkKind::kHeader, payload);
}

ThreadState* Recorder::BindThread(ThreadSlot* slot) {
  SystemSection section;
  ThreadState* state;
  {
    LockGuard lock(threads_mutex_);
    state = free_states_;
    if (state != nullptr) free_states_ = state->next_free;
    if (slot->epoch != epoch_ || slot->thread_id == 0) slot->thread_id = 0;
  }
  if (state == nullptr) state = NewThreadState();
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
  state->context = nullptr;
  state->context_generation = 0;
  state->stack_bounds = FindStackBounds();
  state->memo.Reset(MemoGeneration(Remembered::kNodes));
  if (slot->thread_id == 0) {
    {
      LockGuard lock(threads_mutex_);
      slot->thread_id = ++last_thread_id_;
    }
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
  if (state->slab != nullptr) ring_.Seal(state->slab);
  state->slab = nullptr;
  state->memo.Release();
  state->used = 0;
  state->room = 0;
  LockGuard lock(threads_mutex_);
  state->next_free = free_states_;
  free_states_ = state;
}

bool Recorder::TakeSlab(ThreadState* state) {
  SystemSection section;
  if (state->slab != nullptr) ring_.Seal(state->slab);
  state->slab = ring_.Acquire(ring::SlabKind::kEvents, state->thread_id, state->tid);
  state->used = 0;
  state->room = state->slab == nullptr ? 0 : ring::kEventsPerSlab;
  if (state->slab == nullptr) Count(log::Anomaly::kEventsLost);
  return state->slab != nullptr;
}

// The native stack, in `state->walk`: by our rules or else by an unwinder, which does not tell
// where frames begin.
NativeStack Recorder::Walk(ThreadState* state, const Registers& start, int depth) {
  StackWalk& walk = state->walk;
  FrameRules* rules = TheFrameRules();
  if (rules != nullptr && WalkStack(rules, state->stack_bounds, OwnCode(), start, depth, &walk))
    return {walk.frames, walk.offsets, start.sp, walk.frame_count, walk.truncated};
  NativeStack native{walk.frames, nullptr, start.sp, 0, false};
  native.count = CaptureStack(walk.frames, depth, &native.truncated);
  return native;
}

StackMemo::Result Recorder::WalkAndIntern(ThreadState* state, const Registers& start) {
  const std::uint32_t generation = MemoGeneration(Remembered::kNodes);
  if (state->memo.generation() != generation) state->memo.Reset(generation);
  SystemSection system;
  LoaderSection section(&state->loader);
  const NativeStack native = Walk(state, start, settings_.stack_depth);
  const StackMemo::Result result{stacks_.Intern(native.frames, native.count, &state->stacks),
                                 native.truncated};
  if (result.stack != 0 && native.offsets != nullptr) state->memo.Store(start, state->walk, result);
  python_.Look(modules_.changes());
  return result;
}

// Interpreters put many frames between two of the program's.
int Recorder::MergedDepth() const {
  constexpr int kNativePerPython = 4;
  const int depth = settings_.stack_depth * kNativePerPython;
  return depth < PythonThread::kMostMerged ? depth : PythonThread::kMostMerged;
}

PythonThread::Entry Recorder::Merge(PythonThread* python, const NativeStack& native,
                                    ThreadState* state, int depth) {
  python_.Name(python->stack, python->ids);
  PythonThread::Entry entry{0, 0, false};
  const int count = MergeStacks(native, python->stack, python->ids, python_.evaluation(),
                                python->merged, depth, &entry.truncated);
  entry.node = stacks_.Intern(python->merged, count, &state->stacks);
  return entry;
}

// Both stacks are told apart by what they depend on, natively by the memo; only stacks that were
// not seen lately are put together.
StackMemo::Result Recorder::InternWithPython(ThreadState* state, const Registers& start) {
  SystemSection system;
  if (state->python == nullptr)
    state->python =
        static_cast<PythonThread*>(MapMemory(sizeof(PythonThread), Need::kThread, InChild::kKept));
  PythonThread* python = state->python;
  if (python == nullptr) return WalkAndIntern(state, start);
  python_.Take(&python->stack);
  const std::uint32_t generation = MemoGeneration(Remembered::kNumbers);
  if (state->memo.generation() != generation) state->memo.Reset(generation);
  const int depth = MergedDepth();
  NativeStack native;
  StackMemo::Result known;
  if (!state->memo.Find(start, &known)) {
    LoaderSection section(&state->loader);
    native = Walk(state, start, depth);
    const std::uint64_t hash = HashFrames(native.frames, native.count, generation);
    known = {static_cast<std::uint32_t>(hash ^ hash >> 32), native.truncated};
    if (native.offsets != nullptr) state->memo.Store(start, state->walk, known);
  }
  std::uint64_t key = (python->stack.hash ^ known.stack) * 0x9fb21c651e98df25u ^ generation;
  key ^= key >> 32;
  PythonThread::Entry& entry = python->entries[key & (PythonThread::kEntries - 1)];
  if (entry.key != key || entry.node == 0) {
    LoaderSection section(&state->loader);
    if (native.frames == nullptr) native = Walk(state, start, depth);
    entry = Merge(python, native, state, depth);
    entry.key = key;
  }
  return {entry.node, entry.truncated};
}

bool RecordEvent(ThreadSlot* slot, ring::RingEvent* event, bool with_stack) {
  return RecordEventHere(slot, event, with_stack);
}

}  // namespace memprof::recorder
