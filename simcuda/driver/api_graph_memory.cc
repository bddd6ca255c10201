// Allocation and free nodes of graphs, and the memory that graphs hold.
#include "driver_api.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/graph.h"
#include "simcuda/driver/graph_memory.h"

namespace memprof::simcuda {
namespace {

// Adds a memory node, whose dependencies were checked.
CUgraphNode AddMemoryNode(const std::shared_ptr<Graph>& graph, CUgraphNodeType type,
                          std::shared_ptr<GraphAllocation> memory,
                          std::vector<CUgraphNode> dependencies) {
  std::function<void()> work;
  if (type == CU_GRAPH_NODE_TYPE_MEM_FREE) work = [memory] { DropContents(*memory); };
  return graph->Add(type, std::move(work), std::move(dependencies), memory);
}

std::vector<CUgraphNode> LastOf(const Graph& graph) {
  const auto nodes = graph.nodes();
  if (nodes.empty()) return {};
  return {reinterpret_cast<CUgraphNode>(nodes.back().get())};
}

bool GoodPlace(CUgraphNode* node, const std::shared_ptr<Graph>& graph,
               const CUgraphNode* dependencies, size_t count) {
  return node != nullptr && graph != nullptr && (count == 0 || dependencies != nullptr) &&
         graph->Has(dependencies, count);
}

}  // namespace

CUresult CaptureAllocation(const std::shared_ptr<Stream>& stream, Device* device, uint64_t bytes,
                           CUdeviceptr* address) {
  const auto capture = stream->capture();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  CUDA_MEM_ALLOC_NODE_PARAMS params = {};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device->id()}};
  params.bytesize = bytes;
  std::shared_ptr<GraphAllocation> memory;
  const CUresult result = GraphMemory::Get().Create(capture->graph.get(), &params, &memory);
  if (result != CUDA_SUCCESS) return result;
  *address = params.dptr;
  AddMemoryNode(capture->graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, std::move(memory),
                LastOf(*capture->graph));
  return CUDA_SUCCESS;
}

CUresult CaptureFree(const std::shared_ptr<Stream>& stream, CUdeviceptr address) {
  const auto capture = stream->capture();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto memory = GraphMemory::Get().ClaimFree(capture->graph.get(), address);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  AddMemoryNode(capture->graph, CU_GRAPH_NODE_TYPE_MEM_FREE, std::move(memory),
                LastOf(*capture->graph));
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuGraphAddMemAllocNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                const CUgraphNode* dependencies, size_t numDependencies,
                                CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  const auto graph = AllHandles<Graph>().Find(hGraph);
  if (!GoodPlace(phGraphNode, graph, dependencies, numDependencies) || nodeParams == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::shared_ptr<GraphAllocation> memory;
  const CUresult result = GraphMemory::Get().Create(graph.get(), nodeParams, &memory);
  if (result != CUDA_SUCCESS) return result;
  *phGraphNode = AddMemoryNode(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC, std::move(memory),
                               {dependencies, dependencies + numDependencies});
  return CUDA_SUCCESS;
}

CUresult cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS* params_out) {
  std::shared_ptr<Graph> graph;
  const auto node = FindGraphNode(hNode, &graph);
  if (params_out == nullptr || node == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *params_out = node->memory->params;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemFreeNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                               const CUgraphNode* dependencies, size_t numDependencies,
                               CUdeviceptr dptr) {
  const auto graph = AllHandles<Graph>().Find(hGraph);
  if (!GoodPlace(phGraphNode, graph, dependencies, numDependencies)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  auto memory = GraphMemory::Get().ClaimFree(graph.get(), dptr);
  if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *phGraphNode = AddMemoryNode(graph, CU_GRAPH_NODE_TYPE_MEM_FREE, std::move(memory),
                               {dependencies, dependencies + numDependencies});
  return CUDA_SUCCESS;
}

CUresult cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr* dptr_out) {
  std::shared_ptr<Graph> graph;
  const auto node = FindGraphNode(hNode, &graph);
  if (dptr_out == nullptr || node == nullptr || node->type != CU_GRAPH_NODE_TYPE_MEM_FREE) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *dptr_out = node->memory->address;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  Device* found = FindDevice(device);
  if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  GraphMemory::Get().Trim(found);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  Device* found = FindDevice(device);
  if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return GraphMemory::Get().GetAttribute(found, attr, static_cast<uint64_t*>(value));
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  Device* found = FindDevice(device);
  if (found == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return GraphMemory::Get().SetAttribute(found, attr, *static_cast<const uint64_t*>(value));
}

}  // namespace api
}  // namespace memprof::simcuda
