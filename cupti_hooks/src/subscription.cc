#include "cupti_hooks/src/subscription.h"

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "cupti_hooks/src/callback_table.h"
#include "cupti_hooks/src/callbacks.h"
#include "cupti_hooks/src/cupti_state.h"

namespace memprof::cupti {
namespace {

constexpr std::uint32_t kMultipleSubscribersSince = 130200;

CUptiResult SubscribeBy(const CuptiLibrary& cupti, CUpti_SubscriberHandle* subscriber,
                        bool multiple, char* other, std::size_t other_size) {
  SubscriberParams params{};
  params.structSize = offsetof(SubscriberParams, allowMultipleSubscribers);
  params.subscriberName = "memprof";
  params.oldSubscriberName = other;
  params.oldSubscriberSize = other_size;
  if (multiple) {
    params.allowMultipleSubscribers = 1;
    params.structSize += sizeof params.allowMultipleSubscribers;
  }
  return cupti.subscribe_v2(subscriber, &OnCallback, nullptr, &params);
}

bool Wanted(const CallbackEntry& entry, SourceScope scope) {
  if (scope == SourceScope::kAllocations)
    return entry.group != Group::kUse && entry.group != Group::kKernel;
  return scope == SourceScope::kEverything ||
         (entry.group != Group::kMemory && entry.group != Group::kContext);
}

}  // namespace

CUptiResult Subscribe(const CuptiLibrary& cupti, CUpti_SubscriberHandle* subscriber, char* other,
                      std::size_t other_size) {
  CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;
  if (cupti.subscribe_v2 != nullptr) {
    if (cupti.version >= kMultipleSubscribersSince) {
      result = SubscribeBy(cupti, subscriber, true, other, other_size);
    }
    if (result == CUPTI_ERROR_INVALID_PARAMETER || result == CUPTI_ERROR_NOT_SUPPORTED) {
      result = SubscribeBy(cupti, subscriber, false, other, other_size);
    }
  }
  if (result == CUPTI_ERROR_INVALID_PARAMETER || result == CUPTI_ERROR_NOT_SUPPORTED) {
    result = cupti.subscribe(subscriber, &OnCallback, nullptr);
  }
  return result;
}

unsigned EnableCallbacks(const CuptiLibrary& cupti, CUpti_SubscriberHandle subscriber,
                         SourceScope scope, unsigned* unknown) {
  unsigned enabled = 0;
  for (const CallbackEntry& entry : Callbacks()) {
    const char* name = nullptr;
    if (cupti.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, entry.cbid, &name) != CUPTI_SUCCESS ||
        name == nullptr || std::strcmp(name, entry.name) != 0) {
      ++*unknown;
      continue;
    }
    const std::uint32_t on = Wanted(entry, scope) ? 1 : 0;
    if (cupti.enable_callback(on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, entry.cbid) ==
        CUPTI_SUCCESS) {
      enabled += on;
    }
  }
  for (const CUpti_CallbackIdResource cbid :
       {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING}) {
    cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid);
  }
  // Older CUPTIs do not have this domain, and cannot report a fatal error.
  cupti.enable_callback(1, subscriber, kDomainState, kStateFatalError);
  return enabled;
}

}  // namespace memprof::cupti
