/* What the hand-written parts of the stand-ins for CUDA's math and communication libraries share.
 * simcuda/tools/generate_libraries.py writes a stand-in, all functions of which come to
 * standin_called. The own code of some of them is in a shared object for each library, made of the
 * files here with its name. No header of CUDA is needed. */
#ifndef SIMCUDA_LIBRARIES_STANDIN_H
#define SIMCUDA_LIBRARIES_STANDIN_H

#include <stddef.h>
#include <stdint.h>

/* For functions with own code, and for what they use. */
#define STANDIN_API __attribute__((visibility("default")))

/* A new handle with `bytes` of zeroed memory for its owner, or null; and its end. Freeing something
 * that is not a live handle has no effect. */
STANDIN_API void* standin_new(size_t bytes);
STANDIN_API void standin_free(void* handle);

/* Device memory from the driver of the process, in the current context (in that of device 0 if
 * there is none). A CUresult. */
STANDIN_API int standin_device_alloc(size_t bytes, uint64_t* address);
STANDIN_API int standin_device_free(uint64_t address);
/* Copies in a stream; if one side is plain host memory, it returns when that was read or written. A
 * CUresult. */
STANDIN_API int standin_copy(void* to, const void* from, size_t bytes, void* stream);
/* Copies between memory of any kind after the work of the stream, and waits for it. False if that
 * is not possible: no driver, or the stream is being captured. */
STANDIN_API int standin_copy_now(void* to, const void* from, size_t bytes, void* stream);
/* Whose kernels they are, for the memory of their code. */
enum standin_library { kStandinNone, kStandinCublas, kStandinCudnn };
/* Functions that enqueue kernels call this: the first of a library on a device loads its code. In a
 * stream that is being captured, it adds a node. */
STANDIN_API void standin_ran(enum standin_library library, void* stream);
/* Whether work of the stream is only recorded, into a graph; also if there is no driver. */
STANDIN_API int standin_capturing(void* stream);
/* The current context, to be restored; and the primary context of a device, a CUresult. */
STANDIN_API void* standin_context(void);
STANDIN_API void standin_use_context(void* context);
STANDIN_API int standin_use_device(int device);
/* The ordinal of the current context's device, or 0. */
STANDIN_API int standin_device(void);
/* The version of the library whose function was called last on this thread, as its header encodes
 * it. */
STANDIN_API int standin_version(void);
/* The compute capability of that device, 86 for 8.6; 90 if there is no driver. */
STANDIN_API int standin_capability(void);

/* The size of a workspace about which nothing is known. */
#define STANDIN_WORKSPACE_BYTES 65536
#define STANDIN_WORKSPACE_ELEMENTS 16384

#endif
