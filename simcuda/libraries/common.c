/* Handles, device memory and counting of calls for the stand-in libraries. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#ifndef STANDIN_NAME
#define STANDIN_NAME "library"
#endif

enum mode { kUnknown, kQuiet, kCount, kTrace };

static _Atomic int g_mode = kUnknown;
static _Atomic(struct standin_call*) g_calls = NULL;

static int mode_now(void) {
  int mode = atomic_load_explicit(&g_mode, memory_order_relaxed);
  if (mode != kUnknown) return mode;
  const char* wanted = getenv("SIMCUDA_LIBRARIES");
  mode = wanted == NULL                   ? kQuiet
         : strcmp(wanted, "trace") == 0   ? kTrace
         : strcmp(wanted, "count") == 0 ? kCount
                                          : kQuiet;
  atomic_store(&g_mode, mode);
  return mode;
}

void standin_note(struct standin_call* call) {
  const int mode = mode_now();
  if (mode == kQuiet) return;
  if (mode == kTrace) fprintf(stderr, "[%s] %s\n", STANDIN_NAME, call->name);
  if (__atomic_fetch_add(&call->count, 1, __ATOMIC_RELAXED) != 0) return;
  struct standin_call* first = atomic_load(&g_calls);
  do {
    call->next = first;
  } while (!atomic_compare_exchange_weak(&g_calls, &first, call));
}

__attribute__((destructor)) static void print_counts(void) {
  if (atomic_load(&g_mode) != kCount) return;
  for (struct standin_call* call = atomic_load(&g_calls); call != NULL; call = call->next)
    fprintf(stderr, "[%s] %s %lu\n", STANDIN_NAME, call->name, call->count);
}

/* Handles: a header with a mark precedes the memory of the owner, to recognise our handles. */
static const uint64_t kMark = 0x73696d63756461f1u;

struct header {
  uint64_t mark;
  uint64_t bytes;
};

void* standin_new(size_t bytes) {
  struct header* header = calloc(1, sizeof *header + (bytes < 64 ? 64 : bytes));
  if (header == NULL) return NULL;
  header->mark = kMark;
  header->bytes = bytes;
  return header + 1;
}

void standin_free(void* handle) {
  /* Pointers from calloc are multiples of 16, and small numbers are not addresses. */
  if ((uintptr_t)handle < 65536 || (uintptr_t)handle % 16 != 0) return;
  struct header* header = (struct header*)handle - 1;
  if (header->mark != kMark) return;
  header->mark = 0;
  free(header);
}

struct driver {
  int (*alloc)(uint64_t*, size_t);
  int (*release)(uint64_t);
  int (*init)(unsigned);
  int (*get_device)(int*);
  int (*retain)(void**, int);
  int (*set_current)(void*);
  int (*copy)(uint64_t, uint64_t, size_t, void*);
  int (*copy_now)(uint64_t, uint64_t, size_t);
  int (*synchronize)(void*);
  int (*is_capturing)(void*, int*);
  int (*launch_host)(void*, void (*)(void*), void*);
};

/* The functions are looked up by dlsym, as NCCL and others do, so that interposers of the driver
 * see the calls. */
static const struct driver* the_driver(void) {
  static struct driver driver;
  static _Atomic int known = 0; /* 1: there, 2: not */
  if (atomic_load(&known) == 0) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library != NULL) {
      driver.alloc = (int (*)(uint64_t*, size_t))dlsym(library, "cuMemAlloc_v2");
      driver.release = (int (*)(uint64_t))dlsym(library, "cuMemFree_v2");
      driver.init = (int (*)(unsigned))dlsym(library, "cuInit");
      driver.get_device = (int (*)(int*))dlsym(library, "cuCtxGetDevice");
      driver.retain = (int (*)(void**, int))dlsym(library, "cuDevicePrimaryCtxRetain");
      driver.set_current = (int (*)(void*))dlsym(library, "cuCtxSetCurrent");
      driver.copy = (int (*)(uint64_t, uint64_t, size_t, void*))dlsym(library, "cuMemcpyAsync");
      driver.copy_now = (int (*)(uint64_t, uint64_t, size_t))dlsym(library, "cuMemcpy");
      driver.synchronize = (int (*)(void*))dlsym(library, "cuStreamSynchronize");
      driver.is_capturing = (int (*)(void*, int*))dlsym(library, "cuStreamIsCapturing");
      driver.launch_host =
          (int (*)(void*, void (*)(void*), void*))dlsym(library, "cuLaunchHostFunc");
    }
    const int whole = driver.alloc != NULL && driver.release != NULL && driver.init != NULL &&
                      driver.get_device != NULL && driver.retain != NULL &&
                      driver.set_current != NULL && driver.copy != NULL &&
                      driver.copy_now != NULL && driver.synchronize != NULL &&
                      driver.is_capturing != NULL && driver.launch_host != NULL;
    atomic_store(&known, whole ? 1 : 2);
  }
  return atomic_load(&known) == 1 ? &driver : NULL;
}

int standin_device(void) {
  int device = 0;
  const struct driver* driver = the_driver();
  if (driver == NULL || driver->get_device(&device) != 0) return 0;
  return device;
}

int standin_device_alloc(size_t bytes, uint64_t* address) {
  const struct driver* driver = the_driver();
  *address = 0;
  if (driver == NULL) return 100; /* no device */
  int device = 0;
  if (driver->get_device(&device) != 0) {
    void* context = NULL;
    int result = driver->init(0);
    if (result == 0) result = driver->retain(&context, 0);
    if (result == 0) result = driver->set_current(context);
    if (result != 0) return result;
  }
  return driver->alloc(address, bytes);
}

int standin_device_free(uint64_t address) {
  const struct driver* driver = the_driver();
  if (driver == NULL || address == 0) return 0;
  return driver->release(address);
}

int standin_copy(void* to, const void* from, size_t bytes, void* stream) {
  const struct driver* driver = the_driver();
  if (driver == NULL) return 100;
  if (bytes == 0 || to == from) return 0;
  return driver->copy((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes, stream);
}

int standin_copy_now(void* to, const void* from, size_t bytes, void* stream) {
  const struct driver* driver = the_driver();
  int capturing = 0;
  if (driver == NULL || driver->is_capturing(stream, &capturing) != 0 || capturing != 0) return 0;
  if (driver->synchronize(stream) != 0) return 0;
  return bytes == 0 ||
         driver->copy_now((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes) == 0;
}

static void do_nothing(void* unused) { (void)unused; }

void standin_ran(void* stream) {
  const struct driver* driver = the_driver();
  int capturing = 0;
  if (driver != NULL && driver->is_capturing(stream, &capturing) == 0 && capturing == 1)
    driver->launch_host(stream, do_nothing, NULL);
}
