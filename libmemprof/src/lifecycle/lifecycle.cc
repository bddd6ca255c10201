// Handlers of fork and exit, and the library's constructor.
#include "libmemprof/src/lifecycle/lifecycle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "libmemprof/src/base/loader_gate.h"
#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/lifecycle/internal/whole_recording.h"
#include "libmemprof/src/lifecycle/signal_switch.h"
#include "libmemprof/src/lifecycle/start.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"
#include "libmemprof/src/recording/thread_end.h"
#include "libmemprof/src/recording/thread_states.h"

namespace memprof::recorder {
namespace {

std::atomic<bool> g_preloaded{false};
std::atomic<bool> g_registered{false};
std::atomic<bool> g_injected{false};
std::atomic<bool> g_exiting{false};  // unlike g_control.ending it survives a fork

bool WasPreloaded() {
  const char* preload = getenv("LD_PRELOAD");
  return preload != nullptr && strstr(preload, "libmemprof.so") != nullptr;
}

// A thread that was cancelled during its fork would leave the gate closed.
void BeforeFork() {
  int before = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  CurrentThread().cancel_state = static_cast<std::int16_t>(before);
  CloseLoaderGate();
}

void AfterFork() { pthread_setcancelstate(CurrentThread().cancel_state, nullptr); }

void MarkFork() {
  const Visit visit;
  Recorder* recorder = TheRecorder();
  if (!Recording() || recorder == nullptr) return;
  WorkGuard guard;
  if (!guard.outermost()) return;
  recorder->Count(log::Anomaly::kForkedChildren);
  ring::RingEvent event{};
  event.op = kOpFork;
  RecordEvent(guard.slot(), &event, false);
}

void AfterForkInParent() {
  OpenLoaderGate();
  MarkFork();
  AfterFork();
}

void AfterForkInChild() {
  ResetLoaderGate();
  ResetProcessLocks();
  ForgetParentsMemory();
  ForgetParentsThreads();
  // The kernel has cleared the page already, where it can. The writer thread and the rings belong
  // to the parent.
  g_control.epoch.store(0, std::memory_order_relaxed);
  g_control.mode.store(Mode::kIdle, std::memory_order_relaxed);
  g_control.ending.store(0, std::memory_order_relaxed);
  ThreadSlot& slot = CurrentThread();
  slot.epoch = 0;
  slot.state = nullptr;
  slot.thread_id = 0;
  // The recording is not destroyed, because a lock of it may stay held for ever; the child does not
  // use it.
  WholeRecording::Use(nullptr);
  AfterFork();
}

// Other threads may still run, and destructors of the program may run after this.
void AtExit() {
  g_exiting.store(true, std::memory_order_relaxed);
  if (RecordedProcess() != getpid()) return;
  const Visit visit;
  WorkGuard guard;
  g_control.ending.store(1, std::memory_order_relaxed);
  // An event that is published from now on is either seen by the writer below, or its thread reads
  // `ending`.
  SynchroniseThreads();
  FinishRecording();
}

}  // namespace

void RegisterHandlers() {
  if (g_registered.exchange(true)) return;
  PrepareToSynchronise();
  WatchThreadEnds();
  pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
  at_quick_exit(AtExit);
  madvise(&g_control, sizeof g_control, MADV_WIPEONFORK);
  KeepProcessLocksFromChildren();
}

bool IsPreloaded() { return g_preloaded.load(std::memory_order_relaxed) || WasPreloaded(); }
bool InjectedOnly() { return g_injected.load(std::memory_order_relaxed); }
void NoteInjectedOnly() { g_injected.store(true); }
bool IsExiting() { return g_exiting.load(std::memory_order_relaxed); }

void FinishRecording() {
  if (Recorder* recorder = TheRecorder()) recorder->Finish();
}

namespace {

// Libraries with NVTX compiled in read this variable to find the tool that receives ranges.
void OfferNvtxInjection() {
  static constexpr char kVariable[] = "NVTX_INJECTION64_PATH";
  Dl_info info;
  if (getenv(kVariable) != nullptr || dladdr(reinterpret_cast<void*>(&StopRecording), &info) == 0 ||
      info.dli_fname == nullptr || info.dli_fname[0] != '/')
    return;
  setenv(kVariable, info.dli_fname, 0);
}

}  // namespace

// Shells, launchers and data loaders inherit the preload: this function must do almost nothing.
__attribute__((constructor)) void OnLoad() {
  if (!WasPreloaded()) return;
  g_preloaded.store(true);
  OfferNvtxInjection();
  InstallSignalSwitch(getenv("MEMPROF_SIGNAL"));
}
__attribute__((destructor)) void OnUnload() { AtExit(); }

}  // namespace memprof::recorder
