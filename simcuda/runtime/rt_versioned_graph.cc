// Functions of graphs that CUDA 13 gave other parameters: built once for each version, like
// rt_versioned.cc.
#include <cstring>

#include "simcuda/runtime/graph_params.h"
#include "simcuda/runtime/state.h"

#if CUDA_VERSION >= 13000

using memprof::simcuda::runtime::AddAnyNode;
using memprof::simcuda::runtime::Calls;

namespace {

int Edges(const Calls& cu, cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
          cudaGraphEdgeData* data, size_t* count) {
  if (cu.cuGraphGetEdges == nullptr) return cudaErrorNotSupported;
  const CUresult result = cu.cuGraphGetEdges(graph, from, to, count);
  if (result == CUDA_SUCCESS && data != nullptr && from != nullptr) {
    std::memset(static_cast<void*>(data), 0, *count * sizeof(*data));
  }
  return result;
}

int After(const Calls& cu, cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* data,
          size_t* count) {
  if (cu.cuGraphNodeGetDependentNodes == nullptr) return cudaErrorNotSupported;
  const CUresult result = cu.cuGraphNodeGetDependentNodes(node, nodes, count);
  if (result == CUDA_SUCCESS && data != nullptr && nodes != nullptr) {
    std::memset(static_cast<void*>(data), 0, *count * sizeof(*data));
  }
  return result;
}

int Connect(const Calls& cu, cudaGraph_t graph, const cudaGraphNode_t* from,
            const cudaGraphNode_t* to, size_t count) {
  if (cu.cuGraphAddDependencies == nullptr) return cudaErrorNotSupported;
  return cu.cuGraphAddDependencies(graph, from, to, count);
}

int Disconnect(const Calls& cu, cudaGraph_t graph, const cudaGraphNode_t* from,
               const cudaGraphNode_t* to, size_t count) {
  if (cu.cuGraphRemoveDependencies == nullptr) return cudaErrorNotSupported;
  return cu.cuGraphRemoveDependencies(graph, from, to, count);
}

}  // namespace

// With data of the edges; in CUDA 13 the functions without a suffix have it.
#if SIMCUDA_RUNTIME_VERSION == 12
#define SIMCUDA_WITH_DATA(name) name##_v2
#else
#define SIMCUDA_WITH_DATA(name) name
#endif
#define SIMCUDA_RT_NAMED(...) SIMCUDA_RT(__VA_ARGS__)

SIMCUDA_RT_NAMED(SIMCUDA_WITH_DATA(cudaGraphAddNode),
                 (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                  const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* parameters),
                 (node, graph, dependencies, edges, count, parameters)) {
  return AddAnyNode(cu, node, graph, dependencies, edges, count, parameters);
}

SIMCUDA_RT_NAMED(SIMCUDA_WITH_DATA(cudaGraphGetEdges),
                 (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                  cudaGraphEdgeData* data, size_t* count),
                 (graph, from, to, data, count)) {
  return Edges(cu, graph, from, to, data, count);
}

SIMCUDA_RT_NAMED(SIMCUDA_WITH_DATA(cudaGraphNodeGetDependentNodes),
                 (cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* data,
                  size_t* count),
                 (node, nodes, data, count)) {
  return After(cu, node, nodes, data, count);
}

SIMCUDA_RT_NAMED(SIMCUDA_WITH_DATA(cudaGraphAddDependencies),
                 (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                  const cudaGraphEdgeData* /*data*/, size_t count),
                 (graph, from, to, nullptr, count)) {
  return Connect(cu, graph, from, to, count);
}

SIMCUDA_RT_NAMED(SIMCUDA_WITH_DATA(cudaGraphRemoveDependencies),
                 (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                  const cudaGraphEdgeData* /*data*/, size_t count),
                 (graph, from, to, nullptr, count)) {
  return Disconnect(cu, graph, from, to, count);
}

#if SIMCUDA_RUNTIME_VERSION == 12
SIMCUDA_RT(cudaGraphAddNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, cudaGraphNodeParams* parameters),
           (node, graph, dependencies, count, parameters)) {
  return AddAnyNode(cu, node, graph, dependencies, nullptr, count, parameters);
}

SIMCUDA_RT(cudaGraphGetEdges,
           (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count),
           (graph, from, to, count)) {
  return Edges(cu, graph, from, to, nullptr, count);
}

SIMCUDA_RT(cudaGraphNodeGetDependentNodes,
           (cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count), (node, nodes, count)) {
  return After(cu, node, nodes, nullptr, count);
}

SIMCUDA_RT(cudaGraphNodeGetDependencies_v2,
           (cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* data, size_t* count),
           (node, nodes, data, count)) {
  const CUresult result = cu.cuGraphNodeGetDependencies(node, nodes, count);
  if (result == CUDA_SUCCESS && data != nullptr && nodes != nullptr) {
    std::memset(static_cast<void*>(data), 0, *count * sizeof(*data));
  }
  return result;
}

SIMCUDA_RT(cudaGraphAddDependencies,
           (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
            size_t count),
           (graph, from, to, count)) {
  return Connect(cu, graph, from, to, count);
}

SIMCUDA_RT(cudaGraphRemoveDependencies,
           (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
            size_t count),
           (graph, from, to, count)) {
  return Disconnect(cu, graph, from, to, count);
}

SIMCUDA_RT_STREAM(cudaMemcpyBatchAsync, _ptsz,
                  (void** to, void** from, size_t* sizes, size_t count,
                   cudaMemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                   size_t* failed, cudaStream_t stream),
                  (to, from, sizes, count, attributes, indices, attribute_count, failed, stream)) {
  if (failed != nullptr) *failed = SIZE_MAX;
  if (cu.cuMemcpyBatchAsync_v2 == nullptr) return cudaErrorNotSupported;
  return cu.cuMemcpyBatchAsync_v2(
      reinterpret_cast<CUdeviceptr*>(to), reinterpret_cast<CUdeviceptr*>(from), sizes, count,
      reinterpret_cast<CUmemcpyAttributes*>(attributes), indices, attribute_count, stream);
}
#else
SIMCUDA_RT_STREAM(cudaMemcpyBatchAsync, _ptsz,
                  (void* const* to, const void* const* from, const size_t* sizes, size_t count,
                   cudaMemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                   cudaStream_t stream),
                  (to, from, sizes, count, attributes, indices, attribute_count, stream)) {
  if (cu.cuMemcpyBatchAsync_v2 == nullptr) return cudaErrorNotSupported;
  return cu.cuMemcpyBatchAsync_v2(
      reinterpret_cast<CUdeviceptr*>(const_cast<void**>(to)),
      reinterpret_cast<CUdeviceptr*>(const_cast<void**>(from)), const_cast<size_t*>(sizes), count,
      reinterpret_cast<CUmemcpyAttributes*>(attributes), indices, attribute_count, stream);
}
#endif
static_assert(sizeof(cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes));

#endif
