// A subscriber of the stand-in libcupti, and the callbacks that it received.
#pragma once

#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "simcuda/cupti/newer_cupti.h"
#include "tests/cupti/guest_calls.h"
#include "tests/cupti/process.h"

namespace memprof::cupti_test {

inline constexpr CUpti_CallbackId kMemAlloc = CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2;
inline constexpr CUpti_CallbackId kLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;

struct Seen {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId cbid;
  CUpti_ApiCallbackSite site;
  std::string function;
  std::string symbol;
  CUcontext context;
  std::uint32_t context_uid;
  std::uint32_t correlation_id;
  std::uint64_t correlation_data;
  int result;
  cuMemAlloc_v2_params alloc;
  CUpti_ModuleResourceData module;
};
inline std::vector<Seen> g_seen;

inline void Note(void* user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
                 const void* untyped) {
  EXPECT_EQ(user, &g_seen);
  Seen seen{};
  seen.domain = domain;
  seen.cbid = cbid;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    const auto& data = *static_cast<const CUpti_CallbackData*>(untyped);
    seen.site = data.callbackSite;
    seen.function = data.functionName;
    seen.symbol = data.symbolName == nullptr ? "" : data.symbolName;
    seen.context = data.context;
    seen.context_uid = data.contextUid;
    seen.correlation_id = data.correlationId;
    if (data.callbackSite == CUPTI_API_ENTER) *data.correlationData = 1000 + data.correlationId;
    seen.correlation_data = *data.correlationData;
    seen.result = data.callbackSite == CUPTI_API_EXIT
                      ? *static_cast<const int*>(data.functionReturnValue)
                      : -1;
    if (cbid == kMemAlloc) std::memcpy(&seen.alloc, data.functionParams, sizeof seen.alloc);
  } else {
    const auto& data = *static_cast<const CUpti_ResourceData*>(untyped);
    seen.context = data.context;
    if (data.resourceDescriptor != nullptr) {
      seen.module = *static_cast<const CUpti_ModuleResourceData*>(data.resourceDescriptor);
    }
  }
  g_seen.push_back(seen);
}

inline CUpti_SubscriberHandle Subscribe() {
  CUpti_SubscriberHandle subscriber = nullptr;
  EXPECT_EQ(cuptiSubscribe(&subscriber, &Note, &g_seen), CUPTI_SUCCESS);
  g_seen.clear();
  return subscriber;
}

inline void Enable(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                   CUpti_CallbackId cbid) {
  EXPECT_EQ(cuptiEnableCallback(1, subscriber, domain, cbid), CUPTI_SUCCESS);
}

}  // namespace memprof::cupti_test
