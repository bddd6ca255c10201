// Beginning and end of recordings: the process starts, forks, exits; threads end.
#pragma once

#include <cstdint>

namespace memprof::recorder {

struct ThreadState;

// A number for a new recording, never 0 and never used before in this process or its parents.
std::uint64_t NextEpoch();

// Sees to forks, exits and the end of threads from here on. Once per process image: a forked child
// inherits all of it.
void RegisterHandlers();

// Makes sure that ReleaseThread is called when the calling thread ends.
void NoticeThreadEnd(ThreadState* state);

// Begins, stops or resumes recording soon: at the next CUDA call, or on the writer's thread. May be
// called in a signal handler.
void RequestToggle();
// On the writer's thread: does what was requested.
void ServeToggles();
// Where no call of the program passes through this library: begins what was requested. False once
// there is nothing more to wait for.
bool ServeLateStart();

// This library is the driver's injection library (CUDA_INJECTION64_PATH) and nothing but: the
// program's calls do not pass through it, so CUPTI is the source.
bool InjectedOnly();

// Recording is over for good.
void SwitchOff();

// For tests: takes the recorder down, so that another one can be started.
void ResetForTest();

}  // namespace memprof::recorder
