// Nodes of graphs that copy: their parameters, and copies to and from variables.
#include <cuda_runtime_api.h>

#include "simcuda/runtime/copy_box.h"
#include "simcuda/runtime/graph_params.h"
#include "simcuda/runtime/registry.h"
#include "simcuda/runtime/state.h"

#if CUDA_VERSION >= 13000

using memprof::simcuda::runtime::BoxFrom;
using memprof::simcuda::runtime::BoxOf;
using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::CurrentHandle;
using memprof::simcuda::runtime::FindVariable;
using memprof::simcuda::runtime::LineOf;

namespace {

// The address for a copy to or from a variable.
int LineAtSymbol(const void* symbol, size_t offset, size_t bytes, void** address) {
  CUdeviceptr start = 0;
  size_t size = 0;
  const int error = FindVariable(symbol, &start, &size);
  if (error != 0) return error;
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  *address = reinterpret_cast<void*>(start + offset);
  return 0;
}

int AddCopy(const Calls& cu, cudaGraphNode_t* node, cudaGraph_t graph,
            const cudaGraphNode_t* dependencies, size_t count, const cudaMemcpy3DParms& copy) {
  CUDA_MEMCPY3D box;
  const int error = BoxOf(cu, copy, &box);
  return error != 0
             ? error
             : cu.cuGraphAddMemcpyNode(node, graph, dependencies, count, &box, CurrentHandle());
}

// Sets the copy of the node itself, or of its counterpart in an executable.
int SetCopy(const Calls& cu, cudaGraphExec_t exec, cudaGraphNode_t node,
            const cudaMemcpy3DParms& copy) {
  if (cu.cuGraphMemcpyNodeSetParams == nullptr || cu.cuGraphExecMemcpyNodeSetParams == nullptr) {
    return cudaErrorNotSupported;
  }
  CUDA_MEMCPY3D box;
  const int error = BoxOf(cu, copy, &box);
  if (error != 0) return error;
  return exec == nullptr ? cu.cuGraphMemcpyNodeSetParams(node, &box)
                         : cu.cuGraphExecMemcpyNodeSetParams(exec, node, &box, CurrentHandle());
}

}  // namespace

SIMCUDA_RT(cudaGraphMemcpyNodeGetParams, (cudaGraphNode_t node, cudaMemcpy3DParms* parameters),
           (node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphMemcpyNodeGetParams == nullptr) return cudaErrorNotSupported;
  CUDA_MEMCPY3D found = {};
  const CUresult result = cu.cuGraphMemcpyNodeGetParams(node, &found);
  return result != CUDA_SUCCESS ? static_cast<int>(result) : BoxFrom(cu, found, parameters);
}

SIMCUDA_RT(cudaGraphMemcpyNodeSetParams,
           (cudaGraphNode_t node, const cudaMemcpy3DParms* parameters), (node, parameters)) {
  return parameters == nullptr ? static_cast<int>(cudaErrorInvalidValue)
                               : SetCopy(cu, nullptr, node, *parameters);
}

SIMCUDA_RT(cudaGraphExecMemcpyNodeSetParams,
           (cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms* parameters),
           (exec, node, parameters)) {
  return parameters == nullptr || exec == nullptr ? static_cast<int>(cudaErrorInvalidValue)
                                                  : SetCopy(cu, exec, node, *parameters);
}

SIMCUDA_RT(cudaGraphMemcpyNodeSetParams1D,
           (cudaGraphNode_t node, void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
           (node, to, from, bytes, kind)) {
  return SetCopy(cu, nullptr, node, LineOf(to, from, bytes, kind));
}

SIMCUDA_RT(cudaGraphExecMemcpyNodeSetParams1D,
           (cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from, size_t bytes,
            cudaMemcpyKind kind),
           (exec, node, to, from, bytes, kind)) {
  if (exec == nullptr) return cudaErrorInvalidValue;
  return SetCopy(cu, exec, node, LineOf(to, from, bytes, kind));
}

SIMCUDA_RT(cudaGraphAddMemcpyNodeToSymbol,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, const void* symbol, const void* from, size_t bytes, size_t offset,
            cudaMemcpyKind kind),
           (node, graph, dependencies, count, symbol, from, bytes, offset, kind)) {
  void* to = nullptr;
  const int error = LineAtSymbol(symbol, offset, bytes, &to);
  if (error != 0) return error;
  return AddCopy(cu, node, graph, dependencies, count, LineOf(to, from, bytes, kind));
}

SIMCUDA_RT(cudaGraphAddMemcpyNodeFromSymbol,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, void* to, const void* symbol, size_t bytes, size_t offset,
            cudaMemcpyKind kind),
           (node, graph, dependencies, count, to, symbol, bytes, offset, kind)) {
  void* from = nullptr;
  const int error = LineAtSymbol(symbol, offset, bytes, &from);
  if (error != 0) return error;
  return AddCopy(cu, node, graph, dependencies, count, LineOf(to, from, bytes, kind));
}

SIMCUDA_RT(cudaGraphMemcpyNodeSetParamsToSymbol,
           (cudaGraphNode_t node, const void* symbol, const void* from, size_t bytes, size_t offset,
            cudaMemcpyKind kind),
           (node, symbol, from, bytes, offset, kind)) {
  void* to = nullptr;
  const int error = LineAtSymbol(symbol, offset, bytes, &to);
  return error != 0 ? error : SetCopy(cu, nullptr, node, LineOf(to, from, bytes, kind));
}

SIMCUDA_RT(cudaGraphMemcpyNodeSetParamsFromSymbol,
           (cudaGraphNode_t node, void* to, const void* symbol, size_t bytes, size_t offset,
            cudaMemcpyKind kind),
           (node, to, symbol, bytes, offset, kind)) {
  void* from = nullptr;
  const int error = LineAtSymbol(symbol, offset, bytes, &from);
  return error != 0 ? error : SetCopy(cu, nullptr, node, LineOf(to, from, bytes, kind));
}

SIMCUDA_RT(cudaGraphExecMemcpyNodeSetParamsToSymbol,
           (cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol, const void* from,
            size_t bytes, size_t offset, cudaMemcpyKind kind),
           (exec, node, symbol, from, bytes, offset, kind)) {
  void* to = nullptr;
  const int error = LineAtSymbol(symbol, offset, bytes, &to);
  return error != 0 ? error : SetCopy(cu, exec, node, LineOf(to, from, bytes, kind));
}

SIMCUDA_RT(cudaGraphExecMemcpyNodeSetParamsFromSymbol,
           (cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* symbol, size_t bytes,
            size_t offset, cudaMemcpyKind kind),
           (exec, node, to, symbol, bytes, offset, kind)) {
  void* from = nullptr;
  const int error = LineAtSymbol(symbol, offset, bytes, &from);
  return error != 0 ? error : SetCopy(cu, exec, node, LineOf(to, from, bytes, kind));
}

#endif
