// The callback API of CUPTI as exported functions.
#include <cupti_activity.h>
#include <cupti_callbacks.h>

#include <initializer_list>

#include "simcuda/cupti/driver.h"
#include "simcuda/cupti/newer_cupti.h"
#include "simcuda/cupti/subscriber.h"

namespace sim = memprof::simcuda_cupti;

extern "C" {

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                                    void* userdata) {
  return sim::Subscribe(subscriber, callback, userdata, nullptr, nullptr, 0);
}

CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber,
                                       CUpti_CallbackFunc callback, void* userdata,
                                       CUpti_SubscriberParams* params) {
  if (params == nullptr) {
    return sim::Subscribe(subscriber, callback, userdata, nullptr, nullptr, 0);
  }
  if (params->structSize < CUpti_SubscriberParams_STRUCT_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
  return sim::Subscribe(subscriber, callback, userdata, params->subscriberName,
                        params->oldSubscriberName, params->oldSubscriberSize);
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  return sim::Unsubscribe(subscriber);
}

CUptiResult CUPTIAPI cuptiFinalize() {
  sim::RemoveSubscriber();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  if (!sim::IsSubscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  return sim::EnableCallback(enable != 0, domain, cbid);
}

CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain) {
  if (!sim::IsSubscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  return sim::EnableDomain(enable != 0, domain);
}

CUptiResult CUPTIAPI cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber) {
  if (!sim::IsSubscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  for (const CUpti_CallbackDomain domain :
       {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE, sim::kDomainState}) {
    const CUptiResult result = sim::EnableDomain(enable != 0, domain);
    if (result != CUPTI_SUCCESS) return result;
  }
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetCallbackState(uint32_t* enable, CUpti_SubscriberHandle subscriber,
                                           CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  if (!sim::IsSubscriber(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  return sim::CallbackState(domain, cbid, enable);
}

CUptiResult CUPTIAPI cuptiSupportedDomains(size_t* count, CUpti_DomainTable* table) {
  static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE,
                                           sim::kDomainState};
  if (count == nullptr || table == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *count = sizeof domains / sizeof domains[0];
  *table = domains;
  return CUPTI_SUCCESS;
}

// As the real one: only the API domains have names.
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid,
                                          const char** name) {
  if (name == nullptr || domain != CUPTI_CB_DOMAIN_DRIVER_API) return CUPTI_ERROR_INVALID_PARAMETER;
  const sim::Driver* driver = sim::FindDriver();
  if (driver == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const char* found = cbid == 0 ? "INVALID" : driver->api_name(cbid);
  if (found == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = found;
  return CUPTI_SUCCESS;
}

}  // extern "C"
