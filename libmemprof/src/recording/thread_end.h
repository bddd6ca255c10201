// The end of threads: what they held of a recording is given back.
#pragma once

namespace memprof::recorder {

struct ThreadState;

// Sees to the end of threads from here on. Once per process image.
void WatchThreadEnds();
// Makes sure that ReleaseThread is called when the calling thread ends.
void NoticeThreadEnd(ThreadState* state);

}  // namespace memprof::recorder
