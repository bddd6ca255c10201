// Events of launches of graphs with memory nodes.
#include "cupti_hooks/src/graph_handlers.h"

#include <cstring>
#include <new>

#include "cupti_hooks/src/allocation_handlers.h"

namespace memprof::cupti {
namespace {

using recorder::GraphLedger;
using recorder::MappedArray;

// Never destroyed: callbacks may come in while the process ends.
alignas(GraphLedger) unsigned char g_memory[sizeof(GraphLedger)];
GraphLedger* g_ledger = nullptr;  // set before anything listens

bool Happened(const Call& call) { return call.exit && call.result == 0 && call.allocations; }

// The beginning of CUgraphNodeParams (CUDA 12.2), as far as memory nodes need it.
struct NodeParams {
  int type;
  int reserved[3];
  union {
    CUDA_MEM_ALLOC_NODE_PARAMS alloc;
    CUdeviceptr free;
  };
};

std::int32_t DeviceOf(const CUDA_MEM_ALLOC_NODE_PARAMS& params) {
  const CUmemLocation& place = params.poolProps.location;
  return place.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.id : CurrentDevice();
}

void SampleGraphPool(const Call& call, std::int32_t device) {
  const auto query = Driver().graph_attribute;
  cuuint64_t reserved = 0;
  cuuint64_t used = 0;
  if (query == nullptr || query(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved) != 0 ||
      query(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used) != 0) {
    return;
  }
  SourceEvent event = NewEvent(call, kOpPoolSample, kLayerGraph);
  event.context = 0;
  event.device = device;
  event.bytes = reserved;
  event.aux0 = used;
  Record(event);
}

// Frees what graphs hold on a device that has no primary context any more.
void EndReleased(const Call& call, std::int32_t device) {
  const auto state = Driver().primary_state;
  unsigned flags = 0;
  int active = 0;
  if (state == nullptr || state(device, &flags, &active) != 0 || active != 0) return;
  MappedArray<GraphLedger::Node> ended;
  g_ledger->EndDevice(device, &ended);
  for (const GraphLedger::Node& node : ended) {
    SourceEvent event = NewEvent(call, kOpFree, kLayerGraph);
    event.context = 0;
    event.device = device;
    event.address = node.address;
    event.bytes = node.bytes;
    Record(event);
  }
}

}  // namespace

void OpenGraphLedger() {
  if (g_ledger == nullptr) g_ledger = new (g_memory) GraphLedger;
}

bool Capturing(const Call& call, CUstream stream, std::uint64_t* graph) {
  const DriverFunctions& driver = Driver();
  // Without a stream, half of the functions mean the thread's own.
  const std::size_t length = std::strlen(call.entry->name);
  if (stream == nullptr && length > 5 && std::strcmp(call.entry->name + length - 5, "_ptsz") == 0) {
    stream = CU_STREAM_PER_THREAD;
  }
  int status = 0;
  if (driver.stream_is_capturing == nullptr || driver.stream_is_capturing(stream, &status) != 0 ||
      status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    return false;
  }
  void* handle = nullptr;
  if (driver.capture_info != nullptr) {
    driver.capture_info(stream, &status, nullptr, &handle, nullptr, nullptr);
  }
  *graph = Number(handle);
  return true;
}

void NoteAllocNode(const Call& call, std::uint64_t graph, std::uint64_t address,
                   std::uint64_t bytes, std::int32_t device) {
  if (!call.exit || !call.allocations) return;
  if (call.result != 0) return ReportAllocation(call, {kLayerGraph, kCurrentDevice, 0, bytes});
  MarkAddresses(MemorySide::kDevice, address, bytes);
  g_ledger->AddNode(graph, {address, bytes, Recorder()->stack(), device, false});
}

void NoteFreeNode(const Call& call, std::uint64_t graph, std::uint64_t address) {
  if (Happened(call)) g_ledger->AddNode(graph, {address, 0, 0, -1, true});
}

void NoteNode(const Call& call, CUgraph graph, const void* params) {
  const auto* node = static_cast<const NodeParams*>(params);
  if (!call.exit || node == nullptr) return;
  if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    NoteAllocNode(call, Number(graph), node->alloc.dptr, node->alloc.bytesize,
                  DeviceOf(node->alloc));
  } else if (node->type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    NoteFreeNode(call, Number(graph), node->free);
  }
}

std::uint32_t NoteFreeing(std::uint64_t address) {
  return g_ledger == nullptr ? 0 : g_ledger->Freeing(address);
}

void NoteFreed(std::uint32_t freeing, bool succeeded) {
  if (g_ledger != nullptr) g_ledger->Freed(freeing, succeeded);
}

void EndGraphMemory(std::int32_t device) {
  if (g_ledger != nullptr) g_ledger->EndDevice(device, nullptr);
}

void ReleasePrimary(const Call& call) {
  if (Happened(call)) EndReleased(call, call.As<cuDevicePrimaryCtxRelease_params>().dev);
}

void DestroyGreen(const Call& call) {
  if (!Happened(call)) return;
  for (std::int32_t device = 0; device < 64; ++device) {
    if ((g_ledger->devices() >> device & 1) != 0) EndReleased(call, device);
  }
}

void AddAllocNode(const Call& call) {
  const auto* params = call.As<cuGraphAddMemAllocNode_params>().nodeParams;
  if (!call.exit || params == nullptr) return;
  NoteAllocNode(call, Number(call.As<cuGraphAddMemAllocNode_params>().hGraph), params->dptr,
                params->bytesize, DeviceOf(*params));
}

void AddFreeNode(const Call& call) {
  const auto& params = call.As<cuGraphAddMemFreeNode_params>();
  NoteFreeNode(call, Number(params.hGraph), params.dptr);
}

void InstantiateGraph(const Call& call) {
  if (!Happened(call)) return;
  const auto& params = call.As<GraphInstantiateParams>();
  g_ledger->Instantiate(Number(params.graph), Output(call, params.exec));
}

void LaunchMemoryNodes(const Call& call) {
  if (!call.exit || !call.allocations) return;
  const auto& params = call.As<cuGraphLaunch_params>();
  const std::uint64_t exec = Number(params.hGraph);
  if (!g_ledger->HasMemory(exec)) return;
  std::int32_t device = kCurrentDevice;
  if (call.result != 0) {
    const std::uint64_t bytes = g_ledger->AskedFor(exec, &device);
    if (bytes == 0) return;
    return ReportAllocation(
        call, {kLayerGraph, kCurrentDevice, 0, bytes, exec, 0, Number(params.hStream)});
  }
  std::uint64_t captured = 0;
  if (Capturing(call, params.hStream, &captured)) return;
  MappedArray<GraphLedger::Change> changes;
  g_ledger->Launch(exec, &changes);
  for (const GraphLedger::Change& change : changes) {
    SourceEvent event = NewEvent(call, change.is_free ? kOpFree : kOpAlloc, kLayerGraph);
    event.device = device = change.node.device;
    event.address = change.node.address;
    event.bytes = change.node.bytes;
    event.aux0 = exec;
    event.stream = Number(params.hStream);
    if (!change.is_free) event.stack = change.node.stack;
    Record(event);
  }
  if (device >= 0) SampleGraphPool(call, device);
}

void DestroyExec(const Call& call) {
  if (!call.exit && call.allocations) {
    g_ledger->DestroyExec(Number(call.As<cuGraphExecDestroy_params>().hGraphExec));
  }
}

void DestroyGraph(const Call& call) {
  if (!call.exit && call.allocations) {
    g_ledger->DestroyGraph(Number(call.As<cuGraphDestroy_params>().hGraph));
  }
}

void TrimGraphMemory(const Call& call) {
  if (!Happened(call)) return;
  SourceEvent event = NewEvent(call, kOpPoolTrim, kLayerGraph);
  event.context = 0;
  event.device = call.As<cuDeviceGraphMemTrim_params>().device;
  Record(event);
  SampleGraphPool(call, event.device);
}

}  // namespace memprof::cupti
