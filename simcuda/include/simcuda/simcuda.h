/* What the stand-in CUDA has beyond CUDA: host versions of kernels, injected failures, and the
 * figures of its memory model. Programs must not link it: they look these names up with
 * dlsym(RTLD_DEFAULT, "simcuda_..."), which finds nothing on a real CUDA, and work without them.
 *
 * The stand-in is configured by the environment variable SIMCUDA, a comma-separated list:
 *   devices=N            number of devices (default 1)
 *   gpu=MODEL            compute capability, multiprocessors, L2, memory, context and name of a
 *                        real GPU: H100-80GB, H200, GH200, B200, A100-40GB, A100-80GB, V100-16GB,
 *                        V100-32GB, T4, L4, L40S, A10, A6000, RTX6000Ada, RTXPRO6000, RTX2080Ti,
 *                        RTX3060-12GB, RTX3080, RTX3090, RTX4060, RTX4090 or RTX5090.
 *                        The keys below change parts of it. Default: an H100-80GB, except for its
 *                        name and its context
 *   memory=SIZE          capacity of each, e.g. 24GiB, 512MiB, 80GB, 1000000 (default: the model's)
 *   overhead=SIZE        what a context takes from the free memory, with the code of its kernels
 *                        (default 256MiB, or the model's context; only then is code modelled)
 *   fail=FUNCTION:N[:RESULT]
 *                        the N-th call (from 1) of a driver function fails with that CUresult
 *                        number (default 2, out of memory); may be given several times
 *   version=N            what cuDriverGetVersion returns (default 13000)
 *   name=TEXT            device name (default "memprof stand-in GPU")
 *   async=0|1            1 (default): streams run on worker threads; 0: every call is synchronous
 *   threads=N            workers for one host kernel (default: number of CPUs)
 *   shared=NAME          processes of one user with the same NAME share the devices: cuMemGetInfo
 *                        counts the memory of all of them, and they have one capacity together.
 *                        NAME: up to 64 letters, digits, '-', '_', '.'; "@group" is the process
 *                        group, that is, one shell job. Default: a device of one's own
 *   addresses=linux|windows
 *                        the order in which the driver gives addresses (default linux): it decides
 *                        which segments of PyTorch's allocator stay reserved. windows is also the
 *                        order in its subsystem for Linux
 *   contents=kept|none   none: device memory has no contents and takes no memory of the machine. It
 *                        reads as zeros, except for what small copies wrote since a kernel that
 *                        may have overwritten it.
 *                        For programs whose kernels do not run. Default: kept
 * An unknown key is reported once on stderr and ignored. SIMCUDA_DEFAULTS, if set, is such a list
 * too; keys in SIMCUDA override it.
 */
#ifndef SIMCUDA_SIMCUDA_H
#define SIMCUDA_SIMCUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One launch as a host version sees it. `args[i]` points at a copy of the i-th kernel argument,
 * valid until the function returns. Device pointers among them are valid host addresses. */
struct simcuda_launch {
  unsigned grid[3];
  unsigned block[3];
  size_t shared_bytes;
  void** args;
  int device;
};

/* Runs the whole grid. Called on a worker thread of the stream, in stream order. */
typedef void (*simcuda_host_kernel)(const struct simcuda_launch* launch);

/* Gives the kernel whose host-side handle is `kernel` (the address of the __global__ function, as
 * passed to cudaLaunchKernel) a host version. `args` is its number of arguments and `sizes[i]` the
 * bytes of each: launches copy them. Exported by the stand-in cudart. Returns 0, or 1 when the
 * arguments are invalid. */
int simcuda_register_host_kernel(const void* kernel, simcuda_host_kernel function, int args,
                                 const size_t* sizes);

/* Runs function(context, begin, end) over [0, count) on the stand-in's workers and waits: for use
 * inside host kernels. Exported by the stand-in cudart. */
void simcuda_parallel_for(size_t count, size_t grain,
                          void (*function)(void* context, size_t begin, size_t end), void* context);

/* The memory model of one device, for tests. Exported by the stand-in libcuda. */
struct simcuda_memory {
  size_t size; /* set to sizeof before the call */
  uint64_t capacity_bytes;
  uint64_t free_bytes;    /* what cuMemGetInfo returns */
  uint64_t context_bytes; /* overhead of contexts */
  uint64_t linear_bytes;  /* granted, that is rounded */
  uint64_t array_bytes;
  uint64_t managed_bytes;
  uint64_t pool_reserved_bytes;
  uint64_t vmm_bytes;
  uint64_t live_allocations;
  uint64_t graph_bytes; /* reserved for memory nodes of graphs */
  uint64_t other_bytes; /* used by the other processes of the group */
  uint64_t code_bytes;  /* of kernels */
};
int simcuda_get_memory(int device, struct simcuda_memory* memory);

#ifdef __cplusplus
}
#endif

#endif /* SIMCUDA_SIMCUDA_H */
