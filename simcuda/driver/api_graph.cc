// Graphs as a whole. How streams are captured: api_capture.cc; what is in graphs:
// api_graph_node.cc, api_graph_edge.cc, api_graph_memory.cc, api_graph_child.cc; how it changes:
// api_graph_update.cc.
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

std::shared_ptr<Graph> FindGraph(CUgraph handle) { return AllHandles<Graph>().Find(handle); }

CUgraph Publish(const std::shared_ptr<Graph>& graph) {
  AllHandles<Graph>().Add(graph);
  return reinterpret_cast<CUgraph>(graph.get());
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

// The event nodes of a launched graph: all waits precede its work, all records follow it.
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

}  // namespace

namespace api {

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
    // Memory nodes may only be in a child graph that its parent owns.
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
  // `exec` owns user objects of the program, which must outlive the launch.
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
