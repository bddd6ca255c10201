// All parts of one recording, and the current recording of this process, through which hooks, C API
// and capture sources reach the parts.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "libmemprof/src/driver/state.h"
#include "libmemprof/src/log/definitions.h"
#include "libmemprof/src/log/log_file.h"
#include "libmemprof/src/log/ring_buffer.h"
#include "libmemprof/src/log/writer.h"
#include "libmemprof/src/recording/call_stacks.h"
#include "libmemprof/src/recording/settings.h"
#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {

class Recorder {
 public:
  // `housekeeping`: tasks that the writer's thread does for the owner.
  Recorder(const Settings& settings, const Housekeeping& housekeeping);
  ~Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Creates log, ring and writer thread; 0 or an errno.
  int Open();
  // Ends the log. Later events are appended, and the log is ended again.
  void Finish();

  // Signals are off.
  ThreadState* BindThread(ThreadSlot* slot);
  // Releases what a thread held of this recording.
  void ReleaseThread(ThreadState* state);
  // Publishes `event`; false, and counted, when there is no space.
  bool Append(ThreadState* state, const ring::RingEvent& event) {
    if (state->used == state->room && !TakeSlab(state)) return false;
    CopyEvent(event, SlabEvents(state->slab) + state->used);
    state->slab->published.store(++state->used, std::memory_order_release);
    return true;
  }
  // Id of the calling thread's stack; 0 when stacks are off.
  std::uint32_t InternStack(ThreadState* state) { return stacks_.Intern(state); }

  const Settings& settings() const { return settings_; }
  RingBuffer* ring() { return &ring_; }
  Definitions* definitions() { return &definitions_; }
  Writer* writer() { return &writer_; }
  LogFile* log() { return &log_; }
  CallStacks* stacks() { return &stacks_; }
  DriverState* driver() { return &driver_; }
  // String id of an intercepted function's name.
  std::uint32_t ApiLabel(FunctionId id) const { return api_labels_[static_cast<int>(id)]; }
  std::uint64_t epoch() const { return epoch_; }
  // Whether it has accepted events: from then on a change of mode is a pause or its end.
  bool has_opened() const { return has_opened_.load(std::memory_order_relaxed); }
  void NoteOpened() { has_opened_.store(true, std::memory_order_relaxed); }
  // True at the first call.
  bool NoteAgent() {
    return !agent_seen_.load(std::memory_order_relaxed) && !agent_seen_.exchange(true);
  }
  void Count(log::Anomaly anomaly) { ring_.Count(anomaly); }
  // Of a further segment of a recording that is always on.
  void EncodeSegmentHeader(std::uint32_t segment, std::uint64_t start_ns, ByteBuffer* to);

 private:
  bool TakeSlab(ThreadState* state);
  // Signals are off.
  void LeaveSlab(ThreadState* state);

  Settings settings_;
  std::uint64_t epoch_;
  std::atomic<bool> has_opened_{false}, agent_seen_{false};
  LogFile log_;
  RingBuffer ring_;
  Definitions definitions_;
  CallStacks stacks_;
  Writer writer_;
  DriverState driver_;
  std::uint32_t api_labels_[kFunctionCount] = {};
  std::atomic<std::uint32_t> last_thread_id_{0};
};

extern std::atomic<Recorder*> g_recorder;
// The current recorder of this process; null before the first start.
inline Recorder* TheRecorder() { return g_recorder.load(std::memory_order_acquire); }
// Sets the current recorder; null for none, as in a forked child.
void SetRecorder(Recorder* recorder);
// The process that last created a recorder; survives a fork. 0 = none.
pid_t RecordedProcess();

}  // namespace memprof::recorder
