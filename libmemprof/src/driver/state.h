// What the hooks know about the driver's state: contexts, devices, pools. One per recording.
//
// Thread-safe. Asks the real driver, so it must not be called with a lock held.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/base/mapped_array.h"
#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/driver/export_table.h"
#include "libmemprof/src/driver/graph_ledger.h"
#include "libmemprof/src/driver/handle_table.h"
#include "libmemprof/src/driver/tile_map.h"
#include "libmemprof/src/driver/vmm_ledger.h"
#include "libmemprof/src/log/definitions.h"

namespace memprof::recorder {

struct CallContext {
  std::uint32_t id = 0;      // log.Context.id
  std::int32_t device = -1;  // ordinal; -1 = there is no current context
};

// The context of a thread's last event, with what was found out about it.
struct ContextCache {
  CUcontext handle;
  CallContext context;
  std::uint32_t generation;  // 0 = none: zeroed memory will do
};

class DriverState {
 public:
  // `on_context`, unless null, is called when a thread uses a context for the first time.
  DriverState(Definitions* definitions, void (*on_context)())
      : definitions_(definitions), on_context_(on_context) {}
  DriverState(const DriverState&) = delete;
  DriverState& operator=(const DriverState&) = delete;

  // Of the calling thread, from its cache as long as it is the same.
  CallContext Current(ContextCache* cache) {
    const CalledFunctions& driver = Driver();
    CUcontext context = nullptr;
    if (driver.cuCtxGetCurrent == nullptr || driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS ||
        context == nullptr)
      return {};
    const std::uint32_t generation = generation_.load(std::memory_order_acquire);
    if (cache->handle == context && cache->generation == generation) return cache->context;
    return MeetContext(cache, context, generation);
  }
  // A green context is the primary one with fewer resources (cuCtxFromGreenCtx): its memory ends
  // with the primary context.
  enum class ContextKind { kPrimary, kCreated, kGreen, kUnknown };
  // Id of a context that is on `device`; defines it when it is new, and the device too if the
  // context is current, because only then can the driver be asked for its free memory.
  std::uint32_t ContextId(CUcontext context, std::int32_t device, ContextKind kind,
                          bool is_current);
  // The same for an event that names its context, of which `device` may be unknown (-1: memory of
  // the host). 0, and defined only later, where nothing says on which device the context is.
  std::uint32_t ContextOf(ContextCache* cache, CUcontext context, std::int32_t device);
  // The same handle may be given to a new context from now on. Returns what it was.
  CallContext ForgetContext(CUcontext context);
  // The handle may be given to a new context from now on, but what it stood for lives on.
  void RetireContext(CUcontext context);
  // As ForgetContext, for one after the other of the contexts that end with the device's primary
  // one: itself, and green ones. The id is 0 when none is left.
  CallContext TakePrimary(std::int32_t device);
  // The primary context of a device that was seen; null if none.
  CUcontext PrimaryContext(std::int32_t device);

  // What the driver says about the device's primary context.
  static bool PrimaryIsActive(std::int32_t device);

  // The device that the memory at `pointer` is on; `fallback` where the driver does not say.
  std::int32_t DeviceOf(CUdeviceptr pointer, std::int32_t fallback) {
    const std::uint64_t known = known_devices_.load(std::memory_order_relaxed);
    return (known & (known - 1)) == 0 ? fallback : AskForDevice(pointer, fallback);
  }
  // The pool from which cuMemAllocAsync serves `device`; 0 = unknown. Defines it when new.
  std::uint64_t CurrentPool(std::int32_t device);
  // In place of a device: a pool in the host's memory. Such a pool is not defined in the log, and
  // what it holds is not sampled: that is no part of any device's memory.
  static constexpr std::int32_t kHost = -1;
  void DefinePool(std::uint64_t pool, std::int32_t device, bool is_default);
  // Defines a pool that has handed out `pointer` and whose creation was not seen: on `device`,
  // unless the driver says that the memory is the host's.
  void MeetPool(std::uint64_t pool, CUdeviceptr pointer, std::int32_t device);
  // The device of a pool that was seen, or kHost; else `fallback`.
  std::int32_t PoolDevice(std::uint64_t pool, std::int32_t fallback);
  // False when it was not known; else `device` gets where it was, as PoolDevice tells it.
  bool ForgetPool(std::uint64_t pool, std::int32_t* device);
  // Takes that back. False when it is known.
  bool RememberPool(std::uint64_t pool, std::int32_t device);
  // True at most once per millisecond: time to look at the pools again.
  bool TimeForPoolSample(std::uint64_t now_ns);
  // The same for the pools of graphs.
  bool TimeForGraphSample(std::uint64_t now_ns);
  // True at most ten times a second for each device: time to see whether the ledger closes.
  bool TimeForMemorySample(std::int32_t device, std::uint64_t now_ns) {
    if (device >= kMaxDevices) return false;
    std::atomic<std::uint64_t>& next = next_memory_sample_ns_[device];
    return now_ns >= next.load(std::memory_order_relaxed) &&
           TakeTurn(&next, now_ns, kMemorySampleNs);
  }

  // Free and total bytes of the current context's device; false when there is none.
  static bool MemoryInfo(std::uint64_t* free_bytes, std::uint64_t* total_bytes);

  // Size of the memory that begins there, as the driver knows it; 0 where it does not say.
  static std::uint64_t BytesAt(CUdeviceptr address);

  // A context that has not ended, as far as we know; null without one.
  CUcontext AnyContext();

  VmmLedger* vmm() { return &vmm_; }
  GraphLedger* graphs() { return &graphs_; }
  HandleTable* handles() { return &handles_; }
  ExportTable* exports() { return &exports_; }
  TileMap* tiles() { return &tiles_; }

  // While a checkpoint has locked the process, calls of the driver wait for its end: the recorder
  // must not make any that the program does not make.
  bool calls_held() const { return calls_held_.load(std::memory_order_relaxed); }
  void HoldCalls(bool held) { calls_held_.store(held, std::memory_order_relaxed); }

  template <typename Visit>  // visit(pool handle, device)
  void ForEachPool(Visit visit);

 private:
  struct ContextEntry {
    CUcontext handle;
    std::uint32_t id;
    std::int32_t device;
    bool primary;
    bool green;  // ends with the primary context
  };
  struct PoolEntry {
    std::uint64_t handle;
    std::int32_t device;
  };
  static constexpr int kMaxDevices = 64;
  static constexpr std::uint64_t kMemorySampleNs = 100'000'000;

  static bool TakeTurn(std::atomic<std::uint64_t>* next, std::uint64_t now_ns,
                       std::uint64_t period_ns);

  CallContext MeetContext(ContextCache* cache, CUcontext context, std::uint32_t generation);
  static std::int32_t AskForDevice(CUdeviceptr pointer, std::int32_t fallback);
  // These three with the lock held.
  ContextEntry* Find(CUcontext context) {
    return contexts_.Find([context](const ContextEntry& known) { return known.handle == context; });
  }
  PoolEntry* Find(std::uint64_t pool) {
    return pools_.Find([pool](const PoolEntry& known) { return known.handle == pool; });
  }
  // Takes the context out of the table, if it is there.
  CallContext Take(const ContextEntry* known);
  // `is_current`: a context of it is, so that its memory can be asked for.
  void DefineDevice(std::int32_t device, bool is_current);

  Definitions* definitions_;
  void (*on_context_)();
  Mutex<LockRank::kDriverState> mutex_;
  MappedArray<ContextEntry> contexts_;
  MappedArray<PoolEntry> pools_;
  std::uint32_t last_context_id_ = 0;
  std::atomic<std::uint32_t> generation_{1};  // of contexts_: caches of older ones are void
  std::atomic<std::uint64_t> known_devices_{0};
  std::atomic<std::uint64_t> named_devices_{0};  // of which only the name was asked for
  std::atomic<std::uint64_t> next_pool_sample_ns_{0};
  std::atomic<std::uint64_t> next_graph_sample_ns_{0};
  std::atomic<std::uint64_t> next_memory_sample_ns_[kMaxDevices] = {};
  std::atomic<bool> calls_held_{false};
  VmmLedger vmm_;
  GraphLedger graphs_;
  HandleTable handles_;
  ExportTable exports_;
  TileMap tiles_;
};

template <typename Visit>
void DriverState::ForEachPool(Visit visit) {
  PoolEntry pools[64];
  std::size_t count;
  {
    LockGuard lock(mutex_);
    count = std::min(pools_.size(), std::size(pools));
    std::copy_n(pools_.begin(), count, pools);
  }
  for (std::size_t i = 0; i < count; ++i) visit(pools[i].handle, pools[i].device);
}

}  // namespace memprof::recorder
