// Addresses and accounting of memory nodes.
#include "simcuda/driver/graph_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "simcuda/driver/device.h"
#include "simcuda/driver/graph.h"
#include "simcuda/driver/pool.h"

namespace memprof::simcuda {
namespace {

bool GoodParams(const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  if (params.bytesize == 0 || params.poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
      params.poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE ||
      params.poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      FindDevice(params.poolProps.location.id) == nullptr ||
      params.accessDescCount > Devices().size() ||
      (params.accessDescCount != 0 && params.accessDescs == nullptr)) {
    return false;
  }
  return std::all_of(params.accessDescs, params.accessDescs + params.accessDescCount,
                     [](const CUmemAccessDesc& one) {
                       return one.location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
                              FindDevice(one.location.id) != nullptr;
                     });
}

}  // namespace

GraphAllocation::~GraphAllocation() {
  if (address == 0) return;
  Allocations().Remove(address, [](const Allocation&) { return true; });
  munmap(Ptr(address), bytes);
}

void DropContents(const GraphAllocation& allocation) {
  madvise(Ptr(allocation.address), allocation.bytes, MADV_DONTNEED);
}

GraphMemory& GraphMemory::Get() {
  static auto* memory = new GraphMemory;
  return *memory;
}

CUresult GraphMemory::Create(const Graph* owner, CUDA_MEM_ALLOC_NODE_PARAMS* params,
                             std::shared_ptr<GraphAllocation>* allocation) {
  if (!GoodParams(*params)) return CUDA_ERROR_INVALID_VALUE;
  Device* device = FindDevice(params->poolProps.location.id);
  if (params->bytesize > device->memory().capacity()) return CUDA_ERROR_OUT_OF_MEMORY;
  const uint64_t bytes = RoundUp(params->bytesize, kPageBytes);
  void* mapping = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  madvise(mapping, bytes, MADV_DONTFORK);
  auto made = std::make_shared<GraphAllocation>();
  made->device = device;
  made->owner = owner;
  made->address = reinterpret_cast<uint64_t>(mapping);
  made->bytes = bytes;
  params->dptr = made->address;
  made->params = *params;
  // The caller's array may no longer exist when the parameters are queried.
  made->params.accessDescs = nullptr;
  made->params.accessDescCount = 0;
  auto record = std::make_shared<Allocation>();
  record->kind = AllocationKind::kGraph;
  record->device = device->id();
  record->address = made->address;
  record->requested = params->bytesize;
  record->granted = bytes;
  record->live = false;
  made->record = record;
  Allocations().Add(std::move(record));
  const std::lock_guard lock(mutex_);
  known_[made->address] = made;
  *allocation = std::move(made);
  return CUDA_SUCCESS;
}

std::shared_ptr<GraphAllocation> GraphMemory::ClaimFree(const Graph* graph, uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(address);
  auto allocation = found == known_.end() ? nullptr : found->second.lock();
  if (allocation == nullptr) return nullptr;
  const bool own = allocation->owner == graph;
  if (own && (allocation->freed_by_owner || allocation->freed_by_others)) return nullptr;
  if (!own && allocation->freed_by_owner) return nullptr;
  for (const auto& node : graph->nodes()) {
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE && node->memory == allocation) return nullptr;
  }
  (own ? allocation->freed_by_owner : allocation->freed_by_others) = true;
  return allocation;
}

// The result of a launch, before it is applied.
struct GraphMemory::Plan {
  struct Change {
    uint64_t used = 0;
    uint64_t peak = 0;
  };
  std::map<Device*, Change> devices;
  std::map<uint64_t, std::shared_ptr<GraphAllocation>> live;
};

CUresult GraphMemory::Simulate(const std::vector<std::shared_ptr<GraphNode>>& nodes, bool auto_free,
                               Plan* plan) {
  plan->live = live_;
  for (const auto& [device, account] : accounts_) {
    plan->devices[device] = {account.used, account.used};
  }
  if (auto_free) {
    for (const auto& node : nodes) {
      if (node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) continue;
      if (plan->live.erase(node->memory->address) == 0) continue;
      plan->devices[node->memory->device].used -= node->memory->bytes;
    }
    for (auto& [device, change] : plan->devices) change.peak = change.used;
  }
  for (const auto& node : nodes) {
    if (node->memory == nullptr) continue;
    auto& change = plan->devices[node->memory->device];
    if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
      if (!plan->live.emplace(node->memory->address, node->memory).second) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      change.used += node->memory->bytes;
      change.peak = std::max(change.peak, change.used);
    } else {
      if (plan->live.erase(node->memory->address) == 0) return CUDA_ERROR_INVALID_VALUE;
      change.used -= node->memory->bytes;
    }
  }
  return CUDA_SUCCESS;
}

CUresult GraphMemory::Launch(const std::vector<std::shared_ptr<GraphNode>>& nodes, bool auto_free) {
  if (std::none_of(nodes.begin(), nodes.end(),
                   [](const auto& node) { return node->memory != nullptr; })) {
    return CUDA_SUCCESS;
  }
  const std::lock_guard lock(mutex_);
  Plan plan;
  const CUresult result = Simulate(nodes, auto_free, &plan);
  if (result != CUDA_SUCCESS) return result;
  std::vector<std::pair<Device*, uint64_t>> charged;
  for (const auto& [device, change] : plan.devices) {
    const uint64_t reserved = accounts_[device].reserved;
    if (change.peak <= reserved) continue;
    const uint64_t missing = change.peak - reserved;
    if (!device->memory().Charge(Use::kGraph, missing)) {
      TrimPoolsOf(device);
      if (!device->memory().Charge(Use::kGraph, missing)) {
        for (const auto& [one, bytes] : charged) one->memory().Refund(Use::kGraph, bytes);
        return CUDA_ERROR_OUT_OF_MEMORY;
      }
    }
    charged.emplace_back(device, missing);
  }
  for (const auto& [device, bytes] : charged) accounts_[device].reserved += bytes;
  for (const auto& [device, change] : plan.devices) {
    Account& account = accounts_[device];
    account.used = change.used;
    account.used_high = std::max(account.used_high, change.peak);
    account.reserved_high = std::max(account.reserved_high, account.reserved);
  }
  for (const auto& [address, allocation] : live_) allocation->record->live = false;
  for (const auto& [address, allocation] : plan.live) allocation->record->live = true;
  live_ = std::move(plan.live);
  return CUDA_SUCCESS;
}

std::shared_ptr<GraphAllocation> GraphMemory::Free(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return nullptr;
  auto allocation = std::move(found->second);
  live_.erase(found);
  allocation->record->live = false;
  accounts_[allocation->device].used -= allocation->bytes;
  return allocation;
}

CUresult GraphMemory::GetAttribute(Device* device, CUgraphMem_attribute attribute,
                                   uint64_t* value) {
  const std::lock_guard lock(mutex_);
  const Account& account = accounts_[device];
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      *value = account.used;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      *value = account.used_high;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT:
      *value = account.reserved;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      *value = account.reserved_high;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult GraphMemory::SetAttribute(Device* device, CUgraphMem_attribute attribute, uint64_t value) {
  // High-water marks can only be reset.
  if (value != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex_);
  Account& account = accounts_[device];
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH:
      account.used_high = account.used;
      return CUDA_SUCCESS;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
      account.reserved_high = account.reserved;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void GraphMemory::TrimLocked(Device* device) {
  Account& account = accounts_[device];
  device->memory().Refund(Use::kGraph, account.reserved - account.used);
  account.reserved = account.used;
}

void GraphMemory::Trim(Device* device) {
  const std::lock_guard lock(mutex_);
  TrimLocked(device);
}

void GraphMemory::Reset(Device* device) {
  std::vector<std::shared_ptr<GraphAllocation>> ended;
  const std::lock_guard lock(mutex_);
  for (auto entry = live_.begin(); entry != live_.end();) {
    if (entry->second->device != device) {
      ++entry;
      continue;
    }
    entry->second->record->live = false;
    ended.push_back(std::move(entry->second));
    entry = live_.erase(entry);
  }
  accounts_[device].used = 0;
  TrimLocked(device);
  accounts_[device] = {};
}

}  // namespace memprof::simcuda
