// Subscription, enabled callbacks, and their delivery in CUPTI's structs.
#include "simcuda/cupti/subscriber.h"

#include <atomic>
#include <cstdio>
#include <mutex>

#include "simcuda/cupti/driver.h"
#include "simcuda/cupti/newer_cupti.h"

// A handle that callers can only compare.
struct CUpti_Subscriber_st {
  int unused;
};

namespace memprof::simcuda_cupti {
namespace {

constexpr uint32_t kMaxDriverCbid = 4096;
constexpr uint32_t kMaxOtherCbid = 64;

CUpti_Subscriber_st g_subscriber;

std::mutex& Mutex() {
  static std::mutex* mutex = new std::mutex;  // outlives exit handlers of other code
  return *mutex;
}

// Guarded by Mutex(): whether there is a subscriber, and its name.
bool g_taken = false;
char g_name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
bool g_driver_on[kMaxDriverCbid];

// Read by callbacks; the driver stops them before any of these changes.
CUpti_CallbackFunc g_callback = nullptr;
void* g_userdata = nullptr;
std::atomic<uint64_t> g_resource_on{0};
std::atomic<uint64_t> g_state_on{0};

void OnApi(void*, const simcuda_api_call* call) {
  int result = call->exit != 0 && call->result != nullptr ? *call->result : 0;
  CUpti_CallbackData data{};
  data.callbackSite = call->exit != 0 ? CUPTI_API_EXIT : CUPTI_API_ENTER;
  data.functionName = call->function;
  data.functionParams = call->params;
  data.functionReturnValue = call->exit != 0 ? &result : nullptr;
  data.symbolName = call->symbol;
  data.context = static_cast<CUcontext>(call->context);
  data.contextUid = call->context_uid;
  data.correlationData = call->correlation_data;
  data.correlationId = call->correlation_id;
  g_callback(g_userdata, CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &data);
}

void OnResource(void*, const simcuda_resource_event* event) {
  if (event->cbid >= kMaxOtherCbid || ((g_resource_on.load() >> event->cbid) & 1) == 0) return;
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(event->context);
  data.resourceHandle.stream = static_cast<CUstream>(event->stream);
  CUpti_ModuleResourceData module{};
  if (event->cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED ||
      event->cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING ||
      event->cbid == CUPTI_CBID_RESOURCE_MODULE_PROFILED) {
    module.moduleId = event->module_id;
    module.cubinSize = event->image_bytes;
    module.pCubin = static_cast<const char*>(event->image);
    data.resourceDescriptor = &module;
  }
  g_callback(g_userdata, CUPTI_CB_DOMAIN_RESOURCE, event->cbid, &data);
}

constexpr simcuda_listener kListener = {nullptr, &OnApi, &OnResource};

void DisableAll(const Driver& driver) {
  for (uint32_t cbid = 0; cbid < kMaxDriverCbid; ++cbid) {
    if (g_driver_on[cbid]) driver.enable_api(cbid, 0);
    g_driver_on[cbid] = false;
  }
  driver.enable_resources(0);
  g_resource_on = 0;
  g_state_on = 0;
}

void RemoveLocked() {
  const Driver* driver = FindDriver();
  if (!g_taken || driver == nullptr) return;
  DisableAll(*driver);
  driver->set_listener(nullptr);  // no callback runs after this
  g_taken = false;
}

void SetBit(std::atomic<uint64_t>* bits, uint32_t bit, bool on) {
  if (on) {
    bits->fetch_or(uint64_t{1} << bit);
  } else {
    bits->fetch_and(~(uint64_t{1} << bit));
  }
}

CUptiResult EnableLocked(const Driver& driver, bool on, CUpti_CallbackDomain domain,
                         CUpti_CallbackId cbid) {
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      if (cbid == 0 || cbid >= kMaxDriverCbid || driver.api_name(cbid) == nullptr) {
        return CUPTI_ERROR_INVALID_PARAMETER;
      }
      g_driver_on[cbid] = on;
      driver.enable_api(cbid, on ? 1 : 0);
      return CUPTI_SUCCESS;
    case CUPTI_CB_DOMAIN_RESOURCE:
      if (cbid == 0 || cbid >= CUPTI_CBID_RESOURCE_SIZE) return CUPTI_ERROR_INVALID_PARAMETER;
      SetBit(&g_resource_on, cbid, on);
      driver.enable_resources(g_resource_on.load() != 0 ? 1 : 0);
      return CUPTI_SUCCESS;
    case kDomainState:  // may be enabled; nothing of this kind happens here
      if (cbid == 0 || cbid >= kStateIdEnd) return CUPTI_ERROR_INVALID_PARAMETER;
      SetBit(&g_state_on, cbid, on);
      return CUPTI_SUCCESS;
    case CUPTI_CB_DOMAIN_RUNTIME_API:
    case CUPTI_CB_DOMAIN_SYNCHRONIZE:
    case CUPTI_CB_DOMAIN_NVTX:
      return CUPTI_ERROR_NOT_SUPPORTED;
    default:
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

}  // namespace

CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                      void* userdata, const char* name, char* old_name, size_t old_name_size) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const Driver* driver = FindDriver();
  if (driver == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const std::lock_guard lock(Mutex());
  if (g_taken) {
    if (old_name != nullptr && old_name_size != 0) {
      std::snprintf(old_name, old_name_size, "%s", g_name);
    }
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (callback == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  g_callback = callback;
  g_userdata = userdata;
  if (driver->set_listener(&kListener) != 0) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  g_taken = true;
  std::snprintf(g_name, sizeof g_name, "CUPTI for %.*s", CUPTI_SUBSCRIBER_NAME_MAX_LEN,
                name == nullptr ? "unnamed" : name);
  *subscriber = &g_subscriber;
  return CUPTI_SUCCESS;
}

CUptiResult Unsubscribe(CUpti_SubscriberHandle subscriber) {
  const std::lock_guard lock(Mutex());
  if (subscriber != &g_subscriber || !g_taken) return CUPTI_ERROR_INVALID_PARAMETER;
  RemoveLocked();
  return CUPTI_SUCCESS;
}

void RemoveSubscriber() {
  const std::lock_guard lock(Mutex());
  RemoveLocked();
}

bool IsSubscriber(CUpti_SubscriberHandle subscriber) {
  const std::lock_guard lock(Mutex());
  return g_taken && subscriber == &g_subscriber;
}

CUptiResult EnableCallback(bool on, CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  const Driver* driver = FindDriver();
  if (driver == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const std::lock_guard lock(Mutex());
  return EnableLocked(*driver, on, domain, cbid);
}

CUptiResult EnableDomain(bool on, CUpti_CallbackDomain domain) {
  const Driver* driver = FindDriver();
  if (driver == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  const std::lock_guard lock(Mutex());
  // The driver knows the valid ids; the result for the first one is also that for the domain.
  const CUptiResult result = EnableLocked(*driver, on, domain, 1);
  if (result != CUPTI_SUCCESS) return result;
  const uint32_t end = domain == CUPTI_CB_DOMAIN_DRIVER_API ? kMaxDriverCbid : kMaxOtherCbid;
  for (uint32_t cbid = 2; cbid < end; ++cbid) EnableLocked(*driver, on, domain, cbid);
  return CUPTI_SUCCESS;
}

CUptiResult CallbackState(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, uint32_t* on) {
  if (on == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(Mutex());
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
      if (cbid >= kMaxDriverCbid) return CUPTI_ERROR_INVALID_PARAMETER;
      *on = g_driver_on[cbid] ? 1 : 0;
      return CUPTI_SUCCESS;
    case CUPTI_CB_DOMAIN_RESOURCE:
    case kDomainState: {
      if (cbid >= kMaxOtherCbid) return CUPTI_ERROR_INVALID_PARAMETER;
      const auto& bits = domain == CUPTI_CB_DOMAIN_RESOURCE ? g_resource_on : g_state_on;
      *on = static_cast<uint32_t>((bits.load() >> cbid) & 1);
      return CUPTI_SUCCESS;
    }
    default:
      return CUPTI_ERROR_INVALID_PARAMETER;
  }
}

}  // namespace memprof::simcuda_cupti
