// Nodes of graphs: adding them, and querying their parameters.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "driver_api.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/event.h"
#include "simcuda/driver/graph.h"
#include "simcuda/driver/module.h"

namespace memprof::simcuda {
namespace {

CUresult KernelNodeWork(KernelParameters* kernel, std::function<void()>* work) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  const CUDA_KERNEL_NODE_PARAMS_v1& p = kernel->params;
  const LaunchShape shape = {{p.gridDimX, p.gridDimY, p.gridDimZ},
                             {p.blockDimX, p.blockDimY, p.blockDimZ},
                             p.sharedMemBytes};
  const CUresult result =
      KernelWork(p.func, shape, p.kernelParams, p.extra, context->device().id(), work);
  if (result == CUDA_SUCCESS) *kernel = KeepArguments(p);
  return result;
}

// The node's parameters, if they are of this kind; else null.
template <class Kind>
const Kind* ParametersOf(CUgraphNode handle, std::shared_ptr<GraphNode>* node) {
  std::shared_ptr<Graph> graph;
  *node = FindGraphNode(handle, &graph);
  return *node == nullptr ? nullptr : std::get_if<Kind>(&(*node)->parameters);
}

template <class Kind>
CUresult GetParameters(CUgraphNode handle, Kind* params) {
  std::shared_ptr<GraphNode> node;
  const Kind* found = ParametersOf<Kind>(handle, &node);
  if (found == nullptr || params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *params = *found;
  return CUDA_SUCCESS;
}

CUresult AddEvent(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                  CUgraphNodeType type, CUevent handle) {
  auto event = AllHandles<Event>().Find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddNode(node, graph, dependencies, count, type, EventOfNode{handle, std::move(event)});
}

CUresult GetEvent(CUgraphNode handle, CUgraphNodeType type, CUevent* event) {
  std::shared_ptr<GraphNode> node;
  const auto* found = ParametersOf<EventOfNode>(handle, &node);
  if (found == nullptr || event == nullptr || node->type != type) return CUDA_ERROR_INVALID_VALUE;
  *event = found->handle;
  return CUDA_SUCCESS;
}

}  // namespace

#if CUDA_VERSION >= 12000
CUDA_KERNEL_NODE_PARAMS_v1 FirstVersion(const CUDA_KERNEL_NODE_PARAMS& p) {
  return {p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern),
          p.gridDimX,
          p.gridDimY,
          p.gridDimZ,
          p.blockDimX,
          p.blockDimY,
          p.blockDimZ,
          p.sharedMemBytes,
          p.kernelParams,
          p.extra};
}
#endif

KernelParameters KeepArguments(const CUDA_KERNEL_NODE_PARAMS_v1& params) {
  KernelParameters kept{params, nullptr};
  const auto function = FindFunction(params.func);
  const ParamLayout layout = function == nullptr ? ParamLayout() : function->layout();
  if (!layout.known || params.kernelParams == nullptr) return kept;
  struct Arguments {
    std::vector<std::vector<char>> values;
    std::vector<void*> pointers;
  };
  auto arguments = std::make_shared<Arguments>();
  for (size_t i = 0; i < layout.sizes.size(); ++i) {
    const auto* from = static_cast<const char*>(params.kernelParams[i]);
    arguments->values.emplace_back(from, from + layout.sizes[i]);
  }
  for (auto& value : arguments->values) arguments->pointers.push_back(value.data());
  kept.params.kernelParams = arguments->pointers.data();
  kept.kept = std::move(arguments);
  return kept;
}

CUresult WorkOf(NodeParameters* parameters, std::function<void()>* work) {
  *work = nullptr;
  if (auto* kernel = std::get_if<KernelParameters>(parameters)) return KernelNodeWork(kernel, work);
  if (const auto* copy = std::get_if<CUDA_MEMCPY3D>(parameters)) return BoxCopyWork(*copy, work);
  if (const auto* fill = std::get_if<CUDA_MEMSET_NODE_PARAMS>(parameters)) {
    return FillWork(fill->dst, fill->pitch, fill->value, fill->elementSize, fill->width,
                    fill->height, work);
  }
  if (const auto* host = std::get_if<CUDA_HOST_NODE_PARAMS>(parameters)) {
    if (host->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *work = [one = *host] { one.fn(one.userData); };
  }
  return CUDA_SUCCESS;
}

CUresult AddNode(CUgraphNode* node, CUgraph handle, const CUgraphNode* dependencies, size_t count,
                 CUgraphNodeType type, NodeParameters parameters) {
  GraphNode made;
  made.type = type;
  const CUresult result = WorkOf(&parameters, &made.work);
  if (result != CUDA_SUCCESS) return result;
  const auto graph = AllHandles<Graph>().Find(handle);
  if (graph == nullptr || node == nullptr || (count != 0 && dependencies == nullptr) ||
      !graph->Has(dependencies, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  made.parameters = std::move(parameters);
  made.dependencies.assign(dependencies, dependencies + count);
  *node = graph->Add(std::move(made));
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                             const CUgraphNode* dependencies, size_t numDependencies) {
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EMPTY, {});
}

CUresult cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                            const CUgraphNode* dependencies, size_t numDependencies,
                            const CUDA_HOST_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_HOST,
                 *nodeParams);
}

CUresult cuGraphAddKernelNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                              const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL,
                 KernelParameters{*nodeParams, nullptr});
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  KernelParameters found;
  const CUresult result = GetParameters(hNode, &found);
  if (result != CUDA_SUCCESS || nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *nodeParams = found.params;
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
CUresult cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph,
                                 const CUgraphNode* dependencies, size_t numDependencies,
                                 const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_KERNEL_NODE_PARAMS_v1 first = FirstVersion(*nodeParams);
  return api::cuGraphAddKernelNode(phGraphNode, hGraph, dependencies, numDependencies, &first);
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  CUDA_KERNEL_NODE_PARAMS_v1 first = {};
  const CUresult result = api::cuGraphKernelNodeGetParams(hNode, &first);
  if (result != CUDA_SUCCESS || nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *nodeParams = {};
  // New fields are at the end.
  static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, kern) == sizeof(first));
  std::memcpy(static_cast<void*>(nodeParams), &first, sizeof(first));
  return CUDA_SUCCESS;
}
#endif

CUresult cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                              const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_MEMCPY3D* copyParams, CUcontext /*ctx*/) {
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMCPY,
                 *copyParams);
}

CUresult cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                              const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext /*ctx*/) {
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMSET,
                 *memsetParams);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                   const CUgraphNode* dependencies, size_t numDependencies,
                                   CUevent event) {
  return AddEvent(phGraphNode, hGraph, dependencies, numDependencies,
                  CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                 const CUgraphNode* dependencies, size_t numDependencies,
                                 CUevent event) {
  return AddEvent(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
                  event);
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return GetEvent(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent* event_out) {
  return GetEvent(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams) {
  return GetParameters(hNode, nodeParams);
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
  return GetParameters(hNode, nodeParams);
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  return GetParameters(hNode, nodeParams);
}

CUresult cuGraphNodeFindInClone(CUgraphNode* phNode, CUgraphNode hOriginalNode,
                                CUgraph hClonedGraph) {
  const auto clone = AllHandles<Graph>().Find(hClonedGraph);
  if (phNode == nullptr || clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& node : clone->nodes()) {
    if (node->origin != hOriginalNode || hOriginalNode == nullptr) continue;
    *phNode = reinterpret_cast<CUgraphNode>(node.get());
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

#if CUDA_VERSION >= 11080
static_assert(sizeof(CUkernelNodeAttrValue) == 64);

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       const CUkernelNodeAttrValue* value) {
  std::shared_ptr<GraphNode> node;
  if (ParametersOf<KernelParameters>(hNode, &node) == nullptr || value == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memcpy(node->attributes[attr].data(), value, sizeof(*value));
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       CUkernelNodeAttrValue* value_out) {
  std::shared_ptr<GraphNode> node;
  if (ParametersOf<KernelParameters>(hNode, &node) == nullptr || value_out == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(value_out, 0, sizeof(*value_out));
  const auto found = node->attributes.find(attr);
  if (found != node->attributes.end()) {
    std::memcpy(value_out, found->second.data(), sizeof(*value_out));
  }
  return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src) {
  std::shared_ptr<GraphNode> to;
  std::shared_ptr<GraphNode> from;
  if (ParametersOf<KernelParameters>(dst, &to) == nullptr ||
      ParametersOf<KernelParameters>(src, &from) == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  to->attributes = from->attributes;
  return CUDA_SUCCESS;
}
#endif

}  // namespace api
}  // namespace memprof::simcuda
