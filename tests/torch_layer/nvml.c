/* A libnvidia-ml that knows a device and nothing else: PyTorch asks it what its expandable segments
 * may be shared over. */
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
