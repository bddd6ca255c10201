// Threads of the stand-in: detached, with all signals blocked, because signals are for the
// program's threads.
#ifndef SIMCUDA_COMMON_THREADS_H
#define SIMCUDA_COMMON_THREADS_H

#include <functional>

namespace memprof::simcuda {

// Runs `body` on a new thread. False if none can be created.
bool StartDetachedThread(const char* name, std::function<void()> body);

// Number of CPUs that this process may use, at least 1.
int CpuCount();

}  // namespace memprof::simcuda

#endif  // SIMCUDA_COMMON_THREADS_H
