// The recorder's side of source_api.h.
#include "libmemprof/src/sources/source_host.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <atomic>

#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"
#include "libmemprof/src/recording/thread_states.h"
#include "libmemprof/src/sources/driver_calls.h"

namespace memprof::recorder {
namespace {

constexpr std::int32_t kDeviceOfCurrentContext = -2;

// Stays loaded: a forked child has it too, and its start then fails with a reason.
std::atomic<const SourceApi*> g_source{nullptr};

void SourceRecord(const SourceEvent* from) {
  if (from == nullptr || !Recording()) return;
  EntryGuard guard;
  ThreadState* state = BoundState(guard.slot());
  if (state == nullptr) return;
  NoticeLoadedDriver();  // a source sees calls that reach the driver past every hook
  DriverState* driver = TheRecorder()->driver();
  ring::RingEvent event{};
  event.op = static_cast<std::uint8_t>(from->op);
  event.layer = static_cast<std::uint8_t>(from->layer);
  event.result = from->result;
  event.address = from->address;
  event.bytes = from->bytes;
  event.aux0 = from->aux0;
  event.aux1 = from->aux1;
  event.stream = from->stream;
  event.label = from->label;
  event.api = from->api;
  std::int32_t device = from->device;
  const auto context = reinterpret_cast<CUcontext>(from->context);
  if (device == kDeviceOfCurrentContext) {
    const CallContext current = driver->Current(&state->context);
    device = current.device;
    event.context = current.id;
  }
  if (event.op == kOpContextDestroy && context != nullptr) {
    const CallContext ended = driver->RemoveContext(context);
    if (ended.id == 0) return;  // already recorded by the call that ends it, or never seen
    event.context = ended.id;
    if (device < 0) device = ended.device;
  } else if (context != nullptr) {
    event.context = driver->ContextOf(&state->context, context, device);
  }
  event.SetDevice(device);
  RecordEvent(guard.slot(), &event, from->with_stack != 0);
}

std::uint32_t SourceIntern(const char* text, std::size_t length) {
  Visit visit;
  Recorder* recorder = TheRecorder();
  if (recorder == nullptr || text == nullptr || !Recording()) return 0;
  EntryGuard guard;
  return recorder->definitions()->InternString(text, length);
}

void SourceStateChanged(const char* name, std::uint32_t state, const char* detail) {
  Visit visit;
  Recorder* recorder = TheRecorder();
  if (recorder == nullptr || name == nullptr || !Recording()) return;
  EntryGuard guard;
  recorder->definitions()->AddSource(name, state, detail == nullptr ? "" : detail);
  if (state == kSourceRefused) recorder->Count(log::Anomaly::kCuptiRefused);
}

void SourceCount(int anomaly, std::uint64_t add) {
  Visit visit;
  Recorder* recorder = TheRecorder();
  if (recorder == nullptr || anomaly < 0 || anomaly >= static_cast<int>(log::Anomaly::kCount))
    return;
  recorder->ring()->Count(static_cast<log::Anomaly>(anomaly), add);
}

int SourceInsideHook() { return CurrentThread().depth > 0 ? 1 : 0; }

void* SourceRealFunction(const char* name) {
  return name == nullptr ? nullptr : RealDriverSymbol(name);
}

void SourceDriverCall(const SourceCall* call) {
  if (call != nullptr) RecordDriverCall(*call);
}

int SourcePoolOnHost(std::uint64_t pool) {
  Visit visit;
  Recorder* recorder = TheRecorder();
  if (recorder == nullptr || !Recording()) return 0;
  EntryGuard guard;
  constexpr std::int32_t kNotSeen = -2;
  return recorder->driver()->PoolDevice(pool, kNotSeen) == DriverState::kHost ? 1 : 0;
}

constexpr RecorderApi kTable = {
    kSourceApiVersion, SourceRecord,       SourceDriverCall, DriverFunctionId, SourcePoolOnHost,
    SourceIntern,      SourceStateChanged, SourceCount,      SourceInsideHook, SourceRealFunction};

// "<directory of this library>/libmemprof_cupti.so"; false when the directory is unknown.
bool SourcePath(char* path, std::size_t size) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&SourcePath), &info) == 0 || info.dli_fname == nullptr)
    return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const int directory = slash == nullptr ? 0 : static_cast<int>(slash - info.dli_fname) + 1;
  const int length = snprintf(path, size, "%.*slibmemprof_cupti.so", directory, info.dli_fname);
  return length > 0 && static_cast<std::size_t>(length) < size;
}

}  // namespace

const RecorderApi& SourceTable() { return kTable; }

void OpenCuptiSource(Recorder* recorder, SourceScope scope) {
  const auto refuse = [recorder](const char* why) {
    recorder->definitions()->AddSource("cupti", kSourceRefused, why);
    recorder->Count(log::Anomaly::kCuptiRefused);
    if (recorder->settings().verbose) Message("CUPTI is not used: %.300s", why);
  };
  char path[PATH_MAX];
  if (!SourcePath(path, sizeof path)) return refuse("cannot tell where libmemprof.so is");
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return refuse(why == nullptr ? "libmemprof_cupti.so cannot be loaded" : why);
  }
  const auto open = reinterpret_cast<SourceOpenFunction>(dlsym(library, kSourceOpenSymbol));
  const SourceApi* source = open == nullptr ? nullptr : open(&kTable);
  if (source == nullptr || source->version != kSourceApiVersion)
    return refuse("libmemprof_cupti.so is of another version");
  g_source.store(source, std::memory_order_release);
  source->start(scope);
}

void StopCuptiSource() {
  const SourceApi* source = g_source.load(std::memory_order_acquire);
  if (source != nullptr) source->stop();
}

void StartCuptiSource(SourceScope scope) {
  const SourceApi* source = g_source.load(std::memory_order_acquire);
  if (source == nullptr) return;
  ClearDriverCalls();
  source->start(scope);
}

void CheckCuptiSource() {
  const SourceApi* source = g_source.load(std::memory_order_acquire);
  if (source != nullptr) source->check();
}

}  // namespace memprof::recorder
