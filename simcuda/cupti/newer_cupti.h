// Names of newer CUPTI headers for builds with older toolkits: the stand-in is always a
// libcupti.so.13.
#pragma once

#include <cupti_callbacks.h>
#include <cupti_version.h>

#include <cstddef>

namespace memprof::simcuda_cupti {

// The domain of CUPTI's own state, which CUDA 11.8 does not have yet.
inline constexpr auto kDomainState = static_cast<CUpti_CallbackDomain>(6);
inline constexpr CUpti_CallbackId kStateIdEnd = 4;

}  // namespace memprof::simcuda_cupti

#if CUPTI_API_VERSION < 130000
#define CUPTI_SUBSCRIBER_NAME_MAX_LEN 53
#define CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN 64
struct CUpti_SubscriberParams {
  size_t structSize;
  const char* subscriberName;
  char* oldSubscriberName;
  size_t oldSubscriberSize;
};
#define CUpti_SubscriberParams_STRUCT_SIZE sizeof(CUpti_SubscriberParams)
extern "C" __attribute__((visibility("default"))) CUptiResult CUPTIAPI
cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata,
                  CUpti_SubscriberParams* params);
#endif
