// A guest that subscribes to CUPTI before it uses CUDA, like a program under another profiler, and
// prints how many callbacks it got for one allocation and one free.
#include <cuda.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>

#include <cstdio>
#include <initializer_list>

#include "simcuda/cupti/newer_cupti.h"

namespace {

int g_callbacks = 0;

void Count(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) { ++g_callbacks; }

}  // namespace

int main() {
  CUpti_SubscriberHandle subscriber = nullptr;
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "holder";
  if (cuptiSubscribe_v2(&subscriber, &Count, nullptr, &params) != CUPTI_SUCCESS) return 3;
  for (const CUpti_CallbackId cbid :
       {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2}) {
    if (cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, cbid) != CUPTI_SUCCESS) {
      return 4;
    }
  }
  CUcontext context = nullptr;
  CUdeviceptr address = 0;
  if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
      cuCtxSetCurrent(context) != CUDA_SUCCESS || cuMemAlloc(&address, 1000) != CUDA_SUCCESS ||
      cuMemFree(address) != CUDA_SUCCESS) {
    return 5;
  }
  std::printf("%d callbacks\n", g_callbacks);
}
