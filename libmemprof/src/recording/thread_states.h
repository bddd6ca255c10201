// The states of all threads of this process. They outlive a recording: a thread that was bound to
// an earlier one keeps its state, without what belonged to that recording. Never unmapped.
//
// A recording can be taken down while the program runs on, because this list tells whether a thread
// is within the recorder.
#pragma once

#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {

// The state for the thread of `slot`, without anything of another recording than `epoch`. Null
// without memory; then every event of further threads asks, and is refused at once until another
// thread ends.
ThreadState* TakeThreadState(ThreadSlot* slot, std::uint64_t epoch);
// Its thread ends, or does without.
void ReturnThreadState(ThreadState* state);

// While one lives, the recording is not taken down: for a thread that may have no state yet.
// Whether something is recorded has to be asked within it.
class Visit {
 public:
  Visit();
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
};

// Whether any thread but the calling one uses the recording: it is within a guard (entry_guard.h)
// and bound, or visits. Exact if nothing is recorded any more, and SynchroniseThreads was called
// since.
bool ThreadsAreInside();
// Releases what the states have of a recording that has ended. No thread may be inside.
void ForgetRecording();

// In a forked child: the states are the parent's.
void ForgetParentsThreads();

}  // namespace memprof::recorder
