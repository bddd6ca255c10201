// Starts and ends recordings, and keeps them right across fork, exit and the end of threads.
#include "libmemprof/src/lifecycle/lifecycle.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/lifecycle/signal_switch.h"
#include "libmemprof/src/loader/real_dlsym.h"
#include "libmemprof/src/recording/recorder.h"
#include "libmemprof/src/sources/source_host.h"

namespace memprof::recorder {

std::atomic<Recorder*> g_recorder{nullptr};

namespace {

constexpr std::uint64_t kLongestStartNs = 200'000'000;
constexpr std::uint64_t kLongestFinishNs = 10'000'000'000;

std::atomic<std::uint64_t> g_last_epoch{0};
std::atomic<pid_t> g_process{0};       // whose recorder that is; survives a fork, unlike g_control
std::atomic<pid_t> g_driver_up_in{0};  // who called cuInit; survives a fork, as the driver does not
std::atomic<std::uint32_t> g_mode_changes{0};
// One more than the changes there had been when a wait for a start was given up.
std::atomic<std::uint32_t> g_waited_in_vain{0};
std::atomic<bool> g_preloaded{false};
pthread_key_t g_thread_key;
std::atomic<bool> g_has_thread_key{false};
std::atomic<bool> g_registered{false};
std::atomic<std::uint32_t> g_toggles{0};  // requested and not served
std::atomic<bool> g_injected{false};
std::atomic<bool> g_exiting{false};  // unlike g_control.ending it survives a fork

bool WasPreloaded() {
  const char* preload = getenv("LD_PRELOAD");
  return preload != nullptr && strstr(preload, "libmemprof.so") != nullptr;
}

void ThreadEnds(void* state) {
  RecursionGuard guard;
  ThreadSlot* slot = guard.slot();
  if (slot->state != state || slot->epoch == 0) return;
  Recorder* recorder = TheRecorder();
  if (recorder != nullptr && recorder->epoch() == slot->epoch &&
      g_process.load(std::memory_order_relaxed) == getpid()) {
    recorder->ReleaseThread(static_cast<ThreadState*>(state));
    if (CurrentTid() == static_cast<std::uint32_t>(getpid())) recorder->writer()->NoteEndOfMain();
  }
  slot->state = nullptr;
}

// A thread that is cancelled within its fork would leave the gate closed.
void BeforeFork() {
  int before = PTHREAD_CANCEL_ENABLE;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  CurrentThread().cancel_state = static_cast<std::int16_t>(before);
  CloseLoaderGate();
}

void AfterFork() { pthread_setcancelstate(CurrentThread().cancel_state, nullptr); }

void MarkFork() {
  Recorder* recorder = TheRecorder();
  if (!Recording() || recorder == nullptr) return;
  RecursionGuard guard;
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
  // The kernel has wiped the page already where it can; the thread and its rings are the parent's.
  g_control.epoch.store(0, std::memory_order_relaxed);
  g_control.mode.store(Mode::kIdle, std::memory_order_relaxed);
  g_control.ending.store(0, std::memory_order_relaxed);
  ThreadSlot& slot = CurrentThread();
  slot.epoch = 0;
  slot.state = nullptr;
  slot.thread_id = 0;
  // It stays where it is, because its locks may be held for ever; but it is none of the child's.
  g_recorder.store(nullptr, std::memory_order_relaxed);
  AfterFork();
}

// Other threads may run on, and destructors of the program may come after this.
void AtExit() {
  g_exiting.store(true, std::memory_order_relaxed);
  if (g_process.load(std::memory_order_relaxed) != getpid()) return;
  RecursionGuard guard;
  g_control.ending.store(1, std::memory_order_relaxed);
  // An event that is published from now on is either seen by the writer below or finds `ending`.
  SynchroniseThreads();
  FinishRecording();
}

}  // namespace

void RegisterHandlers() {
  if (g_registered.exchange(true)) return;
  g_has_thread_key.store(pthread_key_create(&g_thread_key, ThreadEnds) == 0);
  pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild);
  at_quick_exit(AtExit);
  madvise(&g_control, sizeof g_control, MADV_WIPEONFORK);
  KeepProcessLocksFromChildren();
}

namespace {

void SetMode(Mode mode) {
  g_control.mode.store(mode, std::memory_order_release);
  g_mode_changes.fetch_add(1, std::memory_order_release);
  FutexWake(&g_mode_changes, 1000);
}

// From kStarting, unless the writer has switched recording off meanwhile.
bool EndTransition(Mode mode) {
  Mode expected = Mode::kStarting;
  const bool done = g_control.mode.compare_exchange_strong(expected, mode);
  g_mode_changes.fetch_add(1, std::memory_order_release);
  FutexWake(&g_mode_changes, 1000);
  return done;
}

// Begins to take events, `first` before any other of this thread and before anybody can stop
// again; false when the log cannot be written.
bool OpenForEvents(Recorder* recorder, ThreadSlot* slot, ring::RingEvent* first) {
  g_control.epoch.store(recorder->epoch(), std::memory_order_release);
  recorder->NoteOpened();
  if (first != nullptr) RecordEvent(slot, first, false);
  if (EndTransition(Mode::kRecording)) return true;
  g_control.epoch.store(0, std::memory_order_release);
  return false;
}

// A start that cannot succeed must end all the same: other calls wait for it.
int GiveUp(const char* path, int error, int result) {
  Message("cannot record to %.300s: %s; the program runs on without", path, strerror(error));
  SetMode(Mode::kOff);
  return result;
}

int CreateRecorder(Settings settings) {
  RegisterHandlers();
  if (InjectedOnly()) {
    settings.driver = false;
    settings.cupti = true;
  }
  void* memory = MapMemory(sizeof(Recorder), Need::kWriter, InChild::kKept);
  if (memory == nullptr) return GiveUp(settings.output, ENOMEM, MEMPROF_UNAVAILABLE);
  auto* recorder = new (memory) Recorder(settings);
  const int error = recorder->Open();
  if (error != 0) {
    const char* path = recorder->log()->path();
    return GiveUp(path[0] != '\0' ? path : settings.output, error, MEMPROF_IO_ERROR);
  }
  if (settings.verbose) Message("recording to %.400s", recorder->log()->path());
  g_recorder.store(recorder, std::memory_order_release);
  g_process.store(getpid(), std::memory_order_relaxed);
  recorder->definitions()->AddSource("driver", settings.driver ? kSourceOn : kSourceOff,
                                     settings.driver  ? ""
                                     : InjectedOnly() ? "CUDA_INJECTION64_PATH"
                                                      : "MEMPROF_SOURCE");
  if (!OpenForEvents(recorder, nullptr, nullptr)) return MEMPROF_IO_ERROR;
  if (settings.cupti) OpenCuptiSource(recorder, !settings.driver);
  if (g_exiting.load(std::memory_order_relaxed)) {
    // Begun in a destructor, after our own has run: nobody else would end the log.
    g_control.ending.store(1, std::memory_order_relaxed);
    FinishRecording();
  }
  return MEMPROF_OK;
}

const char* Lookup(const char* name) { return getenv(name); }

// Forked from a process that used CUDA: none of its own works there until cuInit says so.
bool DriverIsTheParents() {
  const pid_t up_in = g_driver_up_in.load(std::memory_order_relaxed);
  const pid_t recorded = g_process.load(std::memory_order_relaxed);
  return (up_in != 0 || recorded != 0) && up_in != getpid() && recorded != getpid();
}

int StartFromIdle(StartCause cause) {
  if (cause == StartCause::kInit) g_driver_up_in.store(getpid(), std::memory_order_relaxed);
  if (cause == StartCause::kHook && DriverIsTheParents()) return MEMPROF_NOT_RECORDING;
  Mode expected = Mode::kIdle;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting))
    return StartRecording(cause);
  SystemSection section;
  InstallSignalSwitch(getenv("MEMPROF_SIGNAL"));  // the program may have put its own there
  const bool asked =
      g_preloaded.load(std::memory_order_relaxed) || WasPreloaded() || InjectedOnly();
  const Settings settings = ReadSettings(Lookup, asked);
  if (settings.disabled) {
    SetMode(Mode::kOff);
    return MEMPROF_UNAVAILABLE;
  }
  if (cause != StartCause::kApi && !settings.begins_by_itself) {
    SetMode(Mode::kWaiting);
    return MEMPROF_NOT_RECORDING;
  }
  if (cause == StartCause::kInit && !InjectedOnly()) {
    // Launchers ask how many devices there are, and use none.
    SetMode(Mode::kIdle);
    return MEMPROF_NOT_RECORDING;
  }
  RecursionGuard guard;
  return CreateRecorder(settings);
}

int StartFromWaiting(Mode mode, StartCause cause) {
  if (cause != StartCause::kApi && mode != Mode::kWanted) return MEMPROF_NOT_RECORDING;
  Mode expected = mode;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting))
    return StartRecording(cause);
  SystemSection section;
  RecursionGuard guard;
  return CreateRecorder(ReadSettings(Lookup, true));
}

int Resume(StartCause cause) {
  if (cause != StartCause::kApi) return MEMPROF_NOT_RECORDING;
  Mode expected = Mode::kPaused;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting))
    return StartRecording(cause);
  SystemSection section;
  RecursionGuard guard;
  Recorder* recorder = TheRecorder();
  ring::RingEvent event{};
  event.op = kOpResume;
  if (!OpenForEvents(recorder, guard.slot(), &event)) return MEMPROF_IO_ERROR;
  StartCuptiSource(!recorder->settings().driver);
  return MEMPROF_OK;
}

// Another thread is starting the recorder. It may need a lock of the loader that this thread
// holds, so the wait is bounded; this call then goes unrecorded, and the next ones do not wait for
// the same start again.
int WaitForStart(StartCause cause) {
  if (CurrentThread().depth > 1) return MEMPROF_NOT_RECORDING;
  const std::uint64_t deadline = NowNs() + kLongestStartNs;
  for (;;) {
    const std::uint32_t seen = g_mode_changes.load(std::memory_order_acquire);
    if (g_control.mode.load(std::memory_order_acquire) != Mode::kStarting) break;
    if (g_waited_in_vain.load(std::memory_order_relaxed) == seen + 1) return MEMPROF_NOT_RECORDING;
    const std::uint64_t now = NowNs();
    if (now >= deadline) {
      g_waited_in_vain.store(seen + 1, std::memory_order_relaxed);
      return MEMPROF_NOT_RECORDING;
    }
    FutexWait(&g_mode_changes, seen, deadline - now);
  }
  // That was cuInit, after which nothing is recorded yet.
  if (g_control.mode.load(std::memory_order_acquire) == Mode::kIdle) return StartRecording(cause);
  return Recording() ? MEMPROF_OK : MEMPROF_NOT_RECORDING;
}

}  // namespace

std::uint64_t NextEpoch() { return g_last_epoch.fetch_add(1, std::memory_order_relaxed) + 1; }

void NoticeThreadEnd(ThreadState* state) {
  if (g_has_thread_key.load(std::memory_order_relaxed)) pthread_setspecific(g_thread_key, state);
}

void SwitchOff() {
  SetMode(Mode::kOff);  // first: a transition that comes between finds it, and takes itself back
  g_control.epoch.store(0, std::memory_order_release);
}

bool DriverIsUp() {
  const pid_t up_in = g_driver_up_in.load(std::memory_order_relaxed);
  return up_in != 0 && up_in == getpid();
}

int StartRecording(StartCause cause) {
  if (cause == StartCause::kNone) return MEMPROF_NOT_RECORDING;
  switch (g_control.mode.load(std::memory_order_acquire)) {
    case Mode::kRecording:
      return MEMPROF_OK;
    case Mode::kIdle:
      return StartFromIdle(cause);
    case Mode::kWaiting:
      return StartFromWaiting(Mode::kWaiting, cause);
    case Mode::kWanted:
      return StartFromWaiting(Mode::kWanted, cause);
    case Mode::kPaused:
      return Resume(cause);
    case Mode::kStarting:
      return WaitForStart(cause);
    case Mode::kOff:
      break;
  }
  return MEMPROF_UNAVAILABLE;
}

int StopRecording() {
  Mode expected = Mode::kRecording;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting))
    return MEMPROF_NOT_RECORDING;
  SystemSection section;
  RecursionGuard guard;
  StopCuptiSource();
  ring::RingEvent event{};
  event.op = kOpPause;
  RecordEvent(guard.slot(), &event, false);
  g_control.epoch.store(0, std::memory_order_release);
  EndTransition(Mode::kPaused);
  return MEMPROF_OK;
}

void RequestToggle() {
  Mode waiting = Mode::kWaiting, wanted = Mode::kWanted;
  if (g_control.mode.compare_exchange_strong(waiting, Mode::kWanted) ||
      g_control.mode.compare_exchange_strong(wanted, Mode::kWaiting))
    return;
  Recorder* recorder = TheRecorder();
  if (recorder == nullptr || g_process.load(std::memory_order_relaxed) != getpid()) return;
  g_toggles.fetch_add(1);
  recorder->ring()->CallAttention();
}

void ServeToggles() {
  // Two requests make none.
  if (g_toggles.exchange(0) % 2 == 0) return;
  if (Recording())
    StopRecording();
  else
    StartRecording(StartCause::kApi);
}

bool ServeLateStart() {
  const Mode mode = g_control.mode.load(std::memory_order_acquire);
  if (mode == Mode::kWanted) StartRecording(StartCause::kApi);
  return mode == Mode::kWaiting || mode == Mode::kWanted || mode == Mode::kStarting;
}

bool InjectedOnly() { return g_injected.load(std::memory_order_relaxed); }

void FinishRecording() {
  Recorder* recorder = TheRecorder();
  if (recorder == nullptr) return;
  SystemSection section;
  recorder->TellTorchSource(true);
  recorder->writer()->Finish(kLongestFinishNs);
}

void ResetForTest() {
  g_control.epoch.store(0);
  if (Recorder* recorder = g_recorder.exchange(nullptr)) {
    recorder->writer()->Stop();
    recorder->~Recorder();
    UnmapMemory(recorder, sizeof(Recorder), Need::kWriter, InChild::kKept);
  }
  ResetLoaderGate();
  g_control.ending.store(0);
  g_driver_up_in.store(0);
  SetMode(Mode::kIdle);
}

namespace {

// Whether calls of the program to the driver may pass through this library: it was preloaded or
// linked, and not just loaded by the driver.
bool IsInGlobalScope() {
  void* program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (program == nullptr) return false;
  const bool found = RealDlsym(program, "memprof_start") == reinterpret_cast<void*>(&memprof_start);
  dlclose(program);
  return found;
}

// NVTX, compiled into the program's libraries, looks here for who wants to hear of ranges.
void OfferNvtxInjection() {
  static constexpr char kVariable[] = "NVTX_INJECTION64_PATH";
  Dl_info info;
  if (getenv(kVariable) != nullptr || dladdr(reinterpret_cast<void*>(&StopRecording), &info) == 0 ||
      info.dli_fname == nullptr || info.dli_fname[0] != '/')
    return;
  setenv(kVariable, info.dli_fname, 0);
}

}  // namespace

// Shells, launchers and data loaders inherit the preload: this must cost nothing.
__attribute__((constructor)) void OnLoad() {
  if (!WasPreloaded()) return;
  g_preloaded.store(true);
  OfferNvtxInjection();
  InstallSignalSwitch(getenv("MEMPROF_SIGNAL"));
}
__attribute__((destructor)) void OnUnload() { AtExit(); }

}  // namespace memprof::recorder

// The driver calls it during cuInit, where CUDA_INJECTION64_PATH names this library. 1 = all is
// well.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace memprof::recorder;
  if (!IsInGlobalScope()) {
    g_injected.store(true);
    InstallSignalSwitch(getenv("MEMPROF_SIGNAL"));
    if (StartRecording(StartCause::kInit) != MEMPROF_OK) AwaitSignal();
  }
  return 1;
}
