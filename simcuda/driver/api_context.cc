// Initialisation, contexts and what belongs to them.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "driver_api.h"
#include "simcuda/common/config.h"
#include "simcuda/driver/api_call.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/pool.h"

namespace memprof::simcuda {
namespace {

std::shared_ptr<Context> FindContext(CUcontext handle) {
  return AllHandles<Context>().Find(handle);
}

// Work in flight may use what the end of the process takes away: it is waited for. Only what does
// not come to an end is cut off, and the driver with it. A forked child has nothing to wait for.
void AtExit() {
  if (!IsInitialised()) return;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const auto busy = [](Context& context) { return !context.Idle(); };
  while (!AllHandles<Context>().Select(busy).empty()) {
    if (std::chrono::steady_clock::now() > deadline) {
      SetDeinitialised();
      StopWorkers();
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

CUresult Synchronize(const std::shared_ptr<Context>& context) {
  if (OnStreamWorker()) return CUDA_ERROR_NOT_PERMITTED;
  context->Synchronize();
  PoolsSynchronised(&context->device());
  return CUDA_SUCCESS;
}

CUresult CreateContext(CUcontext* pctx, unsigned flags, CUdevice dev) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) return CUDA_ERROR_INVALID_VALUE;
  Device* device = FindDevice(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  auto context = Context::Create(device, false, flags);
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  context->ReportCreated();
  *pctx = context->handle();
  PushContext(std::move(context));
  return CUDA_SUCCESS;
}

// As the driver does, once: tools are loaded into programs that way.
void LoadInjection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  if (void* entry = dlsym(library, "InitializeInjection")) reinterpret_cast<int (*)()>(entry)();
}

}  // namespace

namespace api {

CUresult cuInit(unsigned int Flags) {
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!IsUsable()) return CUDA_ERROR_NOT_INITIALIZED;
  if (Devices().empty()) return CUDA_ERROR_NO_DEVICE;
  static const bool registered = [] { return std::atexit(&AtExit) == 0; }();
  static_cast<void>(registered);
  SetInitialised();
  static std::once_flag injected;
  std::call_once(injected, LoadInjection);
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *driverVersion = GlobalConfig(false).driver_version;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  Device* device = FindDevice(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  const CUresult result = device->RetainPrimary(&context);
  if (result == CUDA_SUCCESS) *pctx = context->handle();
  return result;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice dev) {
  Device* device = FindDevice(dev);
  return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : device->ReleasePrimary();
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice dev) {
  Device* device = FindDevice(dev);
  return device == nullptr ? CUDA_ERROR_INVALID_DEVICE : device->ResetPrimary();
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags) {
  Device* device = FindDevice(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) return CUDA_ERROR_INVALID_VALUE;
  return device->SetPrimaryFlags(flags);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  Device* device = FindDevice(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  bool is_active = false;
  device->GetPrimaryState(flags, &is_active);
  *active = is_active ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return CreateContext(pctx, flags, dev);
}

#if CUDA_VERSION >= 11040
CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* /*paramsArray*/, int numParams,
                        unsigned int flags, CUdevice dev) {
  return numParams == 0 ? CreateContext(pctx, flags, dev) : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}
#endif

#if CUDA_VERSION >= 12050
CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* params, unsigned int flags,
                        CUdevice dev) {
  if (params != nullptr && (params->numExecAffinityParams != 0 || params->cigParams != nullptr)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CreateContext(pctx, flags, dev);
}
#endif

CUresult cuCtxDestroy_v2(CUcontext ctx) {
  const auto context = FindContext(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  // A primary context goes away with its last release.
  if (context->primary()) return CUDA_ERROR_INVALID_CONTEXT;
  if (CurrentContext() == context) PopContext();
  context->Destroy();
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  auto context = FindContext(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  PushContext(std::move(context));
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  const auto context = PopContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (pctx != nullptr) *pctx = context->handle();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  if (ctx == nullptr) {
    SetCurrentContext(nullptr);
    return CUDA_SUCCESS;
  }
  auto context = FindContext(ctx);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  SetCurrentContext(std::move(context));
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto context = CurrentContext();
  *pctx = context == nullptr ? nullptr : context->handle();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device().id();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags;
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  const auto context = ctx == nullptr ? CurrentContext() : FindContext(ctx);
  if (context == nullptr || !context->alive()) return CUDA_ERROR_INVALID_CONTEXT;
  if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *ctxId = context->uid();
  return CUDA_SUCCESS;
}
#endif

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
  if (ctx != nullptr && FindContext(ctx) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12010
CUresult cuCtxSetFlags(unsigned int flags) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if ((flags & ~unsigned{CU_CTX_FLAGS_MASK}) != 0) return CUDA_ERROR_INVALID_VALUE;
  context->flags = flags;
  return CUDA_SUCCESS;
}
#endif

CUresult cuCtxSynchronize() {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  return result != CUDA_SUCCESS ? result : Synchronize(context);
}

#if CUDA_VERSION >= 13000
CUresult cuCtxSynchronize_v2(CUcontext ctx) {
  const auto context = ctx == nullptr ? CurrentContext() : FindContext(ctx);
  return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT : Synchronize(context);
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
  const auto context = ctx == nullptr ? CurrentContext() : FindContext(ctx);
  if (context == nullptr || !context->alive()) return CUDA_ERROR_INVALID_CONTEXT;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device().id();
  return CUDA_SUCCESS;
}
#endif

CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (pvalue == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return context->GetLimit(limit, pvalue);
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  return context->SetLimit(limit, value);
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (pconfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pconfig = context->cache_config;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  context->cache_config = config;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
  if (pConfig == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig /*config*/) { return CUDA_SUCCESS; }

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto peer = FindContext(peerContext);
  if (peer == nullptr || peer == context) return CUDA_ERROR_INVALID_CONTEXT;
  return context->EnablePeer(peer->uid()) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  const auto peer = FindContext(peerContext);
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->DisablePeer(peer->uid()) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }

CUresult cuProfilerStart() { return CUDA_SUCCESS; }
CUresult cuProfilerStop() { return CUDA_SUCCESS; }

}  // namespace api
}  // namespace memprof::simcuda
