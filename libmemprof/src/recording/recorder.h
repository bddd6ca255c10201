// The recorder of this process: when it is on, how a thread's event reaches the ring, and when it
// is taken down. Hooks, C API and capture sources all end here.
//
//      first use of a device, memprof_start             memprof_stop
//   kIdle ------------------------------> kRecording <--------------> kPaused
//     |  MEMPROF_START=paused                  |         memprof_start
//     +---------> kWaiting --memprof_start-->  |  log cannot be written
//     +---------> kOff (MEMPROF_DISABLE)   <---+
//
// MEMPROF_SIGNAL makes kWaiting kWanted, from where the next CUDA call goes on; while there is a
// writer thread, that one stops and resumes on behalf of the signal.
//
// A forked child finds itself in kIdle again, because the page that holds the mode is wiped by the
// kernel; it records once it uses a device after a cuInit of its own, or calls memprof_start, into
// a log of its own.
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/base/loader_gate.h"
#include "libmemprof/src/driver/state.h"
#include "libmemprof/src/log/definitions.h"
#include "libmemprof/src/log/log_file.h"
#include "libmemprof/src/log/recall.h"
#include "libmemprof/src/log/ring_buffer.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/log/writer.h"
#include "libmemprof/src/python/merge.h"
#include "libmemprof/src/python/stacks.h"
#include "libmemprof/src/recording/settings.h"
#include "libmemprof/src/stacks/modules.h"
#include "libmemprof/src/stacks/stack_memo.h"
#include "libmemprof/src/stacks/stack_table.h"
#include "libmemprof/src/torch/layer.h"

namespace memprof::recorder {

enum class Mode : std::uint32_t {
  kIdle = 0,  // must be 0: what a wiped page says
  kStarting,
  kRecording,
  kPaused,
  kWaiting,
  kOff,
  kWanted,
};

// One page of its own, wiped in forked children.
struct alignas(4096) ControlPage {
  std::atomic<std::uint64_t> epoch;  // of this recording; 0 while nothing is recorded
  std::atomic<Mode> mode;
  std::atomic<std::uint32_t> ending;  // the process is exiting: every event is written at once
};
extern ControlPage g_control;

// What a thread keeps between events.
struct ThreadState {
  ring::SlabHeader* slab;
  std::uint32_t used;       // events in `slab`
  std::uint32_t room;       // for so many; 0 where there is no slab
  std::uint32_t thread_id;  // log.Thread.id
  std::uint32_t tid;
  std::uint32_t ticks;  // events so far, for sampling the recorder's own time
  void* context;        // CUcontext of the last event, with what was found out about it
  std::uint32_t context_id;
  std::int32_t context_device;
  std::uint32_t context_generation;
  ThreadState* next_free;
  PythonThread* python;  // null until it is needed, and where there is no memory for it
  LoaderFlag loader;
  bool loader_registered;
  StackCache stacks;
  StackBounds stack_bounds;
  StackWalk walk;
  Recall names;
  Recall tensors;
  StackMemo memo;  // last: most of it is never touched
};

// In initial-exec storage: no call, no allocation, and no destructor that could run too early.
struct ThreadSlot {
  std::uint64_t epoch;  // of the recording that `state` belongs to
  ThreadState* state;
  std::uint16_t depth;        // of nested recorder code
  std::int16_t cancel_state;  // of the thread, while it forks
  std::uint32_t thread_id;
  const class RecursionGuard* outermost;  // while depth is not 0
};
extern thread_local constinit ThreadSlot t_thread_slot __attribute__((tls_model("initial-exec")));
inline ThreadSlot& CurrentThread() { return t_thread_slot; }

inline bool Recording() { return g_control.epoch.load(std::memory_order_relaxed) != 0; }

// All parts of one recording.
class Recorder {
 public:
  explicit Recorder(const Settings& settings);
  ~Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Creates log, ring and writer thread; 0 or an errno.
  int Open();

  ThreadState* BindThread(ThreadSlot* slot);
  // Gives back what a thread held.
  void ReleaseThread(ThreadState* state);
  // Publishes `event`; false and counted when there is no room.
  bool Append(ThreadState* state, const ring::RingEvent& event) {
    if (state->used == state->room && !TakeSlab(state)) return false;
    CopyEvent(event, SlabEvents(state->slab) + state->used);
    state->slab->published.store(++state->used, std::memory_order_release);
    return true;
  }
  // Id of the calling thread's stack; 0 when stacks are off.
  std::uint32_t InternStack(ThreadState* state) {
    if (settings_.stack_depth == 0) return 0;
    const Registers start = CaptureRegisters();
    StackMemo::Result known;
    if (python_.on())
      known = InternWithPython(state, start);
    else if (state->memo.generation() != MemoGeneration(Remembered::kNodes) ||
             !state->memo.Find(start, &known))
      known = WalkAndIntern(state, start);
    if (known.truncated) Count(log::Anomaly::kStacksTruncated);
    return known.stack;
  }

  const Settings& settings() const { return settings_; }
  RingBuffer* ring() { return &ring_; }
  Definitions* definitions() { return &definitions_; }
  Writer* writer() { return &writer_; }
  LogFile* log() { return &log_; }
  StackTable* stacks() { return &stacks_; }
  PythonStacks* python() { return &python_; }
  DriverState* driver() { return &driver_; }
  TorchLayer* torch() { return &torch_; }
  void TellTorchSource(bool ending) {
    torch_.TellSource(modules_.torch_loaded(), modules_.torch_used(), ending);
  }
  // String id of an intercepted function's name.
  std::uint32_t ApiLabel(FunctionId id) const { return api_labels_[static_cast<int>(id)]; }
  std::uint64_t epoch() const { return epoch_; }
  // It has taken events: from then on a change of mode is a pause or its end.
  bool has_opened() const { return has_opened_.load(std::memory_order_relaxed); }
  void NoteOpened() { has_opened_.store(true, std::memory_order_relaxed); }
  // True once.
  bool NoteAgent() {
    return !agent_seen_.load(std::memory_order_relaxed) && !agent_seen_.exchange(true);
  }
  void Count(log::Anomaly anomaly) { ring_.Count(anomaly); }

 private:
  bool TakeSlab(ThreadState* state);
  // What memos hold: nodes of the trie; or, as long as Python frames may have to go between the
  // native ones, a number that stands for the native stack.
  enum class Remembered : std::uint32_t { kNodes = 0, kNumbers = 1 };
  std::uint32_t MemoGeneration(Remembered what) const {
    return modules_.generation() << 1 | static_cast<std::uint32_t>(what);
  }
  StackMemo::Result WalkAndIntern(ThreadState* state, const Registers& start);
  NativeStack Walk(ThreadState* state, const Registers& start, int depth);
  StackMemo::Result InternWithPython(ThreadState* state, const Registers& start);
  PythonThread::Entry Merge(PythonThread* python, const NativeStack& native, ThreadState* state,
                            int depth);
  int MergedDepth() const;
  void WriteHeader(std::uint64_t start_ns, std::uint64_t start_unix_ns);

  Settings settings_;
  std::uint64_t epoch_;
  std::atomic<bool> has_opened_{false}, agent_seen_{false};
  LogFile log_;
  RingBuffer ring_;
  Definitions definitions_;
  Modules modules_;
  StackTable stacks_;
  PythonStacks python_;
  Writer writer_;
  DriverState driver_;
  TorchLayer torch_;
  std::uint32_t api_labels_[kFunctionCount] = {};
  Mutex threads_mutex_;
  ThreadState* free_states_ = nullptr;
  std::uint32_t last_thread_id_ = 0;
};

extern std::atomic<Recorder*> g_recorder;
// The recorder of this process, or null before the first start.
inline Recorder* TheRecorder() { return g_recorder.load(std::memory_order_acquire); }

// kHook: a device is used, or something marked. kInit: the driver is up, and nothing more.
enum class StartCause { kNone, kHook, kInit, kApi };
// Begins or resumes recording as the cause allows; MEMPROF_OK or another result of memprof.h.
int StartRecording(StartCause cause);
int StopRecording();
// Cheap test for hooks: true when events are wanted now, starting the recorder if this is the
// first call that uses a device. Where another thread is just starting it for the first time, that
// is waited for (not for long): threads that begin together must not lose what the first did not.
inline bool WantEvents(StartCause cause) {
  if (Recording()) return true;
  const Mode mode = g_control.mode.load(std::memory_order_relaxed);
  const Recorder* recorder = TheRecorder();
  const bool begins = mode == Mode::kIdle || mode == Mode::kWanted ||
                      (mode == Mode::kStarting && (recorder == nullptr || !recorder->has_opened()));
  return begins && StartRecording(cause) == 0;
}

// cuInit has succeeded in this process (not only in one that it was forked from).
bool DriverIsUp();
// The same for marks, which come before a device is used only where its use is near.
inline bool WantMarks() { return Recording() || (DriverIsUp() && WantEvents(StartCause::kHook)); }

// Keeps recorder code from recording itself, and tells the outermost call.
//
// The program's own calls run within it, and may leave it without its end: by an exception, by
// longjmp, by the thread's cancellation, after which its destructors run. The next guard notices
// (Abandoned), or the thread would be silent for good.
class RecursionGuard {
 public:
  __attribute__((always_inline)) RecursionGuard()
      : slot_(&CurrentThread()),
        frame_(FrameHere()),
        caller_(__builtin_return_address(0)),
        depth_(static_cast<std::uint16_t>(slot_->depth + 1)) {
    if (__builtin_expect(depth_ > 1, 0) && Abandoned(*this)) depth_ = 1;
    if (depth_ == 1) slot_->outermost = this;
    slot_->depth = depth_;
  }
  ~RecursionGuard() { slot_->depth = static_cast<std::uint16_t>(depth_ - 1); }
  RecursionGuard(const RecursionGuard&) = delete;
  RecursionGuard& operator=(const RecursionGuard&) = delete;
  bool outermost() const { return depth_ == 1; }
  ThreadSlot* slot() { return slot_; }

 private:
  // The end of the frame of the function that the guard is in, whatever was inlined there.
  __attribute__((always_inline)) static const void* FrameHere() {
#if defined(__clang__)
    return __builtin_frame_address(0);
#else
    return __builtin_dwarf_cfa();
#endif
  }
  // Whether the thread's outermost guard is no more, as seen from one that begins.
  static bool Abandoned(const RecursionGuard& here);

  ThreadSlot* slot_;
  const void* frame_;
  const void* caller_;
  std::uint16_t depth_;
};

// The calling thread's state in the current recording; null when nothing is recorded.
inline ThreadState* BoundState(ThreadSlot* slot) {
  const std::uint64_t epoch = g_control.epoch.load(std::memory_order_acquire);
  if (epoch == 0) return nullptr;
  if (slot->epoch == epoch && slot->state != nullptr) return slot->state;
  return TheRecorder()->BindThread(slot);
}

// For the loader's lists, where the calling thread is known already.
inline LoaderFlag* LoaderFlagHere() {
  ThreadState* state = CurrentThread().state;
  return state == nullptr ? nullptr : &state->loader;
}

// Publishes one event of the calling thread; the caller holds a RecursionGuard and has filled in
// everything but time, which is set here where it is 0. False when it was not recorded.
bool RecordEvent(ThreadSlot* slot, ring::RingEvent* event, bool with_stack);

// Ends the log; what is recorded afterwards is appended and the log ended again.
void FinishRecording();

// One event in so many is timed for SelfAccounting.hook_time_ns; no multiple of what programs do in
// turn, as allocating and freeing.
inline constexpr std::uint32_t kTimedEvery = 61;

// RecordEvent in place, for those who are called most: what takes few calls leaves the processor's
// memory of returns to the program, whose stack may be deep.
__attribute__((always_inline)) inline bool RecordEventHere(ThreadSlot* slot, ring::RingEvent* event,
                                                           bool with_stack) {
  ThreadState* state = BoundState(slot);
  if (state == nullptr) return false;
  Recorder* recorder = TheRecorder();
  if (event->time_ns == 0) event->time_ns = NowNs();
  if (with_stack) event->stack = recorder->InternStack(state);
  const bool recorded = recorder->Append(state, *event);
  if (++state->ticks == kTimedEvery) {
    state->ticks = 0;
    recorder->ring()->header()->hook_time_ns.fetch_add((NowNs() - event->time_ns) * kTimedEvery,
                                                       std::memory_order_relaxed);
  }
  // In this order, also for the compiler; for the processor AtExit sees to it.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (g_control.ending.load(std::memory_order_relaxed) != 0) FinishRecording();
  return recorded;
}

inline CallContext DriverState::Current(ThreadState* state) {
  const CalledFunctions& driver = Driver();
  CUcontext context = nullptr;
  if (driver.cuCtxGetCurrent == nullptr || driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS ||
      context == nullptr)
    return {};
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  if (state->context == context && state->context_generation == generation)
    return {state->context_id, state->context_device};
  return MeetContext(state, context, generation);
}

}  // namespace memprof::recorder
