/* Handles and device memory for the stand-in libraries. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

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
  int (*get_attribute)(int*, int, int);
  int (*retain)(void**, int);
  int (*set_current)(void*);
  int (*get_current)(void**);
  int (*copy)(uint64_t, uint64_t, size_t, void*);
  int (*copy_now)(uint64_t, uint64_t, size_t);
  int (*synchronize)(void*);
  int (*is_capturing)(void*, int*);
  int (*launch_host)(void*, void (*)(void*), void*);
  int (*load_module)(void**, const void*);
  const char* (*image)(const char*); /* simcuda_library_image */
};

/* The functions are looked up by dlsym, as NCCL and others do, so that interposers of the driver
 * see the calls. */
static int open_driver(struct driver* driver) {
  const struct {
    const char* name;
    void* place;
  } functions[] = {
      {"cuMemAlloc_v2", &driver->alloc},
      {"cuMemFree_v2", &driver->release},
      {"cuInit", &driver->init},
      {"cuCtxGetDevice", &driver->get_device},
      {"cuDeviceGetAttribute", &driver->get_attribute},
      {"cuDevicePrimaryCtxRetain", &driver->retain},
      {"cuCtxSetCurrent", &driver->set_current},
      {"cuCtxGetCurrent", &driver->get_current},
      {"cuMemcpyAsync", &driver->copy},
      {"cuMemcpy", &driver->copy_now},
      {"cuStreamSynchronize", &driver->synchronize},
      {"cuStreamIsCapturing", &driver->is_capturing},
      {"cuLaunchHostFunc", &driver->launch_host},
      {"cuModuleLoadData", &driver->load_module},
      {"simcuda_library_image", &driver->image},
  };
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) return 0;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    void* function = dlsym(library, functions[i].name);
    if (function == NULL) return 0;
    memcpy(functions[i].place, &function, sizeof function);
  }
  return 1;
}

static const struct driver* the_driver(void) {
  static struct driver driver;
  static _Atomic int known = 0; /* 1: there, 2: not */
  if (atomic_load(&known) == 0) atomic_store(&known, open_driver(&driver) ? 1 : 2);
  return atomic_load(&known) == 1 ? &driver : NULL;
}

int standin_device(void) {
  int device = 0;
  const struct driver* driver = the_driver();
  if (driver == NULL || driver->get_device(&device) != 0) return 0;
  return device;
}

void* standin_context(void) {
  void* context = NULL;
  const struct driver* driver = the_driver();
  return driver != NULL && driver->get_current(&context) == 0 ? context : NULL;
}

void standin_use_context(void* context) {
  const struct driver* driver = the_driver();
  if (driver != NULL) driver->set_current(context);
}

int standin_use_device(int device) {
  const struct driver* driver = the_driver();
  if (driver == NULL) return 100; /* no device */
  void* context = NULL;
  int result = driver->init(0);
  if (result == 0) result = driver->retain(&context, device);
  return result != 0 ? result : driver->set_current(context);
}

int standin_capability(void) {
  enum { kMajor = 75, kMinor = 76 }; /* CUdevice_attribute */
  int major = 9, minor = 0;
  const struct driver* driver = the_driver();
  if (driver == NULL || driver->get_attribute(&major, kMajor, standin_device()) != 0 ||
      driver->get_attribute(&minor, kMinor, standin_device()) != 0)
    return 90;
  return 10 * major + minor;
}

int standin_device_alloc(size_t bytes, uint64_t* address) {
  const struct driver* driver = the_driver();
  *address = 0;
  if (driver == NULL) return 100; /* no device */
  int device = 0;
  if (driver->get_device(&device) != 0) {
    const int result = standin_use_device(0);
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

int standin_capturing(void* stream) {
  const struct driver* driver = the_driver();
  int capturing = 0;
  return driver == NULL || driver->is_capturing(stream, &capturing) != 0 || capturing != 0;
}

int standin_copy_now(void* to, const void* from, size_t bytes, void* stream) {
  const struct driver* driver = the_driver();
  if (standin_capturing(stream)) return 0;
  if (driver->synchronize(stream) != 0) return 0;
  return bytes == 0 ||
         driver->copy_now((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, bytes) == 0;
}

static void do_nothing(void* unused) { (void)unused; }

/* As the libraries do it, so that the load is recorded as one of theirs. */
static void load_code(const struct driver* driver, enum standin_library library) {
  static const char* const kNames[] = {"", "cuBLAS", "cuDNN"};
  static _Atomic uint64_t loaded[3]; /* on which devices */
  const uint64_t bit = (uint64_t)1 << (standin_device() & 63);
  if ((atomic_fetch_or(&loaded[library], bit) & bit) != 0) return;
  const char* image = driver->image(kNames[library]);
  void* module = NULL;
  if (image != NULL && driver->load_module(&module, image) != 0)
    atomic_fetch_and(&loaded[library], ~bit);
}

void standin_ran(enum standin_library library, void* stream) {
  const struct driver* driver = the_driver();
  int capturing = 0;
  if (driver != NULL && library != kStandinNone) load_code(driver, library);
  if (driver != NULL && driver->is_capturing(stream, &capturing) == 0 && capturing == 1)
    driver->launch_host(stream, do_nothing, NULL);
}
