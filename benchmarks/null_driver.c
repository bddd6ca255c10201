/* A libcuda.so.1 whose calls cost almost nothing: no device, no memory, no checks. With it, the
 * cost of recording can be measured; the calls of the stand-in CUDA (microseconds) are too slow.
 *
 * It has the functions that the recorder calls at an allocation (current context, its device) and
 * at the first use of a device (name, capacity, memory in use), and returns functions by
 * cuGetProcAddress as the real driver does. It has nothing else. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef int CUresult;
typedef unsigned long long CUdeviceptr;
enum { kSuccess = 0, kInvalidValue = 1, kNotFound = 500 };

static const size_t kCapacity = (size_t)16 << 30;
static int the_context; /* its address is the handle */

CUresult cuInit(unsigned flags) { return flags == 0 ? kSuccess : kInvalidValue; }

CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return kSuccess;
}

CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return kSuccess;
}

CUresult cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? kSuccess : kInvalidValue;
}

CUresult cuDeviceGetName(char* name, int length, int device) {
  (void)device;
  strncpy(name, "null device", (size_t)length);
  return kSuccess;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, int device) {
  (void)device;
  *bytes = kCapacity;
  return kSuccess;
}

CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = *total_bytes = kCapacity;
  return kSuccess;
}

CUresult cuDevicePrimaryCtxRetain(void** context, int device) {
  (void)device;
  *context = &the_context;
  return kSuccess;
}

CUresult cuCtxSetCurrent(void* context) { return context == &the_context ? kSuccess : 201; }

CUresult cuCtxGetCurrent(void** context) {
  *context = &the_context;
  return kSuccess;
}

CUresult cuCtxGetDevice(int* device) {
  *device = 0;
  return kSuccess;
}

/* Each thread uses a range of its own and wraps around in it, like an allocator that reuses memory.
 */
CUresult cuMemAlloc_v2(CUdeviceptr* pointer, size_t bytes) {
  static unsigned threads;
  static __thread unsigned thread, calls;
  (void)bytes;
  if (thread == 0) thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
  *pointer = ((CUdeviceptr)thread << 36) + ((CUdeviceptr)(calls++ & 1023) << 20);
  return kSuccess;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) { return pointer != 0 ? kSuccess : kInvalidValue; }

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags,
                             void* status);

struct Entry {
  const char* name;
  void* function;
};

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, uint64_t flags,
                             void* status) {
  static const struct Entry entries[] = {
      {"cuInit", (void*)cuInit},
      {"cuDriverGetVersion", (void*)cuDriverGetVersion},
      {"cuDeviceGetCount", (void*)cuDeviceGetCount},
      {"cuDeviceGet", (void*)cuDeviceGet},
      {"cuDeviceGetName", (void*)cuDeviceGetName},
      {"cuDeviceTotalMem", (void*)cuDeviceTotalMem_v2},
      {"cuMemGetInfo", (void*)cuMemGetInfo_v2},
      {"cuDevicePrimaryCtxRetain", (void*)cuDevicePrimaryCtxRetain},
      {"cuCtxSetCurrent", (void*)cuCtxSetCurrent},
      {"cuCtxGetCurrent", (void*)cuCtxGetCurrent},
      {"cuCtxGetDevice", (void*)cuCtxGetDevice},
      {"cuMemAlloc", (void*)cuMemAlloc_v2},
      {"cuMemFree", (void*)cuMemFree_v2},
      {"cuGetProcAddress", (void*)cuGetProcAddress_v2},
  };
  (void)version, (void)flags, (void)status;
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; ++i) {
    if (strcmp(entries[i].name, symbol) != 0) continue;
    *function = entries[i].function;
    return kSuccess;
  }
  *function = NULL;
  return kNotFound;
}
