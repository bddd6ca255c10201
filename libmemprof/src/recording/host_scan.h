// Searches the host memory of this process for pointers to device memory, to distinguish memory
// that nothing can free any more from memory that is merely alive.
//
// Conservative, like LeakSanitizer: every aligned word of the process's writable memory whose value
// lies within an allocation counts as a pointer to it, also a stale one. Only memory of cuMemAlloc
// and cuMemAllocPitch is searched for, because only there the program itself holds the pointer.
//
// The driver has pointers of its own. Their number is measured by a few probes, which are allocated
// for the scan and to which the program has no pointer: an allocation with no more pointers than
// the least of the probes is only referred to by the driver. Without a current context there are no
// probes and no result.
//
// Steps: allocate the probes; copy the writer's table of live blocks; count the words of all
// mappings in /proc/self/maps; record OP_UNREACHABLE for each block to which only the driver points;
// find what holds the others (internal/holder_search.h), and record OP_HELD for each holder;
// OP_HOST_SCAN at the end.
//
// Left out are the recorder's own mappings, and the caller's stack below its frame. Memory is read
// by system calls, so that a mapping which is removed meanwhile does no harm. Other threads
// continue: a pointer that they move during the scan may be missed, so a program should scan while
// it is idle.
#pragma once

namespace memprof::recorder {

// Implements memprof_scan, in the calling thread. Returns MEMPROF_OK, MEMPROF_NOT_RECORDING, or
// MEMPROF_UNAVAILABLE where there is no result.
int ScanHost();

// Makes the process scan when it exits. Call it once there is a context, so that the scan runs
// before the driver's own exit handlers. May be called again.
void ScanAtExit();

}  // namespace memprof::recorder
