// Beginning and stopping to record (recording/control.h).
#pragma once

#include "libmemprof/src/recording/control.h"
#include "libmemprof/src/recording/recorder.h"
#include "libmemprof/src/recording/settings.h"

namespace memprof::recorder {

// kHook: a device is used, or a mark was made. kInit: the driver is initialised.
enum class StartCause { kHook, kInit, kApi };
// Begins or resumes recording, if the cause allows it; returns MEMPROF_OK or another result of
// memprof.h.
int StartRecording(StartCause cause);
int StopRecording();
// For a recorder that was loaded into a running program: begins a recording with the settings that
// `lookup` finds, or resumes one that is paused.
int StartAttached(EnvironmentLookup lookup);
// Stops it for good: without an event, and the log keeps which sources were on.
void EndAttached();
// Frees a recording that is stopped and whose log has ended, so that another one can begin. Waits
// up to some seconds until no thread is within the recorder; false = one still is, and all stays as
// it is. Not for a recorder whose hooks the program calls.
bool TakeDownRecording();
// The fast test of hooks: whether events are wanted now. Starts the recorder if this is the first
// call that uses a device. If another thread is starting it for the first time, waits a short time:
// threads that begin together must not lose their first events.
inline bool WantEvents(StartCause cause) {
  if (Recording()) return true;
  const Mode mode = g_control.mode.load(std::memory_order_relaxed);
  const Recorder* recorder = TheRecorder();
  const bool begins = mode == Mode::kIdle || mode == Mode::kWanted ||
                      (mode == Mode::kStarting && (recorder == nullptr || !recorder->has_opened()));
  return begins && StartRecording(cause) == 0;
}

// Whether cuInit has succeeded in this process itself (not only in one that it was forked from).
bool DriverIsUp();
// The same for marks: before a device is used, they only count if the driver is initialised.
inline bool WantMarks() { return Recording() || (DriverIsUp() && WantEvents(StartCause::kHook)); }

// Requests to begin, stop or resume recording: carried out at the next CUDA call, or on the
// writer's thread. Safe in a signal handler.
void RequestToggle();
// Carries out a request to begin, where no call of the program passes through this library. False
// once there is nothing more to wait for.
bool ServeLateStart();

// For tests: destroys the recorder, so that another one can be started.
void ResetForTest();

}  // namespace memprof::recorder
