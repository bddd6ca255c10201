// Looks through the host memory of this process for pointers to device memory, so that memory
// which nothing can free any more is told from memory that is merely alive.
//
// Conservative, as LeakSanitizer is: every aligned word of the process's writable memory that lies
// within an allocation counts as a pointer to it, also where it is only left over. Only memory of
// cuMemAlloc and cuMemAllocPitch is looked for, because only there the program holds the pointer
// itself.
//
// The driver keeps pointers of its own. How many is found out by allocating, at that moment, a few
// probes to which the program has none: what is pointed to no more often than the least of them is
// pointed to by the driver alone. Without a current context there are no probes and no verdict.
//
//   probes -> writer's table of what is live -> words of /proc/self/maps -> OP_UNREACHABLE each,
//   OP_HOST_SCAN at the end
//
// What the recorder itself has mapped is left out, and what lies below the caller's frame on its
// stack. Memory is read by system calls, so that a mapping which goes away meanwhile is no
// harm. Other threads run on: a pointer that they move during the scan may be missed, so a program
// scans where it is quiet.
#pragma once

namespace memprof::recorder {

// memprof_scan: does all of the above in the calling thread. MEMPROF_OK, MEMPROF_NOT_RECORDING, or
// MEMPROF_UNAVAILABLE where no verdict was possible.
int ScanHost();

// From now on the process scans when it exits. Called when there is a context, so that the driver's
// own end comes after. Once per process; may be called again.
void ScanAtExit();

}  // namespace memprof::recorder
