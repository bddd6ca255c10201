// Starts and stops the source, and handles what may happen in between: another subscriber, a
// cuptiFinalize by other code, a fatal error inside CUPTI, a fork, the end of the process.
//
// The recorder checks once a second whether the subscription is alive; a lost one is taken again.
// Two checks in a row without a callback count as a loss, so that the source does not subscribe
// while a cuptiFinalize still runs.
//
// One lock serialises all calls of CUPTI. Callbacks never take it: a thread that has to stop the
// source inside a callback, or while the lock is taken, leaves a request that the holder of the
// lock carries out. Callbacks that still run after a stop are harmless: this library is never
// unloaded, and without a recording the recorder ignores events.
#include "cupti_hooks/src/source.h"

#include <pthread.h>
#include <time.h>

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
#include "cupti_hooks/src/kernel_arguments.h"
#include "cupti_hooks/src/recorder.h"
#include "cupti_hooks/src/subscription.h"
#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/source_api/source_api.h"
#include "proto/anomalies.h"

namespace memprof::cupti {
namespace {

constexpr char kSourceName[] = "cupti";
constexpr int kSilentChecks = 2;
// After so many losses the source leaves CUPTI to its other users.
constexpr int kMaxRegained = 8;

pthread_mutex_t g_control = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> g_stop_requested{false};
std::atomic<bool> g_exiting{false};
std::atomic<bool> g_forked{false};  // after a subscription: CUDA and CUPTI belong to the parent
std::atomic<bool> g_lost{false};    // CUPTI has finalised itself

// Guarded by g_control.
bool g_loaded = false;
CuptiLibrary g_cupti;
CUpti_SubscriberHandle g_subscriber = nullptr;
bool g_subscribed = false;
// a heartbeat has arrived before, so that a missing one means a loss
bool g_heartbeat_known = false;
SourceScope g_scope{};          // of the last start
bool g_regain = false;          // lost since the last start, and to be taken again
bool g_regain_refused = false;  // that this failed was reported
int g_silent_checks = 0;
int g_losses = 0;

// Read in callbacks.
std::atomic<CUptiResult (*)(CUcontext, std::uint32_t*)> g_get_device_id{nullptr};

void ReportState(std::uint32_t state, const char* detail) {
  Recorder()->source_state(kSourceName, state, detail);
}

// While a lost CUPTI cannot be taken again, the reason is reported only once.
int Refuse(const char* why) {
  if (!g_regain) {
    ReportState(kSourceRefused, why);  // the recorder counts refusals
  } else if (!g_regain_refused) {
    g_regain_refused = true;
    ReportState(kSourceLost, why);
  }
  return 1;
}

// Counts a loss once, from whichever thread.
void CountLoss() { Recorder()->count_anomaly(static_cast<int>(log::Anomaly::kCuptiLost), 1); }

const char* ResultText(CUptiResult result) {
  const char* text = nullptr;
  if (g_cupti.get_result_string(result, &text) != CUPTI_SUCCESS || text == nullptr)
    return "unknown";
  return text;
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

// Whether a driver call of ours causes a callback. CUPTI itself is not queried: other code may have
// finalised it, and the subscriber handle would then be stale.
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

Listening ListeningFor(SourceScope scope) {
  if (scope == SourceScope::kAllocations) return Listening::kAllocations;
  return scope == SourceScope::kEverything ? Listening::kEverything : Listening::kUses;
}

const char* SuffixOf(SourceScope scope) {
  if (scope == SourceScope::kAllocations) return ", for allocations only";
  return scope == SourceScope::kEverything ? ", allocations among them" : "";
}

void ReportOn(SourceScope scope, unsigned enabled, unsigned unknown) {
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
                version, g_cupti.path, enabled, SuffixOf(scope), unknown,
                Driver().function_parameter != nullptr ? "by their layout"
                                                       : "only where packed (older driver)");
  ReportState(kSourceOn, detail);
}

// Inside a callback CUPTI is alive, and a nested callback may be suppressed: nothing to check.
bool SubscriptionLost(bool in_callback) {
  return g_lost.load() || (g_heartbeat_known && !in_callback && !HeartbeatArrives());
}

// Needs the lock.
void StopLocked(bool in_callback) {
  SetListening(Listening::kNothing);
  g_regain = false;
  if (!g_subscribed) return;
  g_subscribed = false;
  const bool lost = SubscriptionLost(in_callback);
  if (!lost && !g_exiting.load() && !g_forked.load()) g_cupti.unsubscribe(g_subscriber);
  g_subscriber = nullptr;
  if (lost && !g_lost.load()) CountLoss();
  if (!g_lost.load()) ReportState(kSourceOff, lost ? "stopped, after CUPTI was lost" : "stopped");
}

// The handle is stale: CUPTI must not be called with it any more.
void DropSubscriptionLocked() {
  SetListening(Listening::kNothing);
  g_subscribed = false;
  g_subscriber = nullptr;
  g_silent_checks = 0;
  ++g_losses;
  if (g_lost.load()) return;  // OnFatalError has reported it
  CountLoss();
  ReportState(kSourceLost, "callbacks stopped coming: CUPTI was finalised by another user of it");
}

int SubscribeLocked(SourceScope scope) {
  char why[1024] = "";
  if (!OpenAddressMap()) return Refuse("no address space for the map of device memory");
  if (!Load(why, sizeof why)) return Refuse(why);
  char other[128] = "";
  const CUptiResult result = Subscribe(g_cupti, &g_subscriber, other, sizeof other);
  other[sizeof other - 1] = '\0';
  if (result != CUPTI_SUCCESS) return RefuseSubscription(result, other);
  g_subscribed = true;
  g_lost.store(false);
  ClearKernelHandles();
  g_get_device_id.store(g_cupti.get_device_id);
  unsigned unknown = 0;
  const unsigned enabled = EnableCallbacks(g_cupti, g_subscriber, scope, &unknown);
  if (enabled == 0) {
    g_cupti.unsubscribe(g_subscriber);
    g_subscribed = false;
    std::snprintf(why, sizeof why, "%s lets no callback be enabled", g_cupti.path);
    return Refuse(why);
  }
  g_regain = false;
  g_regain_refused = false;
  g_silent_checks = 0;
  SetListening(ListeningFor(scope));
  g_heartbeat_known = HeartbeatArrives();
  ReportOn(scope, enabled, unknown);
  return 0;
}

int StartLocked(SourceScope scope) {
  if (g_forked.load()) {
    return Refuse("the process forked after CUPTI was in use: it belongs to the parent");
  }
  if (g_exiting.load()) return 1;  // nobody reads the reason at exit
  LookUpDriver();
  g_scope = scope;
  g_losses = 0;
  g_regain = false;
  if (g_subscribed) {
    if (!SubscriptionLost(false)) {
      // Already running: only what it records may change.
      const Listening listening = ListeningFor(scope);
      if (CurrentListening() != listening) {
        unsigned unknown = 0;
        const unsigned enabled = EnableCallbacks(g_cupti, g_subscriber, scope, &unknown);
        SetListening(listening);
        ReportOn(scope, enabled, unknown);
      }
      g_heartbeat_known = g_heartbeat_known || HeartbeatArrives();
      return 0;
    }
    DropSubscriptionLocked();
  }
  return SubscribeLocked(scope);
}

void CheckLocked() {
  if (g_exiting.load() || g_forked.load()) return;
  if (g_subscribed) {
    if (!SubscriptionLost(false)) {
      g_silent_checks = 0;
      return;
    }
    if (++g_silent_checks < kSilentChecks) return;
    DropSubscriptionLocked();
    g_regain = g_losses <= kMaxRegained;
    if (!g_regain)
      ReportState(kSourceLost, "CUPTI was lost too often, and is left to its other users");
    return;  // not at once
  }
  if (g_regain) SubscribeLocked(g_scope);
}

// Takes the lock, or leaves a request to its holder and returns false.
bool Enter() {
  if (InsideSource()) return pthread_mutex_trylock(&g_control) == 0;
  return pthread_mutex_lock(&g_control) == 0;
}

void Leave(bool in_callback) {
  // A request that arrives after this check is carried out by the thread that made it: it then
  // finds the lock free, or another holder.
  for (;;) {
    if (g_stop_requested.exchange(false)) StopLocked(in_callback);
    pthread_mutex_unlock(&g_control);
    if (!g_stop_requested.load() || pthread_mutex_trylock(&g_control) != 0) return;
  }
}

int Start(SourceScope scope) {
  // Nothing can be started inside a callback of ours.
  if (InsideSource() || !Enter()) return 1;
  const InsideSourceScope inside;
  const recorder::SystemSection section;
  g_stop_requested.store(false);
  const int result = StartLocked(scope);
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
  const recorder::SystemSection section;
  Leave(in_callback);
}

// Never waits: a thread that starts or stops the source at this moment makes the check itself.
void Check() {
  if (InsideSource() || pthread_mutex_trylock(&g_control) != 0) return;
  const InsideSourceScope inside;
  const recorder::SystemSection section;
  CheckLocked();
  Leave(false);
}

// The driver and CUPTI shut down in exit handlers of their own, in an unknown order: from here on
// neither is called. Callbacks that still arrive are recorded.
void OnExit() {
  g_exiting.store(true);
  // A check by the recorder's thread may be inside the driver: waits for its end, within a limit.
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  if (!InsideSource() && pthread_mutex_timedlock(&g_control, &until) == 0)
    pthread_mutex_unlock(&g_control);
  ForbidDriverCalls();
  g_get_device_id.store(nullptr);
}

void OnForkInChild() {
  pthread_mutex_init(&g_control, nullptr);
  g_stop_requested.store(false);
  SetListening(Listening::kNothing);
  g_regain = false;
  if (!g_subscribed) return;
  g_forked.store(true);
  g_subscribed = false;
  ForbidDriverCalls();
  g_get_device_id.store(nullptr);
}

constexpr SourceApi kSource = {kSourceApiVersion, &Start, &Stop, &Check};

}  // namespace

void OnFatalError(int result, const char* message) {
  SetListening(Listening::kNothing);
  if (!g_lost.exchange(true)) CountLoss();
  char detail[512];
  std::snprintf(detail, sizeof detail, "CUPTI gave up with error %d%s%s", result,
                message == nullptr ? "" : ": ", message == nullptr ? "" : message);
  ReportState(kSourceLost, detail);
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
