// The single subscriber of the stand-in libcupti, and the callbacks that it enabled.
#pragma once

#include <cupti_callbacks.h>

#include <cstdint>

namespace memprof::simcuda_cupti {

// Subscribes; `name` may be null. If there is a subscriber, returns
// CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED and writes its name to `old_name`, unless null.
CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                      void* userdata, const char* name, char* old_name, size_t old_name_size);
// Waits until no callback runs on other threads.
CUptiResult Unsubscribe(CUpti_SubscriberHandle subscriber);
// Removes any subscriber, for cuptiFinalize.
void RemoveSubscriber();

bool IsSubscriber(CUpti_SubscriberHandle subscriber);
CUptiResult EnableCallback(bool on, CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
CUptiResult EnableDomain(bool on, CUpti_CallbackDomain domain);
CUptiResult CallbackState(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, uint32_t* on);

}  // namespace memprof::simcuda_cupti
