/* NVML, which PyTorch opens by name: the devices of SIMCUDA, without a fabric and without other
 * processes. It does not start CUDA: it reads the environment, and the memory of devices from a
 * stand-in of libcuda that the process has loaded. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "standin.h"

enum { kSuccess = 0, kInvalidArgument = 2, kMaxDevices = 64 };

static char g_devices[kMaxDevices]; /* their addresses are the handles */

static unsigned device_count(void) {
  unsigned count = 1;
  for (const char* at = getenv("SIMCUDA"); at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, "devices=", 8) == 0) count = (unsigned)strtoul(at + 8, NULL, 10);
  }
  return count > kMaxDevices ? kMaxDevices : count;
}

STANDIN_API int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = device_count();
  return kSuccess;
}
STANDIN_API int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

STANDIN_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= device_count()) return kInvalidArgument;
  *device = &g_devices[index];
  return kSuccess;
}

STANDIN_API int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  (void)bus;
  *device = &g_devices[0];
  return kSuccess;
}

/* nvmlMemory_t, and the first members of simcuda_memory. */
struct nvml_memory {
  unsigned long long total, free, used;
};
struct standin_memory {
  size_t size;
  uint64_t capacity, free;
};

STANDIN_API int nvmlDeviceGetMemoryInfo(void* device, struct nvml_memory* memory) {
  enum { kNotSupported = 3 };
  struct standin_memory now = {.size = sizeof now};
  void* cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  int (*get)(int, struct standin_memory*) = NULL;
  if (cuda != NULL) *(void**)&get = dlsym(cuda, "simcuda_get_memory");
  const int status = get == NULL ? 1 : get((int)((char*)device - g_devices), &now);
  if (cuda != NULL) dlclose(cuda);
  if (status != 0) return kNotSupported;
  *memory = (struct nvml_memory){now.capacity, now.free, now.capacity - now.free};
  return kSuccess;
}

/* The caller has set the structure to "no fabric". */
STANDIN_API int nvmlDeviceGetGpuFabricInfoV(void* device, void* information) {
  (void)device, (void)information;
  return kSuccess;
}

STANDIN_API int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count,
                                                        void* processes) {
  (void)device, (void)processes;
  *count = 0;
  return kSuccess;
}

STANDIN_API int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count,
                                                     void* processes) {
  return nvmlDeviceGetComputeRunningProcesses_v3(device, count, processes);
}

STANDIN_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 13000;
  return kSuccess;
}

/* Remote devices of links are not supported. */
STANDIN_API int nvmlDeviceGetNvLinkRemoteDeviceType(void* device, unsigned link, int* type) {
  (void)device, (void)link, (void)type;
  return 3; /* NVML_ERROR_NOT_SUPPORTED */
}
STANDIN_API int nvmlDeviceGetNvLinkRemotePciInfo_v2(void* device, unsigned link, void* bus) {
  (void)device, (void)link, (void)bus;
  return 3;
}
