// Threads of the stand-in: detached, and deaf to signals, which belong to the program's threads.
#ifndef SIMCUDA_COMMON_THREADS_H
#define SIMCUDA_COMMON_THREADS_H

#include <functional>

namespace memprof::simcuda {

// Runs `body` on a new thread. False when none can be made.
bool StartDetachedThread(const char* name, std::function<void()> body);

// Number of CPUs that this process may use, at least 1.
int CpuCount();

}  // namespace memprof::simcuda

#endif  // SIMCUDA_COMMON_THREADS_H
