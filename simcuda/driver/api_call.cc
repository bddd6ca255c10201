// Dispatch of driver calls: initialisation state, faults on demand, the listener.
#include "simcuda/driver/api_call.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "simcuda/common/config.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/module.h"
#include "simcuda/driver/tables.h"

namespace memprof::simcuda {
namespace {

enum State : int { kFresh, kReady, kForked, kEnded };
std::atomic<int> g_state{kFresh};

constexpr unsigned kMaxCbid = 4096;
std::atomic<bool> g_api_on[kMaxCbid];
std::atomic<bool> g_resources_on{false};
std::atomic<const simcuda_listener*> g_listener{nullptr};
std::atomic<int> g_callbacks_running{0};
std::atomic<uint32_t> g_correlation{0};
thread_local int t_callbacks_running = 0;
thread_local bool t_per_thread_default = false;

// Keeps the listener alive during one callback; simcuda_set_listener waits for its end.
class ListenerUse {
 public:
  ListenerUse() {
    g_callbacks_running.fetch_add(1);
    ++t_callbacks_running;
    listener_ = g_listener.load();
  }
  ~ListenerUse() {
    --t_callbacks_running;
    g_callbacks_running.fetch_sub(1);
  }
  ListenerUse(const ListenerUse&) = delete;
  ListenerUse& operator=(const ListenerUse&) = delete;
  const simcuda_listener* get() const { return listener_; }

 private:
  const simcuda_listener* listener_;
};

struct FaultCounter {
  const Fault* fault;
  std::atomic<uint64_t> calls{0};
};

struct FaultTable {
  std::deque<FaultCounter> counters;
  FaultTable() {
    for (const Fault& fault : GlobalConfig(false).faults) counters.emplace_back().fault = &fault;
  }
};

const FaultTable& Faults() {
  static const FaultTable* table = new FaultTable;
  return *table;
}

// The result that the configuration sets for this call, or success.
CUresult CheckFaults(const char* name) {
  CUresult result = CUDA_SUCCESS;
  for (const FaultCounter& counter : Faults().counters) {
    if (counter.fault->function != name) continue;
    auto& calls = const_cast<std::atomic<uint64_t>&>(counter.calls);
    if (calls.fetch_add(1) + 1 == counter.fault->nth) {
      result = static_cast<CUresult>(counter.fault->result);
    }
  }
  return result;
}

// Functions that work before cuInit.
bool NeedsNoInit(const char* name) {
  for (const char* free : {"cuInit", "cuDriverGetVersion", "cuGetErrorString", "cuGetErrorName",
                           "cuGetProcAddress", "cuGetProcAddress_v2", "cuGetExportTable"}) {
    if (std::strcmp(name, free) == 0) return true;
  }
  return false;
}

// Whether a checkpoint blocks calls.
std::atomic<bool> g_held{false};

struct Held {
  std::mutex mutex;
  std::condition_variable changed;
};

Held& HeldCalls() {
  static auto* held = new Held;
  return *held;
}

void WaitWhileHeld(const char* name) {
  constexpr char kCheckpoint[] = "cuCheckpointProcess";
  if (NeedsNoInit(name) || std::strncmp(name, kCheckpoint, sizeof(kCheckpoint) - 1) == 0) return;
  Held& held = HeldCalls();
  std::unique_lock lock(held.mutex);
  held.changed.wait(lock, [] { return !g_held.load(); });
}

void Fork() {
  int expected = kReady;
  g_state.compare_exchange_strong(expected, kForked);
}

}  // namespace

ApiCall::ApiCall(int index, uint32_t cbid, const char* name, const void* params,
                 const void* launched)
    : name_(name), params_(params), launched_(launched), cbid_(cbid) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  if (cbid < kMaxCbid && g_api_on[cbid].load(std::memory_order_relaxed) &&
      t_callbacks_running == 0) {
    ReportEntry();
  }
  Check(index);
}

void ApiCall::Check(int index) {
  const int state = g_state.load(std::memory_order_relaxed);
  if (state != kReady && !NeedsNoInit(kExports[index].name)) {
    result_ = state == kEnded ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
    allowed_ = false;
    return;
  }
  if (g_held.load(std::memory_order_relaxed)) WaitWhileHeld(name_);
  if (!Faults().counters.empty()) {
    result_ = CheckFaults(name_);
    allowed_ = result_ == CUDA_SUCCESS;
  }
}

void ApiCall::ReportEntry() {
  ListenerUse use;
  if (use.get() == nullptr) return;
  listener_ = use.get();
  correlation_id_ = ++g_correlation;
  const auto context = CurrentContext();
  const std::string symbol = launched_ == nullptr ? std::string() : FunctionName(launched_);
  const simcuda_api_call call = {cbid_,
                                 0,
                                 name_,
                                 params_,
                                 nullptr,
                                 context.get(),
                                 context == nullptr ? 0 : context->uid(),
                                 correlation_id_,
                                 &correlation_data_,
                                 launched_ == nullptr ? nullptr : symbol.c_str()};
  listener_->api(listener_->user, &call);
}

void ApiCall::ReportExit() {
  ListenerUse use;
  if (use.get() != listener_) return;
  const auto context = CurrentContext();
  const std::string symbol = launched_ == nullptr ? std::string() : FunctionName(launched_);
  const int result = result_;
  const simcuda_api_call call = {cbid_,
                                 1,
                                 name_,
                                 params_,
                                 &result,
                                 context.get(),
                                 context == nullptr ? 0 : context->uid(),
                                 correlation_id_,
                                 &correlation_data_,
                                 launched_ == nullptr ? nullptr : symbol.c_str()};
  listener_->api(listener_->user, &call);
}

PerThreadDefaultStream::PerThreadDefaultStream() { t_per_thread_default = true; }
PerThreadDefaultStream::~PerThreadDefaultStream() { t_per_thread_default = false; }
bool UsesPerThreadDefaultStream() { return t_per_thread_default; }

void SetInitialised() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, &Fork); });
  int expected = kFresh;
  g_state.compare_exchange_strong(expected, kReady);
}
bool IsInitialised() { return g_state.load() == kReady; }
void SetDeinitialised() { g_state = kEnded; }
bool IsUsable() { return g_state.load() == kFresh || g_state.load() == kReady; }

void HoldCalls(bool on) {
  Held& held = HeldCalls();
  const std::lock_guard lock(held.mutex);
  g_held = on;
  held.changed.notify_all();
}

void ReportResource(const simcuda_resource_event& event) {
  if (!g_resources_on.load(std::memory_order_relaxed) || t_callbacks_running != 0) return;
  ListenerUse use;
  if (use.get() != nullptr) use.get()->resource(use.get()->user, &event);
}

}  // namespace memprof::simcuda

using namespace memprof::simcuda;

extern "C" int simcuda_set_listener(const struct simcuda_listener* listener) {
  static std::mutex* mutex = new std::mutex;
  // Listeners are never freed, because a call may compare its listener at its end.
  static std::deque<simcuda_listener>* all = new std::deque<simcuda_listener>;
  const std::lock_guard lock(*mutex);
  if (listener != nullptr) {
    if (g_listener.load() != nullptr) return 1;
    all->push_back(*listener);
    g_listener.store(&all->back());
    return 0;
  }
  g_listener.store(nullptr);
  while (g_callbacks_running.load() > t_callbacks_running) std::this_thread::yield();
  return 0;
}

extern "C" void simcuda_enable_api(uint32_t cbid, int on) {
  if (cbid != 0 && cbid < kMaxCbid) g_api_on[cbid].store(on != 0);
}

extern "C" void simcuda_enable_resources(int on) { g_resources_on.store(on != 0); }

extern "C" const char* simcuda_api_name(uint32_t cbid) {
  return cbid < kCbidCount ? kCbidNames[cbid] : nullptr;
}
