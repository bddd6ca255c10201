// The end of threads: releases what they held of a recording.
#pragma once

namespace memprof::recorder {

struct ThreadState;

// Installs the detection of thread ends. Once per process image.
void WatchThreadEnds();
// Calls ReleaseThread when the calling thread ends.
void NoticeThreadEnd(ThreadState* state);

}  // namespace memprof::recorder
