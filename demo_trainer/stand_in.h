// The stand-in CUDA, if it is loaded: its functions are looked up at run time,
// so the trainer neither links nor needs it.
#ifndef DEMO_TRAINER_STAND_IN_H_
#define DEMO_TRAINER_STAND_IN_H_

#include <cstddef>
#include <initializer_list>

#include "simcuda/include/simcuda/simcuda.h"

namespace memprof::demo::stand_in {

// True when the CUDA runtime in this process is the stand-in.
bool Present();

// Gives a kernel a host version; false on a real CUDA. `sizes` are the bytes of its arguments.
// Throws Error when the stand-in refuses.
bool RegisterHostKernel(const void* kernel, simcuda_host_kernel function,
                        std::initializer_list<size_t> sizes);

// Runs function(context, begin, end) over [0, count) on the stand-in's workers, or on the calling
// thread where there is no stand-in (unit tests of kernel bodies).
void ParallelFor(size_t count, size_t grain,
                 void (*function)(void* context, size_t begin, size_t end), void* context);

}  // namespace memprof::demo::stand_in

#endif  // DEMO_TRAINER_STAND_IN_H_
