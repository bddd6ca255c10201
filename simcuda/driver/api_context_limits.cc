// Limits and preferences of contexts, and their peers.
#include "driver_api.h"
#include "simcuda/driver/api_call.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"

namespace memprof::simcuda {
namespace api {

CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (pvalue == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return context->limits().Get(limit, pvalue);
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  return context->limits().Set(limit, value);
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
  const auto peer = AllHandles<Context>().Find(peerContext);
  if (peer == nullptr || peer == context) return CUDA_ERROR_INVALID_CONTEXT;
  return context->EnablePeer(peer->uid()) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuCtxDisablePeerAccess(CUcontext peerContext) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  const auto peer = AllHandles<Context>().Find(peerContext);
  if (peer == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return context->DisablePeer(peer->uid()) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult cuCtxResetPersistingL2Cache() { return CUDA_SUCCESS; }

}  // namespace api
}  // namespace memprof::simcuda
