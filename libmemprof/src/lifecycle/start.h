// Beginning and stopping to record (recording/control.h).
#pragma once

#include "libmemprof/src/recording/control.h"
#include "libmemprof/src/recording/recorder.h"

namespace memprof::recorder {

// kHook: a device is used, or something marked. kInit: the driver is up, and nothing more.
enum class StartCause { kHook, kInit, kApi };
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

// Begins, stops or resumes recording soon: at the next CUDA call, or on the writer's thread. May be
// called in a signal handler.
void RequestToggle();
// Where no call of the program passes through this library: begins what was requested. False once
// there is nothing more to wait for.
bool ServeLateStart();

// For tests: takes the recorder down, so that another one can be started.
void ResetForTest();

}  // namespace memprof::recorder
