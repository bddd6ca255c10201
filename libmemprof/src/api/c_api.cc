// The public C functions (memprof.h). Each checks its arguments, fills in an event, and passes it
// to the recorder.
#include <string.h>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/events/memory_samples.h"
#include "libmemprof/src/lifecycle/attach.h"
#include "libmemprof/src/lifecycle/start.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/host_scan.h"
#include "libmemprof/src/recording/record_event.h"
#include "libmemprof/src/recording/thread_states.h"
#include "libmemprof/src/torch/layer.h"

#define MEMPROF_EXPORT extern "C" __attribute__((visibility("default")))

namespace memprof::recorder {
namespace {

using ring::RingEvent;

constexpr std::uint64_t kMaxFlushNs = 1'000'000'000;

// Records `event`, if recording. Ignores calls from inside the recorder.
int Publish(RingEvent* event, bool with_stack) {
  EntryGuard guard;
  if (!guard.outermost()) return MEMPROF_NOT_RECORDING;
  if (!RecordEventHere(guard.slot(), event, with_stack)) return MEMPROF_NOT_RECORDING;
  Recorder* recorder = TheRecorder();
  if (recorder->settings().agent && recorder->NoteAgent())
    recorder->definitions()->AddSource("agent", kSourceOn,
                                       IsAttached() ? "memprof attach" : "memprof run --torch");
  return MEMPROF_OK;
}

std::uint32_t Label(const char* text) {
  EntryGuard guard;
  ThreadState* state = BoundState(guard.slot());
  if (state == nullptr) return 0;
  Definitions* definitions = TheRecorder()->definitions();
  IdCacheKey key;
  key.AddText(text);
  if (!key.fits()) return definitions->InternString(text);
  const std::uint64_t hash = key.Hash();
  std::uint32_t id = state->names.Find(key, hash);
  if (id != 0) return id;
  id = definitions->InternString(text);
  state->names.Store(key, hash, id);
  return id;
}

std::uint32_t DefineTensor(const char* name, const char* dtype, int rank,
                           const std::int64_t* shape) {
  const std::uint32_t name_id = Label(name);
  const std::uint32_t dtype_id = Label(dtype);
  EntryGuard guard;
  if (BoundState(guard.slot()) == nullptr) return 0;
  return TheRecorder()->definitions()->InternTensor(name_id, dtype_id, rank, shape);
}

std::uint32_t TensorLabel(const char* name, const char* dtype, int rank,
                          const std::int64_t* shape) {
  EntryGuard guard;
  ThreadState* state = BoundState(guard.slot());
  IdCacheKey key;
  key.AddText(name);
  key.AddText(dtype);
  key.Add(shape, static_cast<std::size_t>(rank) * sizeof *shape);
  if (state == nullptr || !key.fits()) return DefineTensor(name, dtype, rank, shape);
  const std::uint64_t hash = key.Hash();
  std::uint32_t id = state->tensors.Find(key, hash);
  if (id != 0) return id;
  id = DefineTensor(name, dtype, rank, shape);
  state->tensors.Store(key, hash, id);
  return id;
}

RingEvent DeviceEvent(Op op, Layer layer, int device, const void* pointer) {
  RingEvent event{};
  event.op = op;
  event.layer = layer;
  event.SetDevice(device < 0 ? -1 : device);
  event.address = reinterpret_cast<std::uint64_t>(pointer);
  return event;
}

int Create(Layer layer, int device, const void* pointer, std::size_t bytes, std::size_t requested,
           const void* stream) {
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  if (pointer == nullptr) return MEMPROF_INVALID_ARGUMENT;
  RingEvent event = DeviceEvent(kOpAlloc, layer, device, pointer);
  event.bytes = bytes;
  event.aux0 = requested;
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  return Publish(&event, true);
}

int Destroy(Layer layer, int device, const void* pointer) {
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  if (pointer == nullptr) return MEMPROF_INVALID_ARGUMENT;
  RingEvent event = DeviceEvent(kOpFree, layer, device, pointer);
  return Publish(&event, false);
}

// Samples free memory at steps and snapshots.
void SampleNow() {
  WorkGuard guard;
  if (guard.outermost() && BoundState(guard.slot()) != nullptr) SampleMemory(guard.slot());
}

}  // namespace
}  // namespace memprof::recorder

using namespace memprof::recorder;
using memprof::ring::RingEvent;

MEMPROF_EXPORT int memprof_start(void) { return StartRecording(StartCause::kApi); }

MEMPROF_EXPORT int memprof_stop(void) {
  return Recording() ? StopRecording() : MEMPROF_NOT_RECORDING;
}

MEMPROF_EXPORT int memprof_flush(void) {
  Visit visit;
  Recorder* recorder = TheRecorder();
  const Mode mode = g_control.mode.load(std::memory_order_acquire);
  if (recorder == nullptr || (mode != Mode::kRecording && mode != Mode::kPaused))
    return mode == Mode::kOff ? MEMPROF_UNAVAILABLE : MEMPROF_NOT_RECORDING;
  WorkGuard guard;
  return recorder->writer()->Flush(kMaxFlushNs) ? MEMPROF_OK : MEMPROF_IO_ERROR;
}

MEMPROF_EXPORT int memprof_snapshot(const char* label) {
  if (label == nullptr) return MEMPROF_INVALID_ARGUMENT;
  if (!WantMarks()) return MEMPROF_NOT_RECORDING;
  SampleNow();
  RingEvent event{};
  event.op = kOpSnapshot;
  event.label = Label(label);
  return Publish(&event, true);
}

MEMPROF_EXPORT int memprof_scan(void) { return ScanHost(); }

MEMPROF_EXPORT int memprof_step(uint64_t step) {
  if (!WantMarks()) return MEMPROF_NOT_RECORDING;
  SampleNow();
  RingEvent event{};
  event.op = kOpStep;
  event.aux0 = step;
  return Publish(&event, false);
}

MEMPROF_EXPORT int memprof_range_push(const char* name) {
  if (name == nullptr) return MEMPROF_INVALID_ARGUMENT;
  if (!WantMarks()) return MEMPROF_NOT_RECORDING;
  RingEvent event{};
  event.op = kOpRangePush;
  event.label = Label(name);
  return Publish(&event, false);
}

MEMPROF_EXPORT int memprof_range_pop(void) {
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  RingEvent event{};
  event.op = kOpRangePop;
  return Publish(&event, false);
}

MEMPROF_EXPORT int memprof_tensor_create(int device, const void* ptr, size_t bytes,
                                         const char* name, const char* dtype, int rank,
                                         const int64_t* shape) {
  if (ptr == nullptr || name == nullptr || dtype == nullptr || rank < 0 ||
      rank > MEMPROF_MAX_RANK || (rank > 0 && shape == nullptr))
    return MEMPROF_INVALID_ARGUMENT;
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  RingEvent event = DeviceEvent(kOpAlloc, kLayerTensor, device, ptr);
  event.bytes = bytes;
  event.label = TensorLabel(name, dtype, rank, shape);
  return Publish(&event, true);
}

MEMPROF_EXPORT int memprof_tensor_destroy(int device, const void* ptr) {
  return Destroy(kLayerTensor, device, ptr);
}

MEMPROF_EXPORT int memprof_segment_create(int device, const void* ptr, size_t bytes,
                                          const void* stream) {
  return Create(kLayerSegment, device, ptr, bytes, 0, stream);
}

MEMPROF_EXPORT int memprof_segment_destroy(int device, const void* ptr) {
  return Destroy(kLayerSegment, device, ptr);
}

MEMPROF_EXPORT int memprof_block_create(int device, const void* ptr, size_t bytes, size_t requested,
                                        const void* stream) {
  return Create(kLayerBlock, device, ptr, bytes, requested, stream);
}

MEMPROF_EXPORT int memprof_block_destroy(int device, const void* ptr) {
  return Destroy(kLayerBlock, device, ptr);
}

MEMPROF_EXPORT int memprof_pool_create(uint64_t pool, uint64_t also) {
  if (!WantMarks()) return MEMPROF_NOT_RECORDING;
  RingEvent event{};
  event.op = kOpFrameworkPool;
  event.layer = kLayerSegment;
  event.address = pool;
  event.aux0 = also;
  return Publish(&event, true);
}

MEMPROF_EXPORT int memprof_pool_begin(int device, uint64_t pool, int captures) {
  if (device < 0 || pool == 0) return MEMPROF_INVALID_ARGUMENT;
  {
    EntryGuard guard;
    ThreadState* state = BoundState(guard.slot());
    if (state == nullptr) return MEMPROF_NOT_RECORDING;
    state->chosen_pools.Begin({.pool = pool, .device = device, .captures = captures != 0});
  }
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  if (captures != 0) RecordTorchCapture(device, pool);
  return MEMPROF_OK;
}

MEMPROF_EXPORT int memprof_pool_end(int device, uint64_t pool) {
  EntryGuard guard;
  ThreadState* state = BoundState(guard.slot());
  if (state != nullptr) state->chosen_pools.End(device, pool);
  return Recording() ? MEMPROF_OK : MEMPROF_NOT_RECORDING;
}

MEMPROF_EXPORT int memprof_stream_use(int device, const void* ptr, const void* stream) {
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  if (ptr == nullptr) return MEMPROF_INVALID_ARGUMENT;
  RingEvent event = DeviceEvent(kOpStreamUse, kLayerBlock, device, ptr);
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  return Publish(&event, true);
}

MEMPROF_EXPORT int memprof_waiting(int device, size_t bytes, uint64_t blocks, size_t peak) {
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  RingEvent event = DeviceEvent(kOpWaiting, kLayerBlock, device, nullptr);
  event.bytes = bytes;
  event.aux0 = blocks;
  event.aux1 = peak;
  return Publish(&event, false);
}

MEMPROF_EXPORT int memprof_framework_oom(int device, size_t requested, size_t allocated,
                                         size_t reserved) {
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  RingEvent event = DeviceEvent(kOpFrameworkOom, kLayerBlock, device, nullptr);
  event.bytes = requested;
  event.aux0 = allocated;
  event.aux1 = reserved;
  return Publish(&event, true);
}

MEMPROF_EXPORT int memprof_held(int device, const void* ptr, size_t bytes, int kind,
                                const char* holder) {
  constexpr int kFirstKind = 1, kLastKind = 4;  // HolderKind
  if (ptr == nullptr || holder == nullptr || kind < kFirstKind || kind > kLastKind)
    return MEMPROF_INVALID_ARGUMENT;
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  RingEvent event = DeviceEvent(kOpHeld, kLayerNone, device, ptr);
  event.bytes = bytes;
  event.aux0 = static_cast<std::uint64_t>(kind);
  event.label = Label(holder);
  return Publish(&event, false);
}

MEMPROF_EXPORT int memprof_holders(size_t garbage_bytes, uint64_t objects, uint64_t pause_ns) {
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  RingEvent event{};
  event.op = kOpHolders;
  event.bytes = garbage_bytes;
  event.aux0 = objects;
  event.aux1 = pause_ns;
  return Publish(&event, false);
}

MEMPROF_EXPORT int memprof_pool_usage(int device, const char* pool, size_t bytes, uint32_t blocks,
                                      uint32_t used, uint32_t block_slots, uint32_t used_slots) {
  if (pool == nullptr || used > blocks) return MEMPROF_INVALID_ARGUMENT;
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  RingEvent event = DeviceEvent(kOpPoolUsage, kLayerNone, device, nullptr);
  event.bytes = bytes;
  event.aux0 = std::uint64_t{blocks} << 32 | used;
  event.aux1 = std::uint64_t{block_slots} << 32 | used_slots;
  event.label = Label(pool);
  return Publish(&event, false);
}

MEMPROF_EXPORT int memprof_present(int device, int layer, const void* ptr, size_t bytes,
                                   size_t requested, const void* stream, uint64_t pool,
                                   const char* stack) {
  if (ptr == nullptr || device < 0) return MEMPROF_INVALID_ARGUMENT;
  if (layer != kLayerLinear && layer != kLayerSegment && layer != kLayerBlock)
    return MEMPROF_INVALID_ARGUMENT;
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  RingEvent event = DeviceEvent(kOpPresent, static_cast<Layer>(layer), device, ptr);
  event.bytes = bytes;
  event.aux0 = requested;
  event.aux1 = pool;
  event.stream = reinterpret_cast<std::uint64_t>(stream);
  if (stack != nullptr && *stack != '\0') event.label = Label(stack);
  return Publish(&event, false);
}

MEMPROF_EXPORT int memprof_attach(const char* settings) { return Attach(settings); }

MEMPROF_EXPORT int memprof_log_path(char* path, size_t size) {
  Visit visit;
  Recorder* recorder = TheRecorder();
  if (path == nullptr || size == 0) return MEMPROF_INVALID_ARGUMENT;
  if (recorder == nullptr) return MEMPROF_NOT_RECORDING;
  const char* known = recorder->log()->path();
  const size_t length = strlen(known);
  if (length >= size) return MEMPROF_INVALID_ARGUMENT;
  memcpy(path, known, length + 1);
  return MEMPROF_OK;
}

MEMPROF_EXPORT int memprof_get_stats(struct memprof_stats* stats) {
  constexpr std::size_t kMinBytes = offsetof(struct memprof_stats, events) + sizeof(uint64_t);
  if (stats == nullptr || stats->size < kMinBytes) return MEMPROF_INVALID_ARGUMENT;
  Visit visit;
  Recorder* recorder = TheRecorder();
  struct memprof_stats now {};
  if (recorder != nullptr) {
    WorkGuard guard;
    recorder->writer()->Flush(kMaxFlushNs);
    const LiveTotals totals = recorder->writer()->totals();
    now.events = recorder->ring()->header()->events_written.load(std::memory_order_relaxed);
    now.events_lost = recorder->ring()->AnomalyCount(memprof::log::Anomaly::kEventsLost);
    now.allocations = totals.allocations;
    now.frees = totals.frees;
    now.live_bytes = totals.live_bytes;
    now.peak_bytes = totals.peak_bytes;
    now.log_bytes = recorder->writer()->log_bytes();
  }
  now.recording = Recording() ? 1 : 0;
  now.size = stats->size < sizeof now ? stats->size : sizeof now;
  memcpy(stats, &now, now.size);
  return recorder == nullptr ? MEMPROF_NOT_RECORDING : MEMPROF_OK;
}
