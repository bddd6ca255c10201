// A libcupti that tests control.
#include "tests/cupti/fake_cupti.h"

#include <cstdio>

#include "cupti_hooks/src/callback_table.h"
#include "cupti_hooks/src/cupti_state.h"
#include "simcuda/cupti/newer_cupti.h"

using memprof::cupti_test::FakeCuptiControls;

namespace {

FakeCuptiControls g_controls;

struct Params {  // CUpti_SubscriberParams with the field of 13.2
  std::size_t size;
  const char* name;
  char* old_name;
  std::size_t old_name_size;
  std::uint8_t multiple;
};

const char* NameOf(std::uint32_t cbid) {
  switch (cbid) {
#define FAKE_CUPTI_NAME(name, id, ...) \
  case id:                             \
    return #name;
    MEMPROF_CUPTI_CALLBACKS(FAKE_CUPTI_NAME)
#undef FAKE_CUPTI_NAME
    default:
      return nullptr;
  }
}

CUptiResult Subscribed(int result, CUpti_SubscriberHandle* subscriber,
                       CUpti_CallbackFunc callback) {
  if (g_controls.in_subscribe != nullptr) g_controls.in_subscribe();
  if (result != 0) return static_cast<CUptiResult>(result);
  g_controls.callback = callback;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&g_controls);
  return CUPTI_SUCCESS;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

FakeCuptiControls* fake_cupti_controls() { return &g_controls; }

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void*) {
  ++g_controls.subscribe_calls;
  return Subscribed(g_controls.subscribe_result, subscriber, callback);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                              void*, CUpti_SubscriberParams* given) {
  const auto* params = reinterpret_cast<const Params*>(given);
  g_controls.struct_size = params->size;
  const bool multiple = params->size > 32 && params->multiple != 0;
  ++(multiple ? g_controls.multiple_calls : g_controls.subscribe_v2_calls);
  const int result = multiple ? g_controls.multiple_result : g_controls.subscribe_v2_result;
  if (result == 39) {
    std::snprintf(params->old_name, params->old_name_size, "%s", g_controls.other_subscriber);
  }
  return Subscribed(result, subscriber, callback);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  ++g_controls.unsubscribe_calls;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  if (g_controls.enable_result != 0) return static_cast<CUptiResult>(g_controls.enable_result);
  const auto on = static_cast<std::uint8_t>(enable);
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API) g_controls.driver_on[cbid] = on;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) g_controls.resource_on[cbid] = on;
  if (domain == memprof::cupti::kDomainState) g_controls.state_on[cbid] = on;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) {
  ++g_controls.domains_enabled;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t cbid, const char** name) {
  *name = cbid < g_controls.known_cbids ? NameOf(cbid) : nullptr;
  if (cbid == g_controls.renamed_cbid) *name = "cuSomethingElse";
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = g_controls.version;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_TEST";
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t* device) {
  *device = static_cast<uint32_t>(reinterpret_cast<std::uintptr_t>(context) & 7);
  return CUPTI_SUCCESS;
}

}  // extern "C"
#pragma GCC visibility pop
