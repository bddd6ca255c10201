// Green contexts: the primary context with a part of the multiprocessors. The parts are only
// numbers here; what matters is which context owns memory, and when it ends.
#include <algorithm>
#include <mutex>

#include "driver_api.h"
#include "simcuda/common/config.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"

#if CUDA_VERSION >= 12040
namespace memprof::simcuda {
namespace {

unsigned AllMultiprocessors() {
  return static_cast<unsigned>(GlobalConfig(false).gpu->multiprocessors);
}
constexpr unsigned kMinPart = 8;

struct ResourceDescription {
  unsigned multiprocessors = 0;
};

struct GreenContext {
  Device* device = nullptr;
  unsigned multiprocessors = 0;
  std::once_flag converted;
  std::shared_ptr<Context> context;
};

CUdevResource Multiprocessors(unsigned count) {
  CUdevResource resource = {};
  resource.type = CU_DEV_RESOURCE_TYPE_SM;
  resource.sm.smCount = count;
#if CUDA_VERSION >= 13000
  resource.sm.minSmPartitionSize = kMinPart;
  resource.sm.smCoscheduledAlignment = kMinPart;
#endif
  return resource;
}

CUresult GiveResource(CUdevResource* resource, CUdevResourceType type, unsigned count) {
  if (resource == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  *resource = Multiprocessors(count);
  return CUDA_SUCCESS;
}

std::shared_ptr<GreenContext> FindGreen(CUgreenCtx handle) {
  return AllHandles<GreenContext>().Find(handle);
}

const std::shared_ptr<Context>& Convert(GreenContext* green) {
  std::call_once(green->converted, [&] {
    green->context = Context::CreateGreen(green->device);
    green->context->ReportCreated();
  });
  return green->context;
}

}  // namespace

namespace api {

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  if (FindDevice(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  return GiveResource(resource, type, AllMultiprocessors());
}

CUresult cuCtxGetDevResource(CUcontext hCtx, CUdevResource* resource, CUdevResourceType type) {
  if (AllHandles<Context>().Find(hCtx) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return GiveResource(resource, type, AllMultiprocessors());
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx hCtx, CUdevResource* resource,
                                  CUdevResourceType type) {
  const auto green = FindGreen(hCtx);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return GiveResource(resource, type, green->multiprocessors);
}

CUresult cuDevSmResourceSplitByCount(CUdevResource* result, unsigned int* nbGroups,
                                     const CUdevResource* input, CUdevResource* remaining,
                                     unsigned int useFlags, unsigned int minCount) {
  if (nbGroups == nullptr || input == nullptr || useFlags > 3) return CUDA_ERROR_INVALID_VALUE;
  if (input->type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
  const unsigned all = input->sm.smCount;
  const unsigned part = std::max((minCount + kMinPart - 1) / kMinPart, 1u) * kMinPart;
  if (minCount > all || part > all) return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
  const unsigned groups = result == nullptr ? all / part : std::min(*nbGroups, all / part);
  for (unsigned i = 0; result != nullptr && i < groups; ++i) result[i] = Multiprocessors(part);
  *nbGroups = groups;
  if (remaining != nullptr) {
    *remaining = Multiprocessors(all - groups * part);
    if (all == groups * part) remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
  }
  return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc* phDesc, CUdevResource* resources,
                                   unsigned int nbResources) {
  if (phDesc == nullptr || resources == nullptr || nbResources == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto description = std::make_shared<ResourceDescription>();
  for (unsigned i = 0; i < nbResources; ++i) {
    if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM) return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    description->multiprocessors += resources[i].sm.smCount;
  }
  *phDesc = reinterpret_cast<CUdevResourceDesc>(description.get());
  // descriptions are never destroyed
  AllHandles<ResourceDescription>().Add(std::move(description));
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev,
                          unsigned int flags) {
  Device* device = FindDevice(dev);
  const auto description = AllHandles<ResourceDescription>().Find(desc);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (phCtx == nullptr || description == nullptr || flags != CU_GREEN_CTX_DEFAULT_STREAM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::shared_ptr<Context> primary;
  const CUresult result = device->RetainPrimary(&primary);
  if (result != CUDA_SUCCESS) return result;
  auto green = std::make_shared<GreenContext>();
  green->device = device;
  green->multiprocessors = description->multiprocessors;
  *phCtx = reinterpret_cast<CUgreenCtx>(green.get());
  AllHandles<GreenContext>().Add(std::move(green));
  return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext* pContext, CUgreenCtx hCtx) {
  const auto green = FindGreen(hCtx);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (pContext == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pContext = Convert(green.get())->handle();
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12050
CUresult cuGreenCtxStreamCreate(CUstream* phStream, CUgreenCtx greenCtx, unsigned int flags,
                                int priority) {
  const auto green = FindGreen(greenCtx);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (phStream == nullptr || flags != CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  const auto stream = Convert(green.get())->CreateStream(flags, std::clamp(priority, -5, 0));
  *phStream = reinterpret_cast<CUstream>(stream.get());
  return CUDA_SUCCESS;
}
#endif

// Its allocations stay in the primary context until that ends.
CUresult cuGreenCtxDestroy(CUgreenCtx hCtx) {
  const auto green = AllHandles<GreenContext>().Remove(hCtx);
  if (green == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (green->context != nullptr) {
    green->context->Synchronize();
    AllHandles<Context>().Remove(green->context.get());
  }
  return green->device->ReleasePrimary();
}

}  // namespace api
}  // namespace memprof::simcuda
#endif
