// Returns freed memory to the system: the views' jobs need much memory for a short time.
#pragma once

namespace memprof::viewer {

// Call once, before large allocations: large pieces are then returned to the system as soon as they
// are freed. (By default, the C library keeps ever larger ones.)
void KeepHeapSmall();

// Returns the free memory of small pieces. Takes milliseconds; may be called by any thread.
void TrimHeap();

}  // namespace memprof::viewer
