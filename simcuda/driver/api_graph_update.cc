// Changing nodes of graphs and of executables. An executable as a whole: api_graph_exec_update.cc.
#include "driver_api.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/event.h"
#include "simcuda/driver/graph.h"

namespace memprof::simcuda {
namespace {

// Only kernels, copies and fills can be disabled.
bool CanBeDisabled(const GraphNode& node) {
  return node.type == CU_GRAPH_NODE_TYPE_KERNEL || node.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
         node.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

// Gives the node new parameters of its own kind.
CUresult Set(CUgraphNode handle, CUgraphNodeType type, NodeParameters parameters) {
  std::shared_ptr<Graph> graph;
  const auto node = FindGraphNode(handle, &graph);
  if (node == nullptr || node->type != type) return CUDA_ERROR_INVALID_VALUE;
  std::function<void()> work;
  const CUresult result = WorkOf(&parameters, &work);
  if (result != CUDA_SUCCESS) return result;
  node->work = std::move(work);
  node->parameters = std::move(parameters);
  return CUDA_SUCCESS;
}

// The same for the node's copy in an executable.
CUresult SetInExec(CUgraphExec handle, CUgraphNode node, CUgraphNodeType type,
                   NodeParameters parameters) {
  const auto exec = AllHandles<GraphExec>().Find(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::function<void()> work;
  CUresult result = WorkOf(&parameters, &work);
  if (result != CUDA_SUCCESS) return result;
  const bool found = exec->Change(node, [&](GraphNode* copy) {
    if (copy->type != type) {
      result = CUDA_ERROR_INVALID_VALUE;
      return;
    }
    copy->work = std::move(work);
    copy->parameters = std::move(parameters);
  });
  return found ? result : CUDA_ERROR_INVALID_VALUE;
}

CUresult EventParameters(CUevent handle, NodeParameters* parameters) {
  auto event = AllHandles<Event>().Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *parameters = EventOfNode{handle, std::move(event)};
  return CUDA_SUCCESS;
}

}  // namespace

#if CUDA_VERSION >= 12030
bool ParametersFrom(const CUgraphNodeParams& params, NodeParameters* parameters) {
  switch (params.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const CUDA_KERNEL_NODE_PARAMS_v3& k = params.kernel;
      CUDA_KERNEL_NODE_PARAMS_v1 first = {};
      first.func = k.func != nullptr ? k.func : reinterpret_cast<CUfunction>(k.kern);
      first.gridDimX = k.gridDimX;
      first.gridDimY = k.gridDimY;
      first.gridDimZ = k.gridDimZ;
      first.blockDimX = k.blockDimX;
      first.blockDimY = k.blockDimY;
      first.blockDimZ = k.blockDimZ;
      first.sharedMemBytes = k.sharedMemBytes;
      first.kernelParams = k.kernelParams;
      first.extra = k.extra;
      *parameters = KernelParameters{first, nullptr};
      return true;
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      *parameters = params.memcpy.copyParams;
      return true;
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto& fill = params.memset;
      CUDA_MEMSET_NODE_PARAMS first = {};
      first.dst = fill.dst;
      first.pitch = fill.pitch;
      first.value = fill.value;
      first.elementSize = fill.elementSize;
      first.width = fill.width;
      first.height = fill.height;
      *parameters = first;
      return true;
    }
    case CU_GRAPH_NODE_TYPE_HOST:
      *parameters = CUDA_HOST_NODE_PARAMS{params.host.fn, params.host.userData};
      return true;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return EventParameters(params.eventRecord.event, parameters) == CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return EventParameters(params.eventWait.event, parameters) == CUDA_SUCCESS;
    default:
      return false;
  }
}
#endif

namespace api {

CUresult cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                               : Set(hNode, CU_GRAPH_NODE_TYPE_HOST, *nodeParams);
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                               : Set(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, *nodeParams);
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  return nodeParams == nullptr ? CUDA_ERROR_INVALID_VALUE
                               : Set(hNode, CU_GRAPH_NODE_TYPE_MEMSET, *nodeParams);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode hNode,
                                    const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  return nodeParams == nullptr
             ? CUDA_ERROR_INVALID_VALUE
             : Set(hNode, CU_GRAPH_NODE_TYPE_KERNEL, KernelParameters{*nodeParams, nullptr});
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
  NodeParameters parameters;
  const CUresult result = EventParameters(event, &parameters);
  return result != CUDA_SUCCESS
             ? result
             : Set(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, std::move(parameters));
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event) {
  NodeParameters parameters;
  const CUresult result = EventParameters(event, &parameters);
  return result != CUDA_SUCCESS ? result
                                : Set(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, std::move(parameters));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_HOST, *nodeParams);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMCPY3D* copyParams, CUcontext /*ctx*/) {
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMCPY, *copyParams);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS* memsetParams,
                                        CUcontext /*ctx*/) {
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_MEMSET, *memsetParams);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL,
                   KernelParameters{*nodeParams, nullptr});
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUevent event) {
  NodeParameters parameters;
  const CUresult result = EventParameters(event, &parameters);
  if (result != CUDA_SUCCESS) return result;
  return SetInExec(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, std::move(parameters));
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                          CUevent event) {
  NodeParameters parameters;
  const CUresult result = EventParameters(event, &parameters);
  if (result != CUDA_SUCCESS) return result;
  return SetInExec(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, std::move(parameters));
}

CUresult cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled) {
  const auto exec = AllHandles<GraphExec>().Find(hGraphExec);
  bool changed = false;
  if (exec == nullptr || !exec->Change(hNode, [&](GraphNode* copy) {
        changed = CanBeDisabled(*copy);
        if (changed) copy->enabled = isEnabled != 0;
      })) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return changed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled) {
  const auto exec = AllHandles<GraphExec>().Find(hGraphExec);
  if (exec == nullptr || isEnabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& node : *exec->nodes()) {
    if (node->origin != hNode || !CanBeDisabled(*node)) continue;
    *isEnabled = node->enabled ? 1 : 0;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

#if CUDA_VERSION >= 12000
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                       const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return Set(hNode, CU_GRAPH_NODE_TYPE_KERNEL,
             KernelParameters{FirstVersion(*nodeParams), nullptr});
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return SetInExec(hGraphExec, hNode, CU_GRAPH_NODE_TYPE_KERNEL,
                   KernelParameters{FirstVersion(*nodeParams), nullptr});
}

#endif

#if CUDA_VERSION >= 12030
CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  NodeParameters parameters;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!ParametersFrom(*nodeParams, &parameters)) return CUDA_ERROR_NOT_SUPPORTED;
  return Set(hNode, nodeParams->type, std::move(parameters));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                  CUgraphNodeParams* nodeParams) {
  NodeParameters parameters;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return api::cuGraphExecChildGraphNodeSetParams(hGraphExec, hNode, nodeParams->graph.graph);
  }
  if (!ParametersFrom(*nodeParams, &parameters)) return CUDA_ERROR_NOT_SUPPORTED;
  return SetInExec(hGraphExec, hNode, nodeParams->type, std::move(parameters));
}
#endif

}  // namespace api
}  // namespace memprof::simcuda
