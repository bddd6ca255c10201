// Instantiation and capture of graphs, whose parameters differ between the cudart of CUDA 12 and of
// CUDA 13: built once for each version, like rt_versioned.cc.
#include <cstring>

#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::Calls;

// Since 12, the third parameter is flags.
SIMCUDA_RT(cudaGraphInstantiate,
           (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
           (exec, graph, flags)) {
  return cu.cuGraphInstantiateWithFlags(exec, graph, flags);
}

namespace {

int CaptureInfo(const Calls& cu, cudaStream_t stream, cudaStreamCaptureStatus* status,
                unsigned long long* id, cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                size_t* count) {
  cuuint64_t number = 0;
  const CUresult result =
      cu.cuStreamGetCaptureInfo_v2(stream, reinterpret_cast<CUstreamCaptureStatus*>(status),
                                   &number, graph, dependencies, count);
  if (id != nullptr) *id = number;
  return result;
}

}  // namespace

#if SIMCUDA_RUNTIME_VERSION == 12

SIMCUDA_RT(cudaGraphNodeGetDependencies,
           (cudaGraphNode_t node, cudaGraphNode_t* dependencies, size_t* count),
           (node, dependencies, count)) {
  return cu.cuGraphNodeGetDependencies(node, dependencies, count);
}

SIMCUDA_RT_STREAM(cudaStreamUpdateCaptureDependencies, _ptsz,
                  (cudaStream_t stream, cudaGraphNode_t* dependencies, size_t count,
                   unsigned flags),
                  (stream, dependencies, count, flags)) {
  return cu.cuStreamUpdateCaptureDependencies(stream, dependencies, count, flags);
}

SIMCUDA_RT_STREAM(cudaStreamGetCaptureInfo, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id),
                  (stream, status, id)) {
  return CaptureInfo(cu, stream, status, id, nullptr, nullptr, nullptr);
}

SIMCUDA_RT_STREAM(cudaStreamGetCaptureInfo_v2, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                   cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count),
                  (stream, status, id, graph, dependencies, count)) {
  return CaptureInfo(cu, stream, status, id, graph, dependencies, count);
}

SIMCUDA_RT_STREAM(cudaStreamGetCaptureInfo_v3, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                   cudaGraph_t* graph, const cudaGraphNode_t** dependencies, const void** edges,
                   size_t* count),
                  (stream, status, id, graph, dependencies, edges, count)) {
  if (edges != nullptr) *edges = nullptr;
  return CaptureInfo(cu, stream, status, id, graph, dependencies, count);
}

#else

constexpr size_t kEdgeDataBytes = 8;  // of cudaGraphEdgeData

// Since 13, edges have data; there is none here.
SIMCUDA_RT(cudaGraphNodeGetDependencies,
           (cudaGraphNode_t node, cudaGraphNode_t* dependencies, void* edges, size_t* count),
           (node, dependencies, edges, count)) {
  const int error = cu.cuGraphNodeGetDependencies(node, dependencies, count);
  if (error == 0 && edges != nullptr && dependencies != nullptr)
    std::memset(edges, 0, *count * kEdgeDataBytes);
  return error;
}

SIMCUDA_RT_STREAM(cudaStreamUpdateCaptureDependencies, _ptsz,
                  (cudaStream_t stream, cudaGraphNode_t* dependencies, const void* /*edges*/,
                   size_t count, unsigned flags),
                  (stream, dependencies, nullptr, count, flags)) {
  return cu.cuStreamUpdateCaptureDependencies(stream, dependencies, count, flags);
}

SIMCUDA_RT_STREAM(cudaStreamGetCaptureInfo, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                   cudaGraph_t* graph, const cudaGraphNode_t** dependencies, const void** edges,
                   size_t* count),
                  (stream, status, id, graph, dependencies, edges, count)) {
  if (edges != nullptr) *edges = nullptr;
  return CaptureInfo(cu, stream, status, id, graph, dependencies, count);
}

#endif
