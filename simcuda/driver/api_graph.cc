// Stream capture and graphs. Graphs hold kernels, copies, fills, host functions, empty nodes and
// memory nodes (api_graph_memory.cc); other kinds are not supported.
#include <algorithm>
#include <atomic>

#include "driver_api.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/contents.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/graph.h"
#include "simcuda/driver/graph_memory.h"

namespace memprof::simcuda {
namespace {

std::atomic<unsigned long long> g_next_capture{1};
thread_local CUstreamCaptureMode t_capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::shared_ptr<Graph> FindGraph(CUgraph handle) { return AllHandles<Graph>().Find(handle); }

CUgraph Publish(const std::shared_ptr<Graph>& graph) {
  AllHandles<Graph>().Add(graph);
  return reinterpret_cast<CUgraph>(graph.get());
}

CUresult Begin(CUstream handle, std::shared_ptr<Graph> graph) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(handle, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (stream->kind() == Stream::Kind::kLegacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (IsCapturing(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  Publish(graph);  // the program may ask for the graph meanwhile, and give it what it owns
  capture->graph = std::move(graph);
  capture->origin = stream.get();
  capture->id = g_next_capture++;
  stream->set_capture(std::move(capture));
  return CUDA_SUCCESS;
}

// Adds a node that was asked for explicitly.
CUresult AddNode(CUgraphNode* node, CUgraph handle, const CUgraphNode* dependencies, size_t count,
                 CUgraphNodeType type, std::function<void()> work) {
  const auto graph = FindGraph(handle);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (node == nullptr || (count != 0 && dependencies == nullptr) ||
      !graph->Has(dependencies, count)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *node = graph->Add(type, std::move(work), {dependencies, dependencies + count});
  return CUDA_SUCCESS;
}

CUresult Instantiate(CUgraphExec* exec, CUgraph handle, unsigned long long flags) {
  const auto graph = FindGraph(handle);
  if (exec == nullptr || graph == nullptr || graph->owned()) return CUDA_ERROR_INVALID_VALUE;
  auto made = graph->Instantiate();
  if (made == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  made->flags = flags;
  *exec = reinterpret_cast<CUgraphExec>(made.get());
  AllHandles<GraphExec>().Add(std::move(made));
  return CUDA_SUCCESS;
}

// Gives a list of nodes as the query functions do: its length, or as many as there is room for and
// null behind them.
CUresult CopyOut(const std::vector<CUgraphNode>& all, CUgraphNode* nodes, size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; nodes != nullptr && i < *count; ++i) {
    nodes[i] = i < all.size() ? all[i] : nullptr;
  }
  *count = nodes == nullptr ? all.size() : std::min(*count, all.size());
  return CUDA_SUCCESS;
}

CUresult CaptureInfo(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                     CUgraph* graph) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(handle, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto capture = stream->capture();
  *status = capture == nullptr ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (capture == nullptr) return CUDA_SUCCESS;
  if (id != nullptr) *id = capture->id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(capture->graph.get());
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CaptureWork(const std::shared_ptr<Stream>& stream, CUgraphNodeType type,
                     std::function<void()> work) {
  const auto capture = stream->capture();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const auto nodes = capture->graph->nodes();
  std::vector<CUgraphNode> after;
  if (!nodes.empty()) after.push_back(reinterpret_cast<CUgraphNode>(nodes.back().get()));
  capture->graph->Add(type, std::move(work), std::move(after));
  return CUDA_SUCCESS;
}

namespace api {

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Begin(hStream, std::make_shared<Graph>());
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (phGraph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto capture = stream->capture();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream.get()) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  capture->ended = true;
  stream->set_capture(nullptr);
  for (const auto& other :
       AllHandles<Stream>().Select([&](Stream& one) { return one.capture() == capture; })) {
    other->set_capture(nullptr);
  }
  *phGraph = reinterpret_cast<CUgraph>(capture->graph.get());
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                     const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* /*dependencyData*/,
                                     size_t numDependencies, CUstreamCaptureMode mode) {
  const auto graph = FindGraph(hGraph);
  if (graph == nullptr || graph->owned() || mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
      mode > CU_STREAM_CAPTURE_MODE_RELAXED || (numDependencies != 0 && dependencies == nullptr) ||
      !graph->Has(dependencies, numDependencies)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Begin(hStream, graph);
}
#endif

// Nodes run in the order in which they are captured, so no dependency can be too few.
CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode* dependencies,
                                           size_t numDependencies, unsigned int flags) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  const auto capture = stream->capture();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES ||
      (numDependencies != 0 && dependencies == nullptr) ||
      !capture->graph->Has(dependencies, numDependencies)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12030
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* /*dependencyData*/,
                                              size_t numDependencies, unsigned int flags) {
  return api::cuStreamUpdateCaptureDependencies(hStream, dependencies, numDependencies, flags);
}
#endif

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  return CaptureInfo(hStream, captureStatus, nullptr, nullptr);
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                cuuint64_t* id_out) {
  return CaptureInfo(hStream, captureStatus_out, id_out, nullptr);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out,
                                   size_t* numDependencies_out) {
  if (dependencies_out != nullptr) *dependencies_out = nullptr;
  if (numDependencies_out != nullptr) *numDependencies_out = 0;
  return CaptureInfo(hStream, captureStatus_out, id_out, graph_out);
}

#if CUDA_VERSION >= 12030
CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out,
                                   const CUgraphEdgeData** edgeData_out,
                                   size_t* numDependencies_out) {
  if (dependencies_out != nullptr) *dependencies_out = nullptr;
  if (edgeData_out != nullptr) *edgeData_out = nullptr;
  if (numDependencies_out != nullptr) *numDependencies_out = 0;
  return CaptureInfo(hStream, captureStatus_out, id_out, graph_out);
}
#endif

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, t_capture_mode);
  return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph* phGraph, unsigned int flags) {
  if (phGraph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *phGraph = Publish(std::make_shared<Graph>());
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph) {
  const auto graph = FindGraph(hGraph);
  if (graph == nullptr || graph->owned()) return CUDA_ERROR_INVALID_VALUE;
  RetireGraph(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  const auto graph = FindGraph(hGraph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> all;
  for (const auto& node : graph->nodes()) {
    all.push_back(reinterpret_cast<CUgraphNode>(node.get()));
  }
  return CopyOut(all, nodes, numNodes);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  const auto graph = FindGraph(hGraph);
  if (graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<CUgraphNode> roots;
  for (const auto& node : graph->nodes()) {
    if (graph->DependenciesOf(*node).empty()) {
      roots.push_back(reinterpret_cast<CUgraphNode>(node.get()));
    }
  }
  return CopyOut(roots, rootNodes, numRootNodes);
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type) {
  std::shared_ptr<Graph> graph;
  const auto node = FindGraphNode(hNode, &graph);
  if (type == nullptr || node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *type = node->type;
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode* dependencies,
                                    size_t* numDependencies) {
  std::shared_ptr<Graph> graph;
  const auto node = FindGraphNode(hNode, &graph);
  if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return CopyOut(graph->DependenciesOf(*node), dependencies, numDependencies);
}

CUresult cuGraphDestroyNode(CUgraphNode hNode) {
  std::shared_ptr<Graph> graph;
  if (FindGraphNode(hNode, &graph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (graph->has_memory()) return CUDA_ERROR_NOT_SUPPORTED;
  return graph->Remove(hNode) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphAddEmptyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                             const CUgraphNode* dependencies, size_t numDependencies) {
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_EMPTY,
                 nullptr);
}

CUresult cuGraphAddHostNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                            const CUgraphNode* dependencies, size_t numDependencies,
                            const CUDA_HOST_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr || nodeParams->fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_HOST,
                 [one = *nodeParams] { one.fn(one.userData); });
}

CUresult cuGraphAddKernelNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                              const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  std::shared_ptr<Context> context;
  const CUresult known = RequireContext(&context);
  if (known != CUDA_SUCCESS) return known;
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const LaunchShape shape = {{nodeParams->gridDimX, nodeParams->gridDimY, nodeParams->gridDimZ},
                             {nodeParams->blockDimX, nodeParams->blockDimY, nodeParams->blockDimZ},
                             nodeParams->sharedMemBytes};
  std::function<void()> work;
  const CUresult result = KernelWork(nodeParams->func, shape, nodeParams->kernelParams,
                                     nodeParams->extra, context->device().id(), &work);
  if (result != CUDA_SUCCESS) return result;
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_KERNEL,
                 std::move(work));
}

#if CUDA_VERSION >= 12000
CUresult cuGraphAddKernelNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph,
                                 const CUgraphNode* dependencies, size_t numDependencies,
                                 const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  if (nodeParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS_v1 first = {};
  first.func = nodeParams->func != nullptr ? nodeParams->func
                                           : reinterpret_cast<CUfunction>(nodeParams->kern);
  first.gridDimX = nodeParams->gridDimX;
  first.gridDimY = nodeParams->gridDimY;
  first.gridDimZ = nodeParams->gridDimZ;
  first.blockDimX = nodeParams->blockDimX;
  first.blockDimY = nodeParams->blockDimY;
  first.blockDimZ = nodeParams->blockDimZ;
  first.sharedMemBytes = nodeParams->sharedMemBytes;
  first.kernelParams = nodeParams->kernelParams;
  first.extra = nodeParams->extra;
  return api::cuGraphAddKernelNode(phGraphNode, hGraph, dependencies, numDependencies, &first);
}
#endif

CUresult cuGraphAddMemcpyNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                              const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_MEMCPY3D* copyParams, CUcontext /*ctx*/) {
  if (copyParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::function<void()> work;
  const CUresult result = BoxCopyWork(*copyParams, &work);
  if (result != CUDA_SUCCESS) return result;
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMCPY,
                 std::move(work));
}

CUresult cuGraphAddMemsetNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                              const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext /*ctx*/) {
  if (memsetParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::function<void()> work;
  const CUresult result =
      FillWork(memsetParams->dst, memsetParams->pitch, memsetParams->value,
               memsetParams->elementSize, memsetParams->width, memsetParams->height, &work);
  if (result != CUDA_SUCCESS) return result;
  return AddNode(phGraphNode, hGraph, dependencies, numDependencies, CU_GRAPH_NODE_TYPE_MEMSET,
                 std::move(work));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph,
                                     unsigned long long flags) {
  return Instantiate(phGraphExec, hGraph, flags);
}

CUresult cuGraphInstantiate_v2(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                               char* /*logBuffer*/, size_t /*bufferSize*/) {
  if (phErrorNode != nullptr) *phErrorNode = nullptr;
  return Instantiate(phGraphExec, hGraph, 0);
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  return AllHandles<GraphExec>().Remove(hGraphExec) == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                               : CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec hGraph, CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  return AllHandles<GraphExec>().Find(hGraph) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec hGraph, CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  const auto exec = AllHandles<GraphExec>().Find(hGraph);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto work = [exec] {
    exec->Run();
    KernelRan();
  };
  if (IsCapturing(stream)) {
    // Memory nodes may be in a child graph only when the parent owns them.
    for (const auto& node : exec->nodes) {
      if (node->memory != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CaptureWork(stream, CU_GRAPH_NODE_TYPE_GRAPH, std::move(work));
  }
  const CUresult memory = GraphMemory::Get().Launch(
      exec->nodes, (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0);
  if (memory != CUDA_SUCCESS) return memory;
  context->Enqueue(stream, std::move(work),
                   DeviceKeepsContents() ? Stream::Mode::kAsync : Stream::Mode::kWait);
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
