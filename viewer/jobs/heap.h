// Memory that was freed goes back to the system: the views' jobs need much for a short time.
#pragma once

namespace memprof::viewer {

// Once, before anything large is allocated: from now on large pieces of memory are the system's
// again as soon as they are freed. (The C library keeps ever larger ones for itself otherwise.)
void KeepHeapSmall();

// Gives back what small pieces have left free. Takes milliseconds; from any thread.
void TrimHeap();

}  // namespace memprof::viewer
