/* A libnvidia-ml with one device and nothing else. PyTorch queries it to determine how its
 * expandable segments can be shared. */
enum { kSuccess = 0, kNotSupported = 3 };

int nvmlInit_v2(void) { return kSuccess; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  (void)bus;
  *device = (void*)1;
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses(void) { return kNotSupported; }
int nvmlDeviceGetGpuFabricInfoV(void) { return kNotSupported; }
int nvmlDeviceGetNvLinkRemoteDeviceType(void) { return kNotSupported; }
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void) { return kNotSupported; }
int nvmlSystemGetCudaDriverVersion_v2(void) { return kNotSupported; }
