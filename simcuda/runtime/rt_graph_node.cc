// Parameters of graph nodes, and changes of nodes and executables. Copies: rt_graph_copy.cc.
#include <cuda_runtime_api.h>

#include <cstring>

#include "simcuda/runtime/copy_box.h"
#include "simcuda/runtime/graph_params.h"
#include "simcuda/runtime/registry.h"
#include "simcuda/runtime/state.h"

#if CUDA_VERSION >= 13000

using memprof::simcuda::runtime::BoxOf;
using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::CurrentHandle;
using memprof::simcuda::runtime::FillOf;
using memprof::simcuda::runtime::FindHostAddress;
using memprof::simcuda::runtime::KernelOf;

// SIMCUDA_RT for a function whose driver variant has the same name except for the prefix, and may
// be missing.
#define SIMCUDA_RT_TWIN(name, variant, parameters, arguments) \
  SIMCUDA_RT(name, parameters, arguments) {                   \
    if (cu.variant == nullptr) return cudaErrorNotSupported;  \
    return cu.variant arguments;                              \
  }

SIMCUDA_RT_TWIN(cudaGraphAddChildGraphNode, cuGraphAddChildGraphNode,
                (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                 size_t count, cudaGraph_t child),
                (node, graph, dependencies, count, child))
SIMCUDA_RT_TWIN(cudaGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph,
                (cudaGraphNode_t node, cudaGraph_t* graph), (node, graph))
SIMCUDA_RT_TWIN(cudaGraphClone, cuGraphClone, (cudaGraph_t * clone, cudaGraph_t graph),
                (clone, graph))
SIMCUDA_RT_TWIN(cudaGraphNodeFindInClone, cuGraphNodeFindInClone,
                (cudaGraphNode_t * node, cudaGraphNode_t original, cudaGraph_t clone),
                (node, original, clone))
SIMCUDA_RT_TWIN(cudaGraphDebugDotPrint, cuGraphDebugDotPrint,
                (cudaGraph_t graph, const char* path, unsigned flags), (graph, path, flags))
SIMCUDA_RT_TWIN(cudaGraphAddEventRecordNode, cuGraphAddEventRecordNode,
                (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                 size_t count, cudaEvent_t event),
                (node, graph, dependencies, count, event))
SIMCUDA_RT_TWIN(cudaGraphAddEventWaitNode, cuGraphAddEventWaitNode,
                (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                 size_t count, cudaEvent_t event),
                (node, graph, dependencies, count, event))
SIMCUDA_RT_TWIN(cudaGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent,
                (cudaGraphNode_t node, cudaEvent_t* event), (node, event))
SIMCUDA_RT_TWIN(cudaGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent,
                (cudaGraphNode_t node, cudaEvent_t event), (node, event))
SIMCUDA_RT_TWIN(cudaGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent,
                (cudaGraphNode_t node, cudaEvent_t* event), (node, event))
SIMCUDA_RT_TWIN(cudaGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent,
                (cudaGraphNode_t node, cudaEvent_t event), (node, event))
SIMCUDA_RT_TWIN(cudaGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent,
                (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event),
                (exec, node, event))
SIMCUDA_RT_TWIN(cudaGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent,
                (cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event),
                (exec, node, event))
SIMCUDA_RT_TWIN(cudaGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams,
                (cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child),
                (exec, node, child))
SIMCUDA_RT_TWIN(cudaGraphNodeSetEnabled, cuGraphNodeSetEnabled,
                (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled),
                (exec, node, enabled))
SIMCUDA_RT_TWIN(cudaGraphNodeGetEnabled, cuGraphNodeGetEnabled,
                (cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled),
                (exec, node, enabled))
SIMCUDA_RT_TWIN(cudaGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes,
                (cudaGraphNode_t to, cudaGraphNode_t from), (to, from))

SIMCUDA_RT(cudaGraphExecGetFlags, (cudaGraphExec_t exec, unsigned long long* flags),
           (exec, flags)) {
  cuuint64_t found = 0;
  if (cu.cuGraphExecGetFlags == nullptr) return cudaErrorNotSupported;
  const CUresult result = cu.cuGraphExecGetFlags(exec, flags == nullptr ? nullptr : &found);
  if (result == CUDA_SUCCESS) *flags = found;
  return result;
}

SIMCUDA_RT(cudaGraphInstantiateWithParams,
           (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams* parameters),
           (exec, graph, parameters)) {
  static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
  if (cu.cuGraphInstantiateWithParams == nullptr) return cudaErrorNotSupported;
  return cu.cuGraphInstantiateWithParams(
      exec, graph, reinterpret_cast<CUDA_GRAPH_INSTANTIATE_PARAMS*>(parameters));
}

SIMCUDA_RT(cudaGraphExecUpdate,
           (cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info),
           (exec, graph, info)) {
  static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo));
  if (cu.cuGraphExecUpdate_v2 == nullptr) return cudaErrorNotSupported;
  return cu.cuGraphExecUpdate_v2(exec, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(info));
}

SIMCUDA_RT(cudaGraphKernelNodeGetParams, (cudaGraphNode_t node, cudaKernelNodeParams* parameters),
           (node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphKernelNodeGetParams == nullptr) return cudaErrorNotSupported;
  CUDA_KERNEL_NODE_PARAMS_v1 found = {};
  const CUresult result = cu.cuGraphKernelNodeGetParams(node, &found);
  if (result != CUDA_SUCCESS) return result;
  const void* host = FindHostAddress(found.func);
  parameters->func = host != nullptr ? const_cast<void*>(host) : static_cast<void*>(found.func);
  parameters->gridDim = dim3(found.gridDimX, found.gridDimY, found.gridDimZ);
  parameters->blockDim = dim3(found.blockDimX, found.blockDimY, found.blockDimZ);
  parameters->sharedMemBytes = found.sharedMemBytes;
  parameters->kernelParams = found.kernelParams;
  parameters->extra = found.extra;
  return CUDA_SUCCESS;
}

SIMCUDA_RT(cudaGraphKernelNodeSetParams,
           (cudaGraphNode_t node, const cudaKernelNodeParams* parameters), (node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphKernelNodeSetParams == nullptr) return cudaErrorNotSupported;
  CUDA_KERNEL_NODE_PARAMS_v1 converted;
  const int error = KernelOf(*parameters, &converted);
  return error != 0 ? error : cu.cuGraphKernelNodeSetParams(node, &converted);
}

SIMCUDA_RT(cudaGraphExecKernelNodeSetParams,
           (cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams* parameters),
           (exec, node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphExecKernelNodeSetParams == nullptr) return cudaErrorNotSupported;
  CUDA_KERNEL_NODE_PARAMS_v1 converted;
  const int error = KernelOf(*parameters, &converted);
  return error != 0 ? error : cu.cuGraphExecKernelNodeSetParams(exec, node, &converted);
}

static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUlaunchAttributeValue));

SIMCUDA_RT(cudaGraphKernelNodeSetAttribute,
           (cudaGraphNode_t node, cudaLaunchAttributeID attribute,
            const cudaLaunchAttributeValue* value),
           (node, attribute, value)) {
  if (cu.cuGraphKernelNodeSetAttribute == nullptr) return cudaErrorNotSupported;
  return cu.cuGraphKernelNodeSetAttribute(node, static_cast<CUlaunchAttributeID>(attribute),
                                          reinterpret_cast<const CUlaunchAttributeValue*>(value));
}

SIMCUDA_RT(cudaGraphKernelNodeGetAttribute,
           (cudaGraphNode_t node, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue* value),
           (node, attribute, value)) {
  if (cu.cuGraphKernelNodeGetAttribute == nullptr) return cudaErrorNotSupported;
  return cu.cuGraphKernelNodeGetAttribute(node, static_cast<CUlaunchAttributeID>(attribute),
                                          reinterpret_cast<CUlaunchAttributeValue*>(value));
}

SIMCUDA_RT(cudaGraphHostNodeGetParams, (cudaGraphNode_t node, cudaHostNodeParams* parameters),
           (node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphHostNodeGetParams == nullptr) return cudaErrorNotSupported;
  CUDA_HOST_NODE_PARAMS found = {};
  const CUresult result = cu.cuGraphHostNodeGetParams(node, &found);
  if (result == CUDA_SUCCESS) *parameters = {found.fn, found.userData};
  return result;
}

SIMCUDA_RT(cudaGraphHostNodeSetParams, (cudaGraphNode_t node, const cudaHostNodeParams* parameters),
           (node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphHostNodeSetParams == nullptr) return cudaErrorNotSupported;
  const CUDA_HOST_NODE_PARAMS converted = {parameters->fn, parameters->userData};
  return cu.cuGraphHostNodeSetParams(node, &converted);
}

SIMCUDA_RT(cudaGraphExecHostNodeSetParams,
           (cudaGraphExec_t exec, cudaGraphNode_t node, const cudaHostNodeParams* parameters),
           (exec, node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphExecHostNodeSetParams == nullptr) return cudaErrorNotSupported;
  const CUDA_HOST_NODE_PARAMS converted = {parameters->fn, parameters->userData};
  return cu.cuGraphExecHostNodeSetParams(exec, node, &converted);
}

SIMCUDA_RT(cudaGraphMemsetNodeGetParams, (cudaGraphNode_t node, cudaMemsetParams* parameters),
           (node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphMemsetNodeGetParams == nullptr) return cudaErrorNotSupported;
  CUDA_MEMSET_NODE_PARAMS found = {};
  const CUresult result = cu.cuGraphMemsetNodeGetParams(node, &found);
  if (result != CUDA_SUCCESS) return result;
  *parameters = {reinterpret_cast<void*>(found.dst),
                 found.pitch,
                 found.value,
                 found.elementSize,
                 found.width,
                 found.height};
  return CUDA_SUCCESS;
}

SIMCUDA_RT(cudaGraphMemsetNodeSetParams, (cudaGraphNode_t node, const cudaMemsetParams* parameters),
           (node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphMemsetNodeSetParams == nullptr) return cudaErrorNotSupported;
  const CUDA_MEMSET_NODE_PARAMS converted = FillOf(*parameters);
  return cu.cuGraphMemsetNodeSetParams(node, &converted);
}

SIMCUDA_RT(cudaGraphExecMemsetNodeSetParams,
           (cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemsetParams* parameters),
           (exec, node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphExecMemsetNodeSetParams == nullptr) return cudaErrorNotSupported;
  const CUDA_MEMSET_NODE_PARAMS converted = FillOf(*parameters);
  return cu.cuGraphExecMemsetNodeSetParams(exec, node, &converted, CurrentHandle());
}

namespace {

// The kinds whose parameters the runtime describes in its own way; the others are the driver's.
int ParametersOf(const Calls& cu, const cudaGraphNodeParams& from, CUgraphNodeParams* to) {
  static_assert(sizeof(cudaGraphNodeParams) == sizeof(CUgraphNodeParams));
  std::memcpy(static_cast<void*>(to), &from, sizeof(*to));
  if (from.type == cudaGraphNodeTypeMemcpy) {
    to->memcpy = {};
    return BoxOf(cu, from.memcpy.copyParams, &to->memcpy.copyParams);
  }
  if (from.type == cudaGraphNodeTypeMemset) {
    to->memset.ctx = CurrentHandle();
    return 0;
  }
  if (from.type != cudaGraphNodeTypeKernel) return 0;
  CUDA_KERNEL_NODE_PARAMS_v1 kernel;
  const int error = KernelOf(from.kernel, &kernel);
  if (error != 0) return error;
  to->kernel = {};
  to->kernel.func = kernel.func;
  to->kernel.gridDimX = kernel.gridDimX;
  to->kernel.gridDimY = kernel.gridDimY;
  to->kernel.gridDimZ = kernel.gridDimZ;
  to->kernel.blockDimX = kernel.blockDimX;
  to->kernel.blockDimY = kernel.blockDimY;
  to->kernel.blockDimZ = kernel.blockDimZ;
  to->kernel.sharedMemBytes = kernel.sharedMemBytes;
  to->kernel.kernelParams = kernel.kernelParams;
  to->kernel.extra = kernel.extra;
  return 0;
}

}  // namespace

namespace memprof::simcuda::runtime {

int AddAnyNode(const Calls& cu, cudaGraphNode_t* node, cudaGraph_t graph,
               const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges, size_t count,
               cudaGraphNodeParams* parameters) {
  static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData));
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphAddNode_v2 == nullptr) return cudaErrorNotSupported;
  CUgraphNodeParams converted;
  const int error = ParametersOf(cu, *parameters, &converted);
  if (error != 0) return error;
  const CUresult result =
      cu.cuGraphAddNode_v2(node, graph, dependencies,
                           reinterpret_cast<const CUgraphEdgeData*>(edges), count, &converted);
  if (result == CUDA_SUCCESS && parameters->type == cudaGraphNodeTypeMemAlloc) {
    parameters->alloc.dptr = reinterpret_cast<void*>(converted.alloc.dptr);
  }
  return result;
}

}  // namespace memprof::simcuda::runtime

SIMCUDA_RT(cudaGraphNodeSetParams, (cudaGraphNode_t node, cudaGraphNodeParams* parameters),
           (node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphNodeSetParams == nullptr) return cudaErrorNotSupported;
  CUgraphNodeParams converted;
  const int error = ParametersOf(cu, *parameters, &converted);
  return error != 0 ? error : cu.cuGraphNodeSetParams(node, &converted);
}

SIMCUDA_RT(cudaGraphExecNodeSetParams,
           (cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams* parameters),
           (exec, node, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  if (cu.cuGraphExecNodeSetParams == nullptr) return cudaErrorNotSupported;
  CUgraphNodeParams converted;
  const int error = ParametersOf(cu, *parameters, &converted);
  return error != 0 ? error : cu.cuGraphExecNodeSetParams(exec, node, &converted);
}

#endif
