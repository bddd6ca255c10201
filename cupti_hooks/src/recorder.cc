// The recorder's table of functions, and the driver's functions that it returns.
#include "cupti_hooks/src/recorder.h"

#include <atomic>
#include <cstring>

#include "cupti_hooks/src/callbacks.h"

namespace memprof::cupti {
namespace {

std::atomic<const RecorderApi*> g_recorder{nullptr};

constexpr DriverFunctions kNone{};
// While a new set is filled, handlers may still use the previous one. Two sets are enough, because
// a set changes only when the source is started again.
DriverFunctions g_sets[2];
int g_next_set = 0;
std::atomic<const DriverFunctions*> g_driver{&kNone};

// The recorder's ids of the functions, by row of the callback table.
std::atomic<std::int32_t> g_function_ids[kMaxCallbacks];
// Ids of API names, by row of the callback table. 0 = not interned yet.
std::atomic<std::uint32_t> g_api_ids[kMaxCallbacks];

template <typename Function>
void LookUp(Function& function, const char* name) {
  function = reinterpret_cast<Function>(Recorder()->real_driver_function(name));
}

std::uint32_t ApiId(const CallbackEntry* entry) {
  std::atomic<std::uint32_t>& id = g_api_ids[CallbackIndex(entry)];
  std::uint32_t value = id.load(std::memory_order_acquire);  // its name is then in the ring
  if (value == 0) {
    value = Intern(entry->name);
    id.store(value, std::memory_order_release);
  }
  return value;
}

}  // namespace

void SetRecorder(const RecorderApi* recorder) {
  g_recorder.store(recorder, std::memory_order_release);
}

const RecorderApi* Recorder() { return g_recorder.load(std::memory_order_acquire); }

void LookUpDriver() {
  for (auto& id : g_api_ids) id.store(0, std::memory_order_relaxed);
  for (const CallbackEntry& entry : Callbacks())
    g_function_ids[CallbackIndex(&entry)].store(Recorder()->function_id(entry.name),
                                                std::memory_order_relaxed);
  DriverFunctions& set = g_sets[g_next_set];
  g_next_set ^= 1;
  LookUp(set.get_version, "cuDriverGetVersion");
  LookUp(set.stream_is_capturing, "cuStreamIsCapturing");
  LookUp(set.address_range, "cuMemGetAddressRange_v2");
  LookUp(set.function_parameter, "cuFuncGetParamInfo");
  LookUp(set.kernel_parameter, "cuKernelGetParamInfo");
  g_driver.store(&set, std::memory_order_release);
}

const DriverFunctions& Driver() { return *g_driver.load(std::memory_order_acquire); }

void ForbidDriverCalls() { g_driver.store(&kNone, std::memory_order_release); }

void ForwardToRecorder(const Call& call, std::uint64_t* kept) {
  SourceCall half{};
  half.function = g_function_ids[CallbackIndex(call.entry)].load(std::memory_order_relaxed);
  if (half.function < 0) return;
  half.is_exit = call.exit ? 1 : 0;
  half.result = call.result;
  half.parameters = call.params;
  half.kept = kept;
  Recorder()->driver_call(&half);
}

SourceEvent NewEvent(const Call& call, std::uint32_t op, std::uint32_t layer) {
  SourceEvent event{};
  event.op = op;
  event.layer = layer;
  event.device = kCurrentDevice;
  event.result = call.exit ? call.result : 0;
  event.context = call.context;
  event.api = ApiId(call.entry);
  return event;
}

void Record(const SourceEvent& event) { Recorder()->record(&event); }

std::uint32_t Intern(const char* text) {
  return text == nullptr ? 0 : Recorder()->intern(text, std::strlen(text));
}

}  // namespace memprof::cupti
