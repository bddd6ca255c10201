// Returns freed memory to the system.
#include "viewer/jobs/heap.h"

#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace memprof::viewer {

void KeepHeapSmall() {
#ifdef __GLIBC__
  // After the threshold was set explicitly, glibc no longer raises it to the largest piece ever
  // freed.
  constexpr int kLarge = 1 << 20, kKept = 4 << 20;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
}

void TrimHeap() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace memprof::viewer
