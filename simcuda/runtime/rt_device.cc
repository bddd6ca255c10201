// Devices, versions, limits and access to the driver's functions.
#include <cuda_runtime_api.h>

#include <cstring>

#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::Library;
using memprof::simcuda::runtime::Record;

namespace runtime = memprof::simcuda::runtime;

namespace {

// For functions that need the driver but no context.
template <class Body>
cudaError_t WithDriver(Body body) {
  int error = runtime::RequireDriver();
  if (error == 0) error = static_cast<int>(body(Library().legacy));
  return Record(error);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return Record(cudaErrorInvalidValue);
  *count = 0;
  return WithDriver([&](const Calls& cu) { return cu.cuDeviceGetCount(count); });
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return Record(cudaErrorInvalidValue);
  return WithDriver([&](const Calls&) {
    *device = runtime::ThreadDevice();
    return CUDA_SUCCESS;
  });
}

cudaError_t cudaSetDevice(int device) { return Record(runtime::SetThreadDevice(device)); }

cudaError_t cudaInitDevice(int device, unsigned /*device_flags*/, unsigned /*flags*/) {
  const int before = runtime::ThreadDevice();
  const int error = runtime::SetThreadDevice(device);
  if (error == 0 && before != device) runtime::SetThreadDevice(before);
  return Record(error);
}

cudaError_t cudaDeviceReset() { return Record(runtime::ResetDevice()); }

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return WithDriver([&](const Calls& cu) {
    return cu.cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device);
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return WithDriver([&](const Calls& cu) { return cu.cuDeviceGetPCIBusId(text, length, device); });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return WithDriver([&](const Calls& cu) { return cu.cuDeviceGetByPCIBusId(device, text); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return WithDriver([&](const Calls& cu) { return cu.cuDeviceCanAccessPeer(can, device, peer); });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  return WithDriver([&](const Calls& cu) {
    return cu.cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(attribute), from,
                                      to);
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return Record(cudaErrorInvalidValue);
  *version = 0;
  // Without a driver this is 0, not an error.
  if (runtime::RequireDriver() == cudaErrorInsufficientDriver) return cudaSuccess;
  return Record(static_cast<int>(Library().legacy.cuDriverGetVersion(version)));
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return WithDriver([&](const Calls& cu) {
    return cu.cuDevicePrimaryCtxSetFlags_v2(runtime::ThreadDevice(),
                                            flags & unsigned{CU_CTX_FLAGS_MASK});
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  if (flags == nullptr) return Record(cudaErrorInvalidValue);
  return WithDriver([&](const Calls& cu) {
    int active = 0;
    const CUresult result = cu.cuDevicePrimaryCtxGetState(runtime::ThreadDevice(), flags, &active);
    *flags |= cudaDeviceMapHost;
    return result;
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* /*properties*/) {
  if (device == nullptr) return Record(cudaErrorInvalidValue);
  *device = 0;
  return Record(runtime::RequireDriver());
}

cudaError_t cudaSetValidDevices(int* /*devices*/, int /*count*/) { return cudaSuccess; }

cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop();
cudaError_t cudaProfilerStop() { return cudaSuccess; }

cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t* /*id*/) {
  // Export tables are undocumented; the stand-in has none.
  if (table != nullptr) *table = nullptr;
  return cudaErrorNotSupported;
}

}  // extern "C"

static int DeviceSynchronize(const Calls& cu) { return cu.cuCtxSynchronize(); }

extern "C" cudaError_t cudaDeviceSynchronize() {
  return runtime::Enter(false, [](const Calls& cu) { return DeviceSynchronize(cu); });
}

extern "C" cudaError_t cudaCtxResetPersistingL2Cache() {
  return runtime::Enter(false, [](const Calls& cu) { return cu.cuCtxResetPersistingL2Cache(); });
}

SIMCUDA_RT(cudaDeviceGetLimit, (size_t * value, cudaLimit limit), (value, limit)) {
  return cu.cuCtxGetLimit(value, static_cast<CUlimit>(limit));
}

SIMCUDA_RT(cudaDeviceSetLimit, (cudaLimit limit, size_t value), (limit, value)) {
  return cu.cuCtxSetLimit(static_cast<CUlimit>(limit), value);
}

SIMCUDA_RT(cudaDeviceGetCacheConfig, (cudaFuncCache * config), (config)) {
  return cu.cuCtxGetCacheConfig(reinterpret_cast<CUfunc_cache*>(config));
}

SIMCUDA_RT(cudaDeviceSetCacheConfig, (cudaFuncCache config), (config)) {
  return cu.cuCtxSetCacheConfig(static_cast<CUfunc_cache>(config));
}

SIMCUDA_RT(cudaDeviceGetStreamPriorityRange, (int* least, int* greatest), (least, greatest)) {
  return cu.cuCtxGetStreamPriorityRange(least, greatest);
}

namespace {

// The primary context of another device, for peer access.
int PeerContext(const Calls& cu, int peer, CUcontext* context) {
  if (peer == runtime::ThreadDevice()) return cudaErrorInvalidDevice;
  const int own = runtime::ThreadDevice();
  int error = runtime::SetThreadDevice(peer);
  if (error == 0) *context = runtime::CurrentHandle();
  static_cast<void>(cu);
  const int back = runtime::SetThreadDevice(own);
  return error != 0 ? error : back;
}

}  // namespace

SIMCUDA_RT(cudaDeviceEnablePeerAccess, (int peer, unsigned flags), (peer, flags)) {
  CUcontext context = nullptr;
  const int error = PeerContext(cu, peer, &context);
  return error != 0 ? error : cu.cuCtxEnablePeerAccess(context, flags);
}

SIMCUDA_RT(cudaDeviceDisablePeerAccess, (int peer), (peer)) {
  CUcontext context = nullptr;
  const int error = PeerContext(cu, peer, &context);
  return error != 0 ? error : cu.cuCtxDisablePeerAccess(context);
}
