// Contexts. Their limits, preferences and peers: api_context_limits.cc.
#include "driver_api.h"
#include "simcuda/driver/api_call.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/pool.h"

namespace memprof::simcuda {
namespace {

std::shared_ptr<Context> FindContext(CUcontext handle) {
  return AllHandles<Context>().Find(handle);
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

}  // namespace

namespace api {

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

}  // namespace api
}  // namespace memprof::simcuda
