// Beginning and end of recordings: the process starts, forks, exits; threads end.
#pragma once

#include <cstdint>

namespace memprof::recorder {

struct ThreadState;

// A number for a new recording, never 0 and never used before in this process or its parents.
std::uint64_t NextEpoch();

// Makes sure that ReleaseThread is called when the calling thread ends.
void NoticeThreadEnd(ThreadState* state);

// Recording is over for good.
void SwitchOff();

// For tests: takes the recorder down, so that another one can be started.
void ResetForTest();

}  // namespace memprof::recorder
