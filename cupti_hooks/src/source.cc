// Starting, stopping, and what can go wrong in between: another subscriber, a cuptiFinalize by
// somebody else, a fatal error inside CUPTI, a fork, the end of the process.
//
// One lock serialises everything that calls CUPTI. Callbacks never take it: whoever wants to stop
// from inside one (or while the lock is taken) leaves a request that the holder of the lock
// carries out. Callbacks that are still running after a stop are harmless: this library is never
// unloaded, and recording when nothing records does nothing.
#include "cupti_hooks/src/source.h"

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "cupti_hooks/src/address_map.h"
#include "cupti_hooks/src/callbacks.h"
#include "cupti_hooks/src/cupti_library.h"
#include "cupti_hooks/src/cupti_state.h"
#include "cupti_hooks/src/graph_handlers.h"
#include "cupti_hooks/src/kernel_arguments.h"
#include "cupti_hooks/src/log_values.h"
#include "cupti_hooks/src/recorder.h"
#include "cupti_hooks/src/vmm_handlers.h"
#include "libmemprof/src/source_api.h"
#include "libmemprof/src/sys.h"

namespace memprof::cupti {
namespace {

constexpr char kSourceName[] = "cupti";
constexpr std::uint32_t kMultipleSubscribersSince = 130200;

pthread_mutex_t g_control = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> g_stop_requested{false};
std::atomic<bool> g_exiting{false};
std::atomic<bool> g_forked{false};  // after a subscription: CUDA and CUPTI are the parent's
std::atomic<bool> g_lost{false};    // CUPTI finalised itself

// Guarded by g_control.
bool g_loaded = false;
CuptiLibrary g_cupti;
CUpti_SubscriberHandle g_subscriber = nullptr;
bool g_subscribed = false;
bool g_heartbeat_known = false;  // a heartbeat was heard once, so its absence means something

// Read by callbacks.
std::atomic<CUptiResult (*)(CUcontext, std::uint32_t*)> g_get_device_id{nullptr};

void Say(std::uint32_t state, const char* detail) {
  Recorder()->source_state(kSourceName, state, detail);
}

int Refuse(const char* why) {
  Say(kSourceRefused, why);  // the recorder counts refusals
  return 1;
}

const char* ResultText(CUptiResult result) {
  const char* text = nullptr;
  if (g_cupti.get_result_string(result, &text) != CUPTI_SUCCESS || text == nullptr)
    return "unknown";
  return text;
}

CUptiResult SubscribeBy(bool multiple, char* other, std::size_t other_size) {
  SubscriberParams params{};
  params.structSize = offsetof(SubscriberParams, allowMultipleSubscribers);
  params.subscriberName = "memprof";
  params.oldSubscriberName = other;
  params.oldSubscriberSize = other_size;
  if (multiple) {
    params.allowMultipleSubscribers = 1;
    params.structSize += sizeof params.allowMultipleSubscribers;
  }
  return g_cupti.subscribe_v2(&g_subscriber, &OnCallback, nullptr, &params);
}

// Tries the ways of subscribing from the most to the least able one.
CUptiResult Subscribe(char* other, std::size_t other_size) {
  CUptiResult result = CUPTI_ERROR_INVALID_PARAMETER;
  if (g_cupti.subscribe_v2 != nullptr) {
    if (g_cupti.version >= kMultipleSubscribersSince) {
      result = SubscribeBy(true, other, other_size);
    }
    if (result == CUPTI_ERROR_INVALID_PARAMETER || result == CUPTI_ERROR_NOT_SUPPORTED) {
      result = SubscribeBy(false, other, other_size);
    }
  }
  if (result == CUPTI_ERROR_INVALID_PARAMETER || result == CUPTI_ERROR_NOT_SUPPORTED) {
    result = g_cupti.subscribe(&g_subscriber, &OnCallback, nullptr);
  }
  return result;
}

int RefuseSubscription(CUptiResult result, const char* other) {
  char why[1024];
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    std::snprintf(why, sizeof why,
                  "another profiler holds CUPTI%s%s%s, and it serves one at a time (error 39)",
                  other[0] == '\0' ? "" : " (", other, other[0] == '\0' ? "" : ")");
  } else {
    std::snprintf(why, sizeof why, "%s: cuptiSubscribe: error %d, %s", g_cupti.path,
                  static_cast<int>(result), ResultText(result));
  }
  return Refuse(why);
}

bool Wanted(const CallbackEntry& entry, bool allocations) {
  return entry.group != Group::kLedger || allocations;
}

// Enables each callback of the table that this CUPTI knows by the same name. Returns how many.
unsigned EnableCallbacks(bool allocations, unsigned* unknown) {
  unsigned enabled = 0;
  for (const CallbackEntry& entry : Callbacks()) {
    const char* name = nullptr;
    if (g_cupti.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, entry.cbid, &name) != CUPTI_SUCCESS ||
        name == nullptr || std::strcmp(name, entry.name) != 0) {
      ++*unknown;
      continue;
    }
    const std::uint32_t on = Wanted(entry, allocations) ? 1 : 0;
    if (g_cupti.enable_callback(on, g_subscriber, CUPTI_CB_DOMAIN_DRIVER_API, entry.cbid) ==
        CUPTI_SUCCESS) {
      enabled += on;
    }
  }
  for (const CUpti_CallbackIdResource cbid :
       {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
        CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING}) {
    g_cupti.enable_callback(1, g_subscriber, CUPTI_CB_DOMAIN_RESOURCE, cbid);
  }
  // Older CUPTIs do not have this domain; they then cannot say that they gave up.
  g_cupti.enable_callback(1, g_subscriber, kDomainState, kStateFatalError);
  return enabled;
}

// Whether a driver call of ours comes back as a callback. CUPTI is not asked: somebody may have
// finalised it, and our subscriber handle would then be stale.
bool HeartbeatArrives() {
  if (Driver().get_version == nullptr) return false;
  const unsigned before = HeartbeatsSeen();
  int version = 0;
  AwaitHeartbeat(true);
  Driver().get_version(&version);
  AwaitHeartbeat(false);
  return HeartbeatsSeen() != before;
}

bool Load(char* why, std::size_t why_size) {
  if (g_loaded) return true;
  int driver_version = 0;
  if (Driver().get_version == nullptr || Driver().get_version(&driver_version) != 0) {
    driver_version = 0;
  }
  g_loaded = LoadCupti(driver_version, &g_cupti, why, why_size);
  return g_loaded;
}

void SayOn(bool allocations, unsigned enabled, unsigned unknown) {
  char detail[1024];
  char version[32];
  if (g_cupti.version >= 100000) {
    std::snprintf(version, sizeof version, "%u.%u", g_cupti.version / 10000,
                  g_cupti.version / 100 % 100);
  } else {
    std::snprintf(version, sizeof version, "API %u", g_cupti.version);
  }
  std::snprintf(detail, sizeof detail,
                "CUPTI %s, %s: %u driver functions%s; %u not known to it; kernel arguments %s",
                version, g_cupti.path, enabled, allocations ? ", allocations among them" : "",
                unknown,
                Driver().function_parameter != nullptr ? "by their layout"
                                                       : "only where packed (older driver)");
  Say(kSourceOn, detail);
}

// Inside a callback CUPTI is alive, and another callback may not come: nothing to find out.
bool SubscriptionLost(bool in_callback) {
  return g_lost.load() || (g_heartbeat_known && !in_callback && !HeartbeatArrives());
}

// Under the lock.
void StopLocked(bool in_callback) {
  SetListening(Listening::kNothing);
  if (!g_subscribed) return;
  g_subscribed = false;
  const bool lost = SubscriptionLost(in_callback);
  if (!lost && !g_exiting.load() && !g_forked.load()) g_cupti.unsubscribe(g_subscriber);
  g_subscriber = nullptr;
  if (!g_lost.load()) Say(kSourceOff, "stopped");
}

int SubscribeLocked(bool allocations) {
  char why[1024] = "";
  OpenVmmLedger();
  OpenGraphLedger();
  if (!OpenAddressMap()) return Refuse("no address space for the map of device memory");
  if (!Load(why, sizeof why)) return Refuse(why);
  char other[128] = "";
  const CUptiResult result = Subscribe(other, sizeof other);
  other[sizeof other - 1] = '\0';
  if (result != CUPTI_SUCCESS) return RefuseSubscription(result, other);
  g_subscribed = true;
  g_lost.store(false);
  ForgetKernelHandles();
  g_get_device_id.store(g_cupti.get_device_id);
  unsigned unknown = 0;
  const unsigned enabled = EnableCallbacks(allocations, &unknown);
  if (enabled == 0) {
    g_cupti.unsubscribe(g_subscriber);
    g_subscribed = false;
    std::snprintf(why, sizeof why, "%s lets no callback be enabled", g_cupti.path);
    return Refuse(why);
  }
  SetListening(allocations ? Listening::kEverything : Listening::kUses);
  g_heartbeat_known = HeartbeatArrives();
  SayOn(allocations, enabled, unknown);
  return 0;
}

int StartLocked(bool allocations) {
  if (g_forked.load()) {
    return Refuse("the process forked after CUPTI was in use: it belongs to the parent");
  }
  if (g_exiting.load()) return 1;  // nobody reads the reason any more
  LookUpDriver();
  if (g_subscribed) {
    if (!SubscriptionLost(false)) {
      // Running: only the share of the work may change.
      const Listening listening = allocations ? Listening::kEverything : Listening::kUses;
      if (CurrentListening() != listening) {
        unsigned unknown = 0;
        const unsigned enabled = EnableCallbacks(allocations, &unknown);
        SetListening(listening);
        SayOn(allocations, enabled, unknown);
      }
      g_heartbeat_known = g_heartbeat_known || HeartbeatArrives();
      return 0;
    }
    SetListening(Listening::kNothing);
    g_subscribed = false;
    if (!g_lost.load()) {
      Say(kSourceLost, "callbacks stopped coming: CUPTI was finalised by another user of it");
    }
  }
  return SubscribeLocked(allocations);
}

// Takes the lock, or leaves a request to its holder. False when the lock was not taken.
bool Enter() {
  if (InsideSource()) return pthread_mutex_trylock(&g_control) == 0;
  return pthread_mutex_lock(&g_control) == 0;
}

void Leave(bool in_callback) {
  // A request that comes in after this look is carried out by its own author, who then finds the
  // lock free or another holder.
  for (;;) {
    if (g_stop_requested.exchange(false)) StopLocked(in_callback);
    pthread_mutex_unlock(&g_control);
    if (!g_stop_requested.load() || pthread_mutex_trylock(&g_control) != 0) return;
  }
}

int Start(int allocations) {
  // From inside a callback of ours nothing can be started.
  if (InsideSource() || !Enter()) return 1;
  const InsideSourceScope inside;
  const recorder::ErrnoKeeper keeper;
  g_stop_requested.store(false);
  const int result = StartLocked(allocations != 0);
  const bool stopped = g_stop_requested.load();
  Leave(false);
  return stopped ? 1 : result;
}

void Stop() {
  const bool in_callback = InsideSource();
  SetListening(Listening::kNothing);
  g_stop_requested.store(true);
  if (!Enter()) return;
  const InsideSourceScope inside;
  const recorder::ErrnoKeeper keeper;
  Leave(in_callback);
}

// The driver and CUPTI take themselves down in exit handlers of their own, at a time that nobody
// knows: from here on neither is called. Callbacks that still come are recorded.
void OnExit() {
  g_exiting.store(true);
  ForbidDriverCalls();
  g_get_device_id.store(nullptr);
}

void OnForkInChild() {
  pthread_mutex_init(&g_control, nullptr);
  g_stop_requested.store(false);
  SetListening(Listening::kNothing);
  if (!g_subscribed) return;
  g_forked.store(true);
  g_subscribed = false;
  ForbidDriverCalls();
  g_get_device_id.store(nullptr);
}

constexpr SourceApi kSource = {kSourceApiVersion, &Start, &Stop};

}  // namespace

void OnFatalError(int result, const char* message) {
  SetListening(Listening::kNothing);
  g_lost.store(true);
  char detail[512];
  std::snprintf(detail, sizeof detail, "CUPTI gave up with error %d%s%s", result,
                message == nullptr ? "" : ": ", message == nullptr ? "" : message);
  Say(kSourceLost, detail);
}

std::int32_t DeviceOfContext(CUcontext context) {
  const auto get_device_id = g_get_device_id.load();
  std::uint32_t device = 0;
  if (get_device_id == nullptr || context == nullptr ||
      get_device_id(context, &device) != CUPTI_SUCCESS) {
    return kCurrentDevice;
  }
  return static_cast<std::int32_t>(device);
}

}  // namespace memprof::cupti

extern "C" __attribute__((visibility("default"))) const memprof::SourceApi* memprof_source_open(
    const memprof::RecorderApi* recorder) {
  using namespace memprof::cupti;
  if (recorder == nullptr || recorder->version != memprof::kSourceApiVersion) return nullptr;
  static std::atomic<bool> opened{false};
  SetRecorder(recorder);
  if (!opened.exchange(true)) {
    pthread_atfork(nullptr, nullptr, &OnForkInChild);
    std::atexit(&OnExit);
  }
  return &kSource;
}
