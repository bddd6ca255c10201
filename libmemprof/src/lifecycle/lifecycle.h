// The process around a recording: it is loaded, forks, exits; its threads end.
#pragma once

namespace memprof::recorder {

// Sees to forks, exits and the end of threads from here on. Once per process image: a forked child
// inherits all of it.
void RegisterHandlers();

// This library was named in LD_PRELOAD when the process began, or is now.
bool IsPreloaded();
// This library is the driver's injection library (CUDA_INJECTION64_PATH) and nothing but: the
// program's calls do not pass through it, so CUPTI is the source.
bool InjectedOnly();
void NoteInjectedOnly();
// Handlers of exit have begun to run, in this process or a parent of it.
bool IsExiting();

// Ends the log; what is recorded afterwards is appended and the log ended again.
void FinishRecording();

}  // namespace memprof::recorder
