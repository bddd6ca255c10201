// Stream capture: its begin, queries, and its end.
#include <atomic>

#include "driver_api.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/graph.h"

namespace memprof::simcuda {
namespace {

std::atomic<unsigned long long> g_next_capture{1};
thread_local CUstreamCaptureMode t_capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult Begin(CUstream handle, std::shared_ptr<Graph> graph) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(handle, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (stream->kind() == Stream::Kind::kLegacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (IsCapturing(stream)) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  AllHandles<Graph>().Add(
      graph);  // the program may query the graph meanwhile, and add user objects to it
  capture->graph = std::move(graph);
  capture->origin = stream.get();
  capture->id = g_next_capture++;
  stream->set_capture(std::move(capture));
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
  const auto graph = AllHandles<Graph>().Find(hGraph);
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

}  // namespace api
}  // namespace memprof::simcuda
