// The life of the process around a recording: loading, forks, exit, ends of threads.
#pragma once

namespace memprof::recorder {

// Installs the handlers of fork, exit and thread end. Once per process image: a forked child
// inherits them.
void RegisterHandlers();

// Whether LD_PRELOAD names this library now, or did when the process began.
bool IsPreloaded();
// Whether this library was loaded only by the driver (CUDA_INJECTION64_PATH): the program's calls
// then do not pass through it, and CUPTI is the source.
bool InjectedOnly();
void NoteInjectedOnly();
// Whether exit handlers have begun to run, in this process or in a parent of it.
bool IsExiting();

// Ends the log. Later events are appended, and the log is ended again.
void FinishRecording();

}  // namespace memprof::recorder
