// The driver's contexts, devices and pools, as far as hooks have seen them. One object per
// recording.
//
// Thread-safe. Queries the real driver, so no lock may be held during a call.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <utility>

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
  std::int32_t device = -1;  // ordinal; -1 = no current context
};

// The context of a thread's last event, and its properties.
struct ContextCache {
  CUcontext handle;
  CallContext context;
  std::uint32_t generation;  // 0 = none: zeroed memory is valid
};

class DriverState {
 public:
  // `on_context`, unless null, is called when a thread uses a context for the first time.
  DriverState(Definitions* definitions, void (*on_context)())
      : definitions_(definitions), on_context_(on_context) {}
  DriverState(const DriverState&) = delete;
  DriverState& operator=(const DriverState&) = delete;

  // The calling thread's context; cached as long as it does not change.
  CallContext Current(ContextCache* cache) {
    const CalledFunctions& driver = Driver();
    CUcontext context = nullptr;
    if (driver.cuCtxGetCurrent == nullptr || driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS ||
        context == nullptr)
      return {};
    const std::uint32_t generation = generation_.load(std::memory_order_acquire);
    if (cache->handle == context && cache->generation == generation) return cache->context;
    return ResolveContext(cache, context, generation);
  }
  // A green context is the primary one with fewer resources (cuCtxFromGreenCtx): its memory ends
  // with the primary context.
  enum class ContextKind { kPrimary, kCreated, kGreen, kUnknown };
  // Id of a context on `device`. Defines a new context, and the device too if the context is
  // current, because only then the driver reports its free memory.
  std::uint32_t ContextId(CUcontext context, std::int32_t device, ContextKind kind,
                          bool is_current);
  // The same for an event that names its context; `device` may be unknown (-1: host memory). 0 if
  // the device of the context cannot be found; it is then defined later.
  std::uint32_t ContextOf(ContextCache* cache, CUcontext context, std::int32_t device);
  // The context was destroyed; the driver may reuse its handle. Returns what it was.
  CallContext RemoveContext(CUcontext context);
  // The driver may reuse the handle, but the memory of the context lives on.
  void RetireContext(CUcontext context);
  // As RemoveContext, for one of the contexts that end with the device's primary one: itself, and
  // green ones. The id is 0 when none is left.
  CallContext TakePrimary(std::int32_t device);
  // The device's primary context, if it was seen; else null.
  CUcontext PrimaryContext(std::int32_t device);

  // Whether the driver reports the device's primary context as active.
  static bool PrimaryIsActive(std::int32_t device);

  // The device of the memory at `pointer`; `fallback` where the driver does not report it.
  std::int32_t DeviceOf(CUdeviceptr pointer, std::int32_t fallback) {
    const std::uint64_t known = known_devices_.load(std::memory_order_relaxed);
    return (known & (known - 1)) == 0 ? fallback : QueryDevice(pointer, fallback);
  }
  // The pool from which cuMemAllocAsync allocates on `device`; 0 = unknown. Defines a new one.
  std::uint64_t CurrentPool(std::int32_t device);
  // In place of a device: a pool in host memory. It is not defined in the log nor sampled, because
  // it is no device's memory.
  static constexpr std::int32_t kHost = -1;
  void DefinePool(std::uint64_t pool, std::int32_t device, bool is_default);
  // Defines a pool that has allocated `pointer` and whose creation was not seen: on `device`,
  // unless the driver reports host memory.
  void DefineSeenPool(std::uint64_t pool, CUdeviceptr pointer, std::int32_t device);
  // The device of a pool that was seen, or kHost; else `fallback`.
  std::int32_t PoolDevice(std::uint64_t pool, std::int32_t fallback);
  // Removes a pool. False when it is unknown; else `device` gets its device, as from PoolDevice.
  bool RemovePool(std::uint64_t pool, std::int32_t* device);
  // Adds a pool to the table, without a definition in the log: DefinePool does both. Alone after a
  // RemovePool whose pool the driver then did not destroy. False when it is in the table.
  bool AddPool(std::uint64_t pool, std::int32_t device);
  // True at most once a millisecond: sample the pools now.
  bool TimeForPoolSample(std::uint64_t now_ns);
  // The same for the pools of graphs.
  bool TimeForGraphSample(std::uint64_t now_ns);
  // True at most ten times a second for each device: sample its free memory now.
  bool TimeForMemorySample(std::int32_t device, std::uint64_t now_ns) {
    if (device >= kMaxDevices) return false;
    std::atomic<std::uint64_t>& next = next_memory_sample_ns_[device];
    return now_ns >= next.load(std::memory_order_relaxed) &&
           TakeTurn(&next, now_ns, kMemorySampleNs);
  }

  // Free and total bytes of the current context's device; false without one.
  static bool MemoryInfo(std::uint64_t* free_bytes, std::uint64_t* total_bytes);

  // Size of the driver's allocation at the address; 0 if it is not reported.
  static std::uint64_t BytesAt(CUdeviceptr address);

  // Any context that was not destroyed, as far as known; null without one.
  CUcontext AnyContext();

  VmmLedger* vmm() { return &vmm_; }
  GraphLedger* graphs() { return &graphs_; }
  HandleTable* handles() { return &handles_; }
  ExportTable* exports() { return &exports_; }
  TileMap* tiles() { return &tiles_; }

  // While a checkpoint has locked the process, driver calls block until its end: the recorder must
  // then make no call of its own.
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
  // Of a pool that is in the table: its handle, and 8 bits of kDeviceBias + its device. 0 = none.
  using PackedPool = std::uint64_t;
  static constexpr std::int32_t kDeviceBias = 2;  // kHost is not 0 either
  static constexpr std::size_t kRecentPools = 16;
  static constexpr std::uint64_t kMemorySampleNs = 100'000'000;

  static bool TakeTurn(std::atomic<std::uint64_t>* next, std::uint64_t now_ns,
                       std::uint64_t period_ns);

  CallContext ResolveContext(ContextCache* cache, CUcontext context, std::uint32_t generation);
  static std::int32_t QueryDevice(CUdeviceptr pointer, std::int32_t fallback);
  // The following need the lock.
  ContextEntry* Find(CUcontext context) {
    return contexts_.Find([context](const ContextEntry& known) { return known.handle == context; });
  }
  PoolEntry* Find(std::uint64_t pool) {
    return pools_.Find([pool](const PoolEntry& known) { return known.handle == pool; });
  }
  // As Find, and makes the pool one that FindRecent finds.
  const PoolEntry* FindAndKeep(std::uint64_t pool);
  // Removes the context from the table, if it is there.
  CallContext Take(const ContextEntry* known);
  // Without the lock: for a pool that was found lately. Every cuMemAllocAsync asks.
  bool FindRecent(std::uint64_t pool, std::int32_t* device) const {
    const PackedPool packed = Recent(pool).load(std::memory_order_relaxed);
    if (packed == 0 || packed >> 8 != pool) return false;
    *device = static_cast<std::int32_t>(packed & 0xff) - kDeviceBias;
    return true;
  }
  // Handles are addresses of objects.
  const std::atomic<PackedPool>& Recent(std::uint64_t pool) const {
    return recent_pools_[(pool >> 4 ^ pool >> 8 ^ pool >> 12) % kRecentPools];
  }
  std::atomic<PackedPool>& Recent(std::uint64_t pool) {
    return const_cast<std::atomic<PackedPool>&>(std::as_const(*this).Recent(pool));
  }
  // `is_current`: a context of the device is current, so that its memory can be queried.
  void DefineDevice(std::int32_t device, bool is_current);

  Definitions* definitions_;
  void (*on_context_)();
  Mutex<LockRank::kDriverState> mutex_;
  MappedArray<ContextEntry> contexts_;
  MappedArray<PoolEntry> pools_;
  std::atomic<PackedPool> recent_pools_[kRecentPools] = {};  // written with the lock held
  std::uint32_t last_context_id_ = 0;
  std::atomic<std::uint32_t> generation_{1};  // of contexts_: makes older caches void
  std::atomic<std::uint64_t> known_devices_{0};
  std::atomic<std::uint64_t> named_devices_{0};  // devices of which only the name is defined
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
