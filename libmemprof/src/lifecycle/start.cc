// Changes of the mode. Each goes through kStarting: one thread makes the transition, the others
// wait.
#include "libmemprof/src/lifecycle/start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <new>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/lifecycle/attach.h"
#include "libmemprof/src/lifecycle/internal/whole_recording.h"
#include "libmemprof/src/lifecycle/lifecycle.h"
#include "libmemprof/src/lifecycle/signal_switch.h"
#include "libmemprof/src/log/run_list.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"
#include "libmemprof/src/recording/thread_states.h"
#include "libmemprof/src/sources/source_host.h"
#include "proto/run_list.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kMaxStartNs = 200'000'000;

// The process that called cuInit. Survives a fork, unlike the driver.
std::atomic<pid_t> g_driver_up_in{0};
std::atomic<std::uint32_t> g_mode_changes{0};
// One more than the number of changes when a wait for a start timed out.
std::atomic<std::uint32_t> g_waited_in_vain{0};
std::atomic<std::uint32_t> g_toggles{0};        // requested and not yet carried out
std::atomic<WholeRecording*> g_whole{nullptr};  // for tests, which take it down

void SetMode(Mode mode) {
  g_control.mode.store(mode, std::memory_order_release);
  g_mode_changes.fetch_add(1, std::memory_order_release);
  FutexWake(&g_mode_changes, 1000);
}

// Leaves kStarting, unless the writer has switched recording off meanwhile.
bool EndTransition(Mode mode) {
  Mode expected = Mode::kStarting;
  const bool done = g_control.mode.compare_exchange_strong(expected, mode);
  g_mode_changes.fetch_add(1, std::memory_order_release);
  FutexWake(&g_mode_changes, 1000);
  return done;
}

// Begins to accept events. Records `first` before any other event of this thread, and before
// anybody can stop the recording again. False when the log cannot be written.
bool OpenForEvents(Recorder* recorder, ThreadSlot* slot, ring::RingEvent* first) {
  g_control.epoch.store(recorder->epoch(), std::memory_order_release);
  recorder->NoteOpened();
  if (first != nullptr) RecordEvent(slot, first, false);
  if (EndTransition(Mode::kRecording)) return true;
  g_control.epoch.store(0, std::memory_order_release);
  return false;
}

// Ends a start that has failed: other calls wait for it.
int GiveUp(const Settings& settings, const char* path, int error, int result) {
  Message("cannot record to %.300s: %s; the program runs on without", path, strerror(error));
  AddToRunList(settings.run_list, log::kNoLogEntry);
  SetMode(Mode::kOff);
  return result;
}

// Ends recording for good.
void SwitchOff(void*) {
  // First, so that a transition that runs at this moment sees it and undoes itself.
  SetMode(Mode::kOff);
  g_control.epoch.store(0, std::memory_order_release);
}

// Carries out what a signal requested; two requests cancel each other.
void ServeToggles(void*) {
  if (g_toggles.exchange(0) % 2 == 0) return;
  if (Recording())
    StopRecording();
  else
    StartRecording(StartCause::kApi);
}

// As without attaching: launches and copies only where somebody asked for CUPTI.
SourceScope ScopeOfCupti(const Settings& settings) {
  if (settings.driver) return SourceScope::kUses;
  return settings.uses ? SourceScope::kEverything : SourceScope::kAllocations;
}

int CreateRecorder(Settings settings) {
  const SignalsOff signals_off;  // other threads wait for it, and the loader is used
  RegisterHandlers();
  if (InjectedOnly()) {
    settings.uses = settings.cupti || !IsAttached();
    settings.driver = false;
    settings.cupti = true;
  }
  void* memory = MapMemory(sizeof(WholeRecording), Need::kWriter, InChild::kKept);
  if (memory == nullptr) return GiveUp(settings, settings.output, ENOMEM, MEMPROF_UNAVAILABLE);
  auto* recording = new (memory) WholeRecording(settings, ServeToggles, SwitchOff);
  Recorder* recorder = recording->recorder();
  const int error = recorder->Open();
  if (error != 0) {
    const char* path = recorder->log()->path();
    return GiveUp(settings, path[0] != '\0' ? path : settings.output, error, MEMPROF_IO_ERROR);
  }
  if (settings.verbose) Message("recording to %.400s", recorder->log()->path());
  g_whole.store(recording, std::memory_order_relaxed);
  WholeRecording::Use(recording);
  recorder->definitions()->AddSource("driver", settings.driver ? kSourceOn : kSourceOff,
                                     settings.driver  ? ""
                                     : IsAttached()   ? "attached"
                                     : InjectedOnly() ? "CUDA_INJECTION64_PATH"
                                                      : "MEMPROF_SOURCE");
  if (!OpenForEvents(recorder, nullptr, nullptr)) return MEMPROF_IO_ERROR;
  if (settings.cupti) OpenCuptiSource(recorder, ScopeOfCupti(settings));
  if (IsExiting()) {
    // Recording began in a destructor, after our own exit handler: nothing else would end the log.
    g_control.ending.store(1, std::memory_order_relaxed);
    FinishRecording();
  }
  return MEMPROF_OK;
}

const char* Lookup(const char* name) { return getenv(name); }

// The process was forked from one that used CUDA, and has not called cuInit itself: CUDA does not
// work in it.
bool DriverIsTheParents() {
  const pid_t up_in = g_driver_up_in.load(std::memory_order_relaxed);
  const pid_t recorded = RecordedProcess();
  return (up_in != 0 || recorded != 0) && up_in != getpid() && recorded != getpid();
}

int StartFromIdle(StartCause cause) {
  if (cause == StartCause::kInit) g_driver_up_in.store(getpid(), std::memory_order_relaxed);
  if (cause == StartCause::kHook && DriverIsTheParents()) return MEMPROF_NOT_RECORDING;
  Mode expected = Mode::kIdle;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting))
    return StartRecording(cause);
  SystemSection section;
  InstallSignalSwitch(getenv("MEMPROF_SIGNAL"));  // the program may have replaced the handler
  const bool asked = IsPreloaded() || InjectedOnly();
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
    // Launchers count the devices, and use none.
    SetMode(Mode::kIdle);
    return MEMPROF_NOT_RECORDING;
  }
  WorkGuard guard;
  return CreateRecorder(settings);
}

int StartFromWaiting(Mode mode, StartCause cause) {
  if (cause != StartCause::kApi && mode != Mode::kWanted) return MEMPROF_NOT_RECORDING;
  Mode expected = mode;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting))
    return StartRecording(cause);
  WorkGuard guard;
  return CreateRecorder(ReadSettings(Lookup, true));
}

int Resume(StartCause cause) {
  if (cause != StartCause::kApi) return MEMPROF_NOT_RECORDING;
  Mode expected = Mode::kPaused;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting))
    return StartRecording(cause);
  WorkGuard guard;
  Recorder* recorder = TheRecorder();
  ring::RingEvent event{};
  event.op = kOpResume;
  if (!OpenForEvents(recorder, guard.slot(), &event)) return MEMPROF_IO_ERROR;
  StartCuptiSource(ScopeOfCupti(recorder->settings()));
  return MEMPROF_OK;
}

// Another thread is starting the recorder. It may need a lock of the loader that this thread holds,
// so the wait is bounded. After a timeout this call is not recorded, and later calls do not wait
// for the same start again.
int WaitForStart(StartCause cause) {
  if (CurrentThread().depth > 1) return MEMPROF_NOT_RECORDING;
  const std::uint64_t deadline = NowNs() + kMaxStartNs;
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
  // The other start was cuInit's, which does not begin a recording.
  if (g_control.mode.load(std::memory_order_acquire) == Mode::kIdle) return StartRecording(cause);
  return Recording() ? MEMPROF_OK : MEMPROF_NOT_RECORDING;
}

}  // namespace

bool DriverIsUp() {
  const pid_t up_in = g_driver_up_in.load(std::memory_order_relaxed);
  return up_in != 0 && up_in == getpid();
}

int StartRecording(StartCause cause) {
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

int StartAttached(EnvironmentLookup lookup) {
  const Mode mode = g_control.mode.load(std::memory_order_acquire);
  if (mode == Mode::kPaused) return Resume(StartCause::kApi);
  Mode expected = mode;
  if ((mode != Mode::kIdle && mode != Mode::kWaiting && mode != Mode::kWanted) ||
      !g_control.mode.compare_exchange_strong(expected, Mode::kStarting))
    return MEMPROF_UNAVAILABLE;
  WorkGuard guard;
  return CreateRecorder(ReadSettings(lookup, true));
}

void EndAttached() {
  Mode expected = Mode::kRecording;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting)) return;
  WorkGuard guard;
  g_control.epoch.store(0, std::memory_order_release);
  EndTransition(Mode::kPaused);
  StopCuptiSource();
}

bool TakeDownRecording() {
  constexpr std::uint64_t kMostWaitNs = 5'000'000'000, kPollNs = 2'000'000, kGraceNs = 50'000'000;
  Mode expected = Mode::kPaused;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting)) return false;
  const std::uint64_t deadline = NowNs() + kMostWaitNs;
  std::atomic<std::uint32_t> never{0};
  bool inside = true;
  while (inside && NowNs() < deadline) {
    SynchroniseThreads();
    inside = ThreadsAreInside();
    FutexWait(&never, 0, inside ? kPollNs : kGraceNs);
    inside |= ThreadsAreInside();
  }
  WholeRecording* recording = g_whole.load();
  if (inside || recording == nullptr) {
    SetMode(Mode::kPaused);
    return false;
  }
  g_whole.store(nullptr);
  WholeRecording::Use(nullptr);
  recording->recorder()->writer()->Stop();
  ForgetRecording();
  recording->~WholeRecording();
  UnmapMemory(recording, sizeof(WholeRecording), Need::kWriter, InChild::kKept);
  SetMode(Mode::kIdle);
  return true;
}

int StopRecording() {
  Mode expected = Mode::kRecording;
  if (!g_control.mode.compare_exchange_strong(expected, Mode::kStarting))
    return MEMPROF_NOT_RECORDING;
  WorkGuard guard;
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
  if (recorder == nullptr || RecordedProcess() != getpid()) return;
  g_toggles.fetch_add(1);
  recorder->ring()->CallAttention();
}

bool ServeLateStart() {
  const Mode mode = g_control.mode.load(std::memory_order_acquire);
  if (mode == Mode::kWanted) StartRecording(StartCause::kApi);
  return mode == Mode::kWaiting || mode == Mode::kWanted || mode == Mode::kStarting;
}

void ResetForTest() {
  g_control.epoch.store(0);
  if (WholeRecording* recording = TheRecorder() == nullptr ? nullptr : g_whole.load()) {
    WholeRecording::Use(nullptr);
    recording->recorder()->writer()->Stop();
    recording->~WholeRecording();
    UnmapMemory(recording, sizeof(WholeRecording), Need::kWriter, InChild::kKept);
  }
  g_control.ending.store(0);
  g_driver_up_in.store(0);
  SetMode(Mode::kIdle);
}

}  // namespace memprof::recorder
