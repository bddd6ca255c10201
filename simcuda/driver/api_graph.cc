// Stream capture, and graphs as a whole. What is in them: api_graph_node.cc, api_graph_edge.cc,
// api_graph_memory.cc, api_graph_child.cc; how it changes: api_graph_update.cc.
#include <algorithm>
#include <atomic>

#include "driver_api.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/contents.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/event.h"
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

void Run(const GraphExec::Nodes& nodes) {
  for (const auto& node : nodes) {
    if (node->enabled && node->work != nullptr) node->work();
  }
}

// The event nodes of a graph that is launched: all waits come before all of its work, all records
// after it.
class EventsOfLaunch {
 public:
  explicit EventsOfLaunch(const GraphExec::Nodes& nodes) {
    for (const auto& node : nodes) {
      const auto* one = std::get_if<EventOfNode>(&node->parameters);
      if (one == nullptr || one->event == nullptr) continue;
      if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
        records_.emplace_back(one->event, std::make_shared<Event::Record>());
      } else if (const auto record = one->event->record();
                 record != nullptr && record->capture == nullptr && record->time_ns == 0) {
        waits_.push_back(record->point);
      }
    }
  }
  void Wait() const {
    for (const StreamPoint& point : waits_) point.Wait();
  }
  void Reached() const {
    for (const auto& [event, record] : records_) record->time_ns = NowNs();
  }
  void Record(const StreamPoint& point) const {
    for (const auto& [event, record] : records_) {
      record->point = point;
      event->set_record(record);
    }
  }

 private:
  std::vector<StreamPoint> waits_;
  std::vector<std::pair<std::shared_ptr<Event>, std::shared_ptr<Event::Record>>> records_;
};

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
                     std::function<void()> work, NodeParameters parameters) {
  const auto capture = stream->capture();
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  const auto nodes = capture->graph->nodes();
  GraphNode node;
  node.type = type;
  node.work = std::move(work);
  node.parameters = std::move(parameters);
  if (!nodes.empty()) {
    node.dependencies.push_back(reinterpret_cast<CUgraphNode>(nodes.back().get()));
  }
  capture->graph->Add(std::move(node));
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

CUresult cuGraphDestroyNode(CUgraphNode hNode) {
  std::shared_ptr<Graph> graph;
  if (FindGraphNode(hNode, &graph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (graph->has_memory()) return CUDA_ERROR_NOT_SUPPORTED;
  return graph->Remove(hNode) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
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

CUresult cuGraphInstantiate(CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                            char* logBuffer, size_t bufferSize) {
  return api::cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

#if CUDA_VERSION >= 12000
CUresult cuGraphInstantiateWithParams(CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (instantiateParams == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = Instantiate(phGraphExec, hGraph, instantiateParams->flags);
  instantiateParams->hErrNode_out = nullptr;
  instantiateParams->result_out =
      result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}
#endif

CUresult cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t* flags) {
  const auto exec = AllHandles<GraphExec>().Find(hGraphExec);
  if (exec == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = exec->flags;
  return CUDA_SUCCESS;
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
  const auto nodes = exec->nodes();
  if (IsCapturing(stream)) {
    // Memory nodes may be in a child graph only when the parent owns them.
    for (const auto& node : *nodes) {
      if (node->memory != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
    }
    return CaptureWork(stream, CU_GRAPH_NODE_TYPE_GRAPH, [exec, nodes] {
      Run(*nodes);
      KernelRan();
    });
  }
  const CUresult memory = GraphMemory::Get().Launch(
      *nodes, (exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0);
  if (memory != CUDA_SUCCESS) return memory;
  // `exec` owns objects of the program's, which must outlive the launch.
  auto events = std::make_shared<EventsOfLaunch>(*nodes);
  context->Enqueue(
      stream,
      [exec, nodes, events] {
        events->Wait();
        Run(*nodes);
        KernelRan();
        events->Reached();
      },
      DeviceKeepsContents() ? Stream::Mode::kAsync : Stream::Mode::kWait);
  events->Record(stream->Last());
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
