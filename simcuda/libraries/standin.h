/* What the hand-written parts of the stand-ins for CUDA's math and communication libraries share.
 * Each library is one shared object of: common.c, its generated functions, and its own file here,
 * whose functions take the place of generated ones. No header of CUDA is needed. */
#ifndef SIMCUDA_LIBRARIES_STANDIN_H
#define SIMCUDA_LIBRARIES_STANDIN_H

#include <stddef.h>
#include <stdint.h>

#define STANDIN_HIDDEN __attribute__((visibility("hidden")))
#define STANDIN_API __attribute__((visibility("default")))

/* One function and the number of its calls. */
struct standin_call {
  const char* name;
  unsigned long count;
  struct standin_call* next;
};

/* Counts a call, and traces it if SIMCUDA_LIBRARIES=trace. With SIMCUDA_LIBRARIES=count, the
 * process prints at its end how often each function was called. Thread-safe. */
STANDIN_HIDDEN void standin_note(struct standin_call* call);
/* First statement of every function of a stand-in. */
#define STANDIN_CALLED()                               \
  do {                                                 \
    static struct standin_call call = {__func__, 0, 0}; \
    standin_note(&call);                               \
  } while (0)

/* A new handle with `bytes` of zeroed memory for its owner, or null; and its end. Freeing something
 * that is not a live handle has no effect. */
STANDIN_HIDDEN void* standin_new(size_t bytes);
STANDIN_HIDDEN void standin_free(void* handle);

/* Device memory from the driver of the process, in the current context (in that of device 0 if
 * there is none). A CUresult. */
STANDIN_HIDDEN int standin_device_alloc(size_t bytes, uint64_t* address);
STANDIN_HIDDEN int standin_device_free(uint64_t address);
/* Copies within devices, in a stream. A CUresult. */
STANDIN_HIDDEN int standin_copy(void* to, const void* from, size_t bytes, void* stream);
/* Copies between memory of any kind after the work of the stream, and waits for it. False if that
 * is not possible: no driver, or the stream is being captured. */
STANDIN_HIDDEN int standin_copy_now(void* to, const void* from, size_t bytes, void* stream);
/* Functions that enqueue kernels call this: in a stream that is being captured, it adds a node. */
STANDIN_HIDDEN void standin_ran(void* stream);
/* The ordinal of the current context's device, or 0. */
STANDIN_HIDDEN int standin_device(void);

/* The number after ".so." and the version of the library, as its own functions return it; set on
 * the compiler's command line. */
#ifndef STANDIN_MAJOR
#define STANDIN_MAJOR 13
#endif
#ifndef STANDIN_VERSION
#define STANDIN_VERSION (STANDIN_MAJOR * 10000)
#endif

/* The size of a workspace about which nothing is known. */
#define STANDIN_WORKSPACE_BYTES 65536
#define STANDIN_WORKSPACE_ELEMENTS 16384

#endif
