// A key of the C library, whose destructor runs in the ending thread.
#include "libmemprof/src/recording/thread_end.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "libmemprof/src/recording/entry_guard.h"
#include "libmemprof/src/recording/recorder.h"
#include "libmemprof/src/recording/thread_states.h"

namespace memprof::recorder {
namespace {

pthread_key_t g_thread_key;
std::atomic<bool> g_has_thread_key{false};

void ThreadEnds(void* state) {
  WorkGuard guard;
  ThreadSlot* slot = guard.slot();
  if (slot->state != state || slot->epoch == 0) return;
  Recorder* recorder = TheRecorder();
  if (RecordedProcess() != getpid()) return void(slot->state = nullptr);
  if (recorder != nullptr && recorder->epoch() == slot->epoch) {
    recorder->ReleaseThread(slot->state);
    if (CurrentTid() == static_cast<std::uint32_t>(getpid())) recorder->writer()->NoteEndOfMain();
  }
  ReturnThreadState(slot->state);
  slot->state = nullptr;
}

}  // namespace

void WatchThreadEnds() {
  g_has_thread_key.store(pthread_key_create(&g_thread_key, ThreadEnds) == 0);
}

void NoticeThreadEnd(ThreadState* state) {
  if (g_has_thread_key.load(std::memory_order_relaxed)) pthread_setspecific(g_thread_key, state);
}

}  // namespace memprof::recorder
