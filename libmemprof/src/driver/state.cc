// Contexts, devices and pools, added when hooks first see them.
#include "libmemprof/src/driver/state.h"

#include <string.h>

#include "libmemprof/src/driver/pool_place.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kPoolSampleNs = 1'000'000;

}  // namespace

bool DriverState::PrimaryIsActive(std::int32_t device) {
  unsigned flags = 0;
  int active = 0;
  const CalledFunctions& driver = Driver();
  return driver.cuDevicePrimaryCtxGetState != nullptr &&
         driver.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

bool DriverState::MemoryInfo(std::uint64_t* free_bytes, std::uint64_t* total_bytes) {
  SystemSection section;
  size_t free = 0, total = 0;
  const CalledFunctions& driver = Driver();
  if (driver.cuMemGetInfo_v2 == nullptr) return false;
  // So that the query cannot invalidate a capture of any stream.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  const bool relaxed = driver.cuThreadExchangeStreamCaptureMode != nullptr &&
                       driver.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
  const CUresult result = driver.cuMemGetInfo_v2(&free, &total);
  if (relaxed) driver.cuThreadExchangeStreamCaptureMode(&mode);
  if (result != CUDA_SUCCESS) return false;
  *free_bytes = free;
  *total_bytes = total;
  return true;
}

CallContext DriverState::ResolveContext(ContextCache* cache, CUcontext context,
                                        std::uint32_t generation) {
  SystemSection section;
  const CalledFunctions& driver = Driver();
  CUdevice device = -1;
  if (driver.cuCtxGetDevice == nullptr || driver.cuCtxGetDevice(&device) != CUDA_SUCCESS) return {};
  if (on_context_ != nullptr) on_context_();
  const std::uint32_t id = ContextId(context, device, ContextKind::kUnknown, true);
  const CallContext resolved{id, device};
  // In steps, because a handler may leave by a jump: a cache of which only a part is new is void.
  cache->generation = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  cache->handle = context;
  cache->context = resolved;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  cache->generation = generation;
  return resolved;
}

CUcontext DriverState::AnyContext() {
  LockGuard lock(mutex_);
  const ContextEntry* known = contexts_.Find([](const ContextEntry& each) { return !each.green; });
  return known == nullptr ? nullptr : known->handle;
}

std::uint32_t DriverState::ContextId(CUcontext context, std::int32_t device, ContextKind kind,
                                     bool is_current) {
  if (context == nullptr) return 0;
  SystemSection section;
  DefineDevice(device, is_current);
  {
    LockGuard lock(mutex_);
    if (const ContextEntry* known = Find(context)) return known->id;
  }
  // A context from before the recording. Only cuDevicePrimaryCtxRetain could identify the primary
  // context, but it changes its count. So if the device has an active primary context, this one is
  // taken for it.
  const bool primary = kind == ContextKind::kPrimary ||
                       (kind == ContextKind::kUnknown && PrimaryContext(device) == nullptr &&
                        PrimaryIsActive(device));
  const SignalsOff signals_off;  // what is in the table is also defined
  std::uint32_t id;
  {
    LockGuard lock(mutex_);
    if (const ContextEntry* known = Find(context)) return known->id;
    id = ++last_context_id_;
    contexts_.Append({context, id, device, primary, kind == ContextKind::kGreen});
  }
  definitions_->AddContext(id, reinterpret_cast<std::uint64_t>(context),
                           static_cast<std::uint32_t>(device),
                           primary || kind == ContextKind::kGreen);
  return id;
}

std::uint32_t DriverState::ContextOf(ContextCache* cache, CUcontext context, std::int32_t device) {
  {
    LockGuard lock(mutex_);
    if (const ContextEntry* known = Find(context)) return known->id;
  }
  const CallContext current = Current(cache);
  if (current.id != 0 && cache->handle == context) return current.id;
  return device < 0 ? 0 : ContextId(context, device, ContextKind::kUnknown, false);
}

CallContext DriverState::Take(const ContextEntry* known) {
  if (known == nullptr) return {};
  const CallContext taken{known->id, known->device};
  contexts_.Erase(known);
  generation_.fetch_add(1, std::memory_order_release);
  return taken;
}

CallContext DriverState::RemoveContext(CUcontext context) {
  if (context == nullptr) return {};
  LockGuard lock(mutex_);
  return Take(Find(context));
}

void DriverState::RetireContext(CUcontext context) {
  LockGuard lock(mutex_);
  ContextEntry* known = Find(context);
  if (known == nullptr) return;
  known->handle = nullptr;
  generation_.fetch_add(1, std::memory_order_release);
}

CallContext DriverState::TakePrimary(std::int32_t device) {
  LockGuard lock(mutex_);
  return Take(contexts_.Find([device](const ContextEntry& known) {
    return (known.primary || known.green) && known.device == device;
  }));
}

CUcontext DriverState::PrimaryContext(std::int32_t device) {
  LockGuard lock(mutex_);
  const ContextEntry* known = contexts_.Find(
      [device](const ContextEntry& each) { return each.primary && each.device == device; });
  return known == nullptr ? nullptr : known->handle;
}

namespace {

// 0 if it is not known.
std::uint32_t Attribute(CUdevice_attribute attribute, std::int32_t device) {
  const auto get = Driver().cuDeviceGetAttribute;
  int value = 0;
  if (get == nullptr || get(&value, attribute, device) != CUDA_SUCCESS || value < 0) return 0;
  return static_cast<std::uint32_t>(value);
}

// An integrated GPU, or one that walks the page tables of the host (Grace).
bool UsesSystemMemory(std::int32_t device) {
  return Attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED, device) != 0 ||
         Attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, device) != 0;
}

}  // namespace

void DriverState::DefineDevice(std::int32_t device, bool is_current) {
  if (device < 0 || device >= kMaxDevices) return;
  const std::uint64_t bit = std::uint64_t{1} << device;
  // A device is defined once with its name only, and again when its memory can be queried; the last
  // definition counts.
  std::atomic<std::uint64_t>* known = is_current ? &known_devices_ : &named_devices_;
  if (!is_current && (known_devices_.load(std::memory_order_acquire) & bit) != 0) return;
  if ((known->fetch_or(bit, std::memory_order_acq_rel) & bit) != 0) return;
  const CalledFunctions& driver = Driver();
  char name[256] = "";
  size_t capacity = 0;
  CUuuid uuid;
  int version = 0;
  if (driver.cuDeviceGetName != nullptr) driver.cuDeviceGetName(name, sizeof name - 1, device);
  if (driver.cuDeviceTotalMem_v2 != nullptr) driver.cuDeviceTotalMem_v2(&capacity, device);
  if (driver.cuDriverGetVersion != nullptr) driver.cuDriverGetVersion(&version);
  // The first version of the function returns the UUID of the GPU also for a slice of it (MIG).
  auto get_uuid = driver.cuDeviceGetUuid_v2;
  if (get_uuid == nullptr)  // a driver before 11.4
    get_uuid = reinterpret_cast<decltype(get_uuid)>(RealDriverSymbol("cuDeviceGetUuid"));
  const bool has_uuid = get_uuid != nullptr && get_uuid(&uuid, device) == CUDA_SUCCESS;
  std::uint64_t free_bytes = 0, total_bytes = 0;
  if (is_current) MemoryInfo(&free_bytes, &total_bytes);
  definitions_->AddDevice(
      {static_cast<std::uint32_t>(device), name, capacity, has_uuid ? uuid.bytes : nullptr,
       RealDriverSymbol("simcuda_get_memory") != nullptr, static_cast<std::uint32_t>(version),
       free_bytes, UsesSystemMemory(device),
       Attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device),
       Attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device)});
}

std::int32_t DriverState::QueryDevice(CUdeviceptr pointer, std::int32_t fallback) {
  const CalledFunctions& driver = Driver();
  int device = -1;
  if (driver.cuPointerGetAttribute == nullptr ||
      driver.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer) !=
          CUDA_SUCCESS ||
      device < 0)
    return fallback;
  return device;
}

std::uint64_t DriverState::CurrentPool(std::int32_t device) {
  if (device < 0) return 0;
  const CalledFunctions& driver = Driver();
  CUmemoryPool pool = nullptr;
  if (driver.cuDeviceGetMemPool == nullptr ||
      driver.cuDeviceGetMemPool(&pool, device) != CUDA_SUCCESS)
    return 0;
  const auto handle = reinterpret_cast<std::uint64_t>(pool);
  std::int32_t of_pool;
  if (FindRecent(handle, &of_pool)) return handle;
  {
    LockGuard lock(mutex_);
    if (FindAndKeep(handle) != nullptr) return handle;
  }
  CUmemoryPool default_pool = nullptr;
  const bool is_default = driver.cuDeviceGetDefaultMemPool != nullptr &&
                          driver.cuDeviceGetDefaultMemPool(&default_pool, device) == CUDA_SUCCESS &&
                          default_pool == pool;
  DefinePool(handle, device, is_default);
  return handle;
}

void DriverState::DefinePool(std::uint64_t pool, std::int32_t device, bool is_default) {
  const SignalsOff signals_off;  // what is in the table is also defined
  if (AddPool(pool, device) && device != kHost)
    definitions_->AddPool(pool, static_cast<std::uint32_t>(device), is_default);
}

void DriverState::DefineSeenPool(std::uint64_t pool, CUdeviceptr pointer, std::int32_t device) {
  constexpr std::int32_t kNotSeen = -2;
  if (PoolDevice(pool, kNotSeen) != kNotSeen) return;
  DefinePool(pool, IsHostMemory(Driver().cuPointerGetAttribute, pointer) ? kHost : device, false);
}

std::int32_t DriverState::PoolDevice(std::uint64_t pool, std::int32_t fallback) {
  std::int32_t device;
  if (FindRecent(pool, &device)) return device;
  LockGuard lock(mutex_);
  const PoolEntry* known = FindAndKeep(pool);
  return known == nullptr ? fallback : known->device;
}

const DriverState::PoolEntry* DriverState::FindAndKeep(std::uint64_t pool) {
  const PoolEntry* known = Find(pool);
  if (known == nullptr || pool == 0 || pool >> 56 != 0 || known->device < kHost ||
      known->device >= kMaxDevices)
    return known;
  Recent(pool).store(pool << 8 | static_cast<std::uint64_t>(known->device + kDeviceBias),
                     std::memory_order_relaxed);
  return known;
}

bool DriverState::RemovePool(std::uint64_t pool, std::int32_t* device) {
  LockGuard lock(mutex_);
  const PoolEntry* known = Find(pool);
  if (known == nullptr) return false;
  *device = known->device;
  std::atomic<PackedPool>& recent = Recent(pool);
  if (recent.load(std::memory_order_relaxed) >> 8 == pool)
    recent.store(0, std::memory_order_relaxed);
  pools_.Erase(known);
  return true;
}

bool DriverState::AddPool(std::uint64_t pool, std::int32_t device) {
  LockGuard lock(mutex_);
  if (Find(pool) != nullptr) return false;
  pools_.Append({pool, device});
  return true;
}

bool DriverState::TakeTurn(std::atomic<std::uint64_t>* next, std::uint64_t now_ns,
                           std::uint64_t period_ns) {
  std::uint64_t due = next->load(std::memory_order_relaxed);
  return now_ns >= due &&
         next->compare_exchange_strong(due, now_ns + period_ns, std::memory_order_relaxed);
}

bool DriverState::TimeForPoolSample(std::uint64_t now_ns) {
  return TakeTurn(&next_pool_sample_ns_, now_ns, kPoolSampleNs);
}

bool DriverState::TimeForGraphSample(std::uint64_t now_ns) {
  return TakeTurn(&next_graph_sample_ns_, now_ns, kPoolSampleNs);
}

std::uint64_t DriverState::BytesAt(CUdeviceptr address) {
  const CalledFunctions& driver = Driver();
  CUdeviceptr base = 0;
  size_t bytes = 0;
  return address != 0 && driver.cuMemGetAddressRange_v2 != nullptr &&
                 driver.cuMemGetAddressRange_v2(&base, &bytes, address) == CUDA_SUCCESS
             ? bytes
             : 0;
}

}  // namespace memprof::recorder
