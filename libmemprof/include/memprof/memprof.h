/* memprof: the C interface of the memory profiler for GPU programs.
 *
 * Everything here is optional: `memprof run -- PROGRAM` records a program without any change. Call
 * these functions to report what only the program knows: where a training step begins, the names
 * of tensors, and instants of which reports shall show the memory.
 *
 *     #include <memprof/memprof.h>
 *
 *     for (unsigned long step = 0; step < steps; ++step) {
 *       memprof_step(step);
 *       memprof_range_push("forward");
 *       ...
 *       memprof_range_pop();
 *     }
 *     memprof_snapshot("after training");
 *
 * A program may link libmemprof.so, or include this header and look the functions up with
 * dlsym(RTLD_DEFAULT, ...): they are then found only if the library was preloaded.
 *
 * Every function is safe to call from any thread, at any time. While nothing is recorded, it does
 * nothing and returns MEMPROF_NOT_RECORDING. No function aborts, throws or keeps a pointer to its
 * arguments. C99.
 */
#ifndef MEMPROF_MEMPROF_H
#define MEMPROF_MEMPROF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MEMPROF_VERSION_MAJOR 0
#define MEMPROF_VERSION_MINOR 1
#define MEMPROF_VERSION_PATCH 0

#define MEMPROF_MAX_RANK 16

/* Results. Negative values are failures; none is fatal. */
enum {
  MEMPROF_OK = 0,
  MEMPROF_NOT_RECORDING = 1,     /* nothing was done; this is not an error */
  MEMPROF_INVALID_ARGUMENT = -1, /* a null name, a rank above MEMPROF_MAX_RANK, ... */
  MEMPROF_IO_ERROR = -2,         /* the log could not be created or written; stderr has it once */
  MEMPROF_UNAVAILABLE = -3       /* recording was switched off for good, e.g. MEMPROF_DISABLE=1 */
};

/* Begins to record into the log named by MEMPROF_OUTPUT (default memprof.%p.mprof), or resumes
 * after memprof_stop. A preloaded library begins by itself with the first use of a device unless
 * MEMPROF_START=paused. */
int memprof_start(void);

/* Stops recording. Hooks stay in place and cost almost nothing; memprof_start resumes recording
 * into the same log. Events already recorded are kept. */
int memprof_stop(void);

/* Returns once all events recorded before the call are in the log file. Waits at most a second. */
int memprof_flush(void);

/* Marks this instant by name; reports can show the memory that was live then. */
int memprof_snapshot(const char* label);

/* Searches the host memory of this process for pointers to memory of cuMemAlloc (cudaMalloc), and
 * records the allocations to which the program has no pointer any more: nothing can free them. Of
 * the others, it records which variable, stack or heap block has the pointer. Takes about a second
 * for 1 GiB of host memory, and allocates and frees a few MiB in the current context to find out
 * how many pointers the driver itself keeps. Call it while other threads are idle. `memprof run
 * --scan` does it when the program exits. MEMPROF_UNAVAILABLE if no result was possible, for
 * instance without a current context. */
int memprof_scan(void);

/* A training step begins now, in all threads. Numbers should increase; there may be gaps. */
int memprof_step(uint64_t step);

/* A name for the work of this thread until the matching pop. Ranges may be nested. */
int memprof_range_push(const char* name);
int memprof_range_pop(void);

/* A tensor was created in memory that the program already owns: `bytes` bytes from `ptr` on
 * device `device` (-1 = host). dtype is free text ("float32"); shape has `rank` numbers of
 * elements, outermost first, and may be NULL when rank is 0. The tensor's memory is never added to
 * the totals. */
int memprof_tensor_create(int device, const void* ptr, size_t bytes, const char* name,
                          const char* dtype, int rank, const int64_t* shape);
int memprof_tensor_destroy(int device, const void* ptr);

/* For programs with an allocator of their own: it has allocated a segment from the driver, or a
 * block in a segment. `requested` is the requested size before rounding, `stream` the CUstream or
 * NULL. Call *_create after the allocation, and *_destroy before the memory is freed. */
int memprof_segment_create(int device, const void* ptr, size_t bytes, const void* stream);
int memprof_segment_destroy(int device, const void* ptr);
int memprof_block_create(int device, const void* ptr, size_t bytes, size_t requested,
                         const void* stream);
int memprof_block_destroy(int device, const void* ptr);

/* Private pools of PyTorch's allocator, for the agent of `memprof run --torch`: `pool` is both
 * numbers of torch.cuda.MemPool.id, first << 32 | second. A pool was made here, and was reported by
 * the number `also` so far (0 = by none); this thread's allocations on `device` come from it from
 * now on (with `captures` only those for a stream that is being captured, as the thread's current
 * stream is), until its end. The pool begun last counts. */
int memprof_pool_create(uint64_t pool, uint64_t also);
int memprof_pool_begin(int device, uint64_t pool, int captures);
int memprof_pool_end(int device, uint64_t pool);

/* `stream`, which is not the block's own, uses the block at `ptr`: the allocator keeps it after its
 * memprof_block_destroy until that stream has done its work. memprof_waiting: what the allocator
 * keeps for that reason now, and the most bytes that were in use or kept so far, `peak`. `memprof
 * run --torch` calls both for PyTorch programs. */
int memprof_stream_use(int device, const void* ptr, const void* stream);
int memprof_waiting(int device, size_t bytes, uint64_t blocks, size_t peak);

/* The allocator described by segments and blocks could not serve `requested` bytes. */
int memprof_framework_oom(int device, size_t requested, size_t allocated, size_t reserved);

/* What keeps memory alive, for programs that can tell. One call of memprof_held for each holder of
 * each memory: `kind` is 1 for a variable of Python, 2 for a graph of autograd, 3 for native code,
 * 4 for garbage that waits for a collector; `holder` is one line in the user's words, then a new
 * line and the root ("list `cache` (global `cache`, train.py:3)\nglobal `cache`, train.py:3"), then
 * a line for each object between the root and the memory, if that is known. Then memprof_holders
 * once: the bytes of garbage, the number of objects examined, and how long the program was held up.
 * `memprof run --holders` does it for PyTorch programs. */
int memprof_held(int device, const void* ptr, size_t bytes, int kind, const char* holder);
int memprof_holders(size_t garbage_bytes, uint64_t objects, uint64_t pause_ns);

/* Memory that was allocated before recording began, for programs to which memprof was attached:
 * `layer` is 1 (of the driver), 16 (segment) or 17 (block), as in the log; `pool` is the number of
 * a segment's private pool, or 0; `stack` has a line "function (file:line)" for each frame, the
 * innermost first, or is NULL. Memory that was freed or allocated again meanwhile does no harm: the
 * events of that count more. */
int memprof_present(int device, int layer, const void* ptr, size_t bytes, size_t requested,
                    const void* stream, uint64_t pool, const char* stack);

/* For `memprof attach`, after it has loaded this library into a running program. */
int memprof_attach(const char* settings);

/* How many blocks are in use of a pool that the program divides by itself, such as the KV cache of
 * a server; call it when the number changes. `pool` is its name, and may go on with a line for each
 * setting that gives its size ("KV cache\ngpu_memory_utilization=0.92"). `device` may be -1 (the
 * process's only one), and `bytes`, the memory of all `blocks`, 0 (unknown). Each block has
 * `block_slots` places, such as one for a token, 0 = unknown; `used_slots` counts over all blocks
 * in use. `memprof budget` reports it: docs/budget.md. */
int memprof_pool_usage(int device, const char* pool, size_t bytes, uint32_t blocks, uint32_t used,
                       uint32_t block_slots, uint32_t used_slots);

/* Writes the path of this process's log, with a zero at the end. MEMPROF_INVALID_ARGUMENT if `size`
 * bytes are not enough for it. */
int memprof_log_path(char* path, size_t size);

/* What was recorded so far. Set `size` to sizeof(struct memprof_stats) before the call: later
 * versions add fields at the end, and fill only as many as `size` covers. */
struct memprof_stats {
  size_t size;
  uint64_t events;      /* recorded since the start */
  uint64_t events_lost; /* dropped because a ring was full */
  uint64_t allocations; /* successful, on all devices, of kinds that occupy a device */
  uint64_t frees;
  uint64_t live_bytes; /* on all devices, as requested */
  uint64_t peak_bytes; /* largest live_bytes so far */
  uint64_t log_bytes;  /* written to the log file */
  uint32_t recording;  /* 1 while recording */
};
int memprof_get_stats(struct memprof_stats* stats);

#ifdef __cplusplus
}
#endif

#endif /* MEMPROF_MEMPROF_H */
