// Stream capture and graphs.
#include <cuda_runtime_api.h>

#include "simcuda/runtime/copy_box.h"
#include "simcuda/runtime/graph_params.h"
#include "simcuda/runtime/state.h"

using memprof::simcuda::runtime::BoxOf;
using memprof::simcuda::runtime::CurrentHandle;
using memprof::simcuda::runtime::FillOf;
using memprof::simcuda::runtime::KernelOf;
using memprof::simcuda::runtime::LineOf;

SIMCUDA_RT_STREAM(cudaStreamIsCapturing, _ptsz,
                  (cudaStream_t stream, cudaStreamCaptureStatus* status), (stream, status)) {
  return cu.cuStreamIsCapturing(stream, reinterpret_cast<CUstreamCaptureStatus*>(status));
}

SIMCUDA_RT_STREAM(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, cudaStreamCaptureMode mode),
                  (stream, mode)) {
  return cu.cuStreamBeginCapture_v2(stream, static_cast<CUstreamCaptureMode>(mode));
}

SIMCUDA_RT_STREAM(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t* graph),
                  (stream, graph)) {
  return cu.cuStreamEndCapture(stream, graph);
}

SIMCUDA_RT(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode), (mode)) {
  return cu.cuThreadExchangeStreamCaptureMode(reinterpret_cast<CUstreamCaptureMode*>(mode));
}

SIMCUDA_RT(cudaUserObjectCreate,
           (cudaUserObject_t * object, void* data, cudaHostFn_t destroy, unsigned references,
            unsigned flags),
           (object, data, destroy, references, flags)) {
  return cu.cuUserObjectCreate(object, data, destroy, references, flags);
}

SIMCUDA_RT(cudaUserObjectRetain, (cudaUserObject_t object, unsigned count), (object, count)) {
  return cu.cuUserObjectRetain(object, count);
}

SIMCUDA_RT(cudaUserObjectRelease, (cudaUserObject_t object, unsigned count), (object, count)) {
  return cu.cuUserObjectRelease(object, count);
}

SIMCUDA_RT(cudaGraphRetainUserObject,
           (cudaGraph_t graph, cudaUserObject_t object, unsigned count, unsigned flags),
           (graph, object, count, flags)) {
  return cu.cuGraphRetainUserObject(graph, object, count, flags);
}

SIMCUDA_RT(cudaGraphReleaseUserObject, (cudaGraph_t graph, cudaUserObject_t object, unsigned count),
           (graph, object, count)) {
  return cu.cuGraphReleaseUserObject(graph, object, count);
}

SIMCUDA_RT(cudaGraphCreate, (cudaGraph_t * graph, unsigned flags), (graph, flags)) {
  return cu.cuGraphCreate(graph, flags);
}

SIMCUDA_RT(cudaGraphDestroy, (cudaGraph_t graph), (graph)) { return cu.cuGraphDestroy(graph); }

SIMCUDA_RT(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
           (graph, nodes, count)) {
  return cu.cuGraphGetNodes(graph, nodes, count);
}

SIMCUDA_RT(cudaGraphInstantiateWithFlags,
           (cudaGraphExec_t * exec, cudaGraph_t graph, unsigned long long flags),
           (exec, graph, flags)) {
  return cu.cuGraphInstantiateWithFlags(exec, graph, flags);
}

SIMCUDA_RT_STREAM(cudaGraphLaunch, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream),
                  (exec, stream)) {
  return cu.cuGraphLaunch(exec, stream);
}

SIMCUDA_RT_STREAM(cudaGraphUpload, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream),
                  (exec, stream)) {
  return cu.cuGraphUpload(exec, stream);
}

SIMCUDA_RT(cudaGraphExecDestroy, (cudaGraphExec_t exec), (exec)) {
  return cu.cuGraphExecDestroy(exec);
}

SIMCUDA_RT(cudaGraphGetRootNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
           (graph, nodes, count)) {
  return cu.cuGraphGetRootNodes(graph, nodes, count);
}

SIMCUDA_RT(cudaGraphNodeGetType, (cudaGraphNode_t node, cudaGraphNodeType* type), (node, type)) {
  return cu.cuGraphNodeGetType(node, reinterpret_cast<CUgraphNodeType*>(type));
}

SIMCUDA_RT(cudaGraphDestroyNode, (cudaGraphNode_t node), (node)) {
  return cu.cuGraphDestroyNode(node);
}

SIMCUDA_RT(cudaGraphAddEmptyNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count),
           (node, graph, dependencies, count)) {
  return cu.cuGraphAddEmptyNode(node, graph, dependencies, count);
}

SIMCUDA_RT(cudaGraphAddHostNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, const cudaHostNodeParams* parameters),
           (node, graph, dependencies, count, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  const CUDA_HOST_NODE_PARAMS converted = {parameters->fn, parameters->userData};
  return cu.cuGraphAddHostNode(node, graph, dependencies, count, &converted);
}

SIMCUDA_RT(cudaGraphAddKernelNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, const cudaKernelNodeParams* parameters),
           (node, graph, dependencies, count, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  CUDA_KERNEL_NODE_PARAMS_v1 converted;
  const int error = KernelOf(*parameters, &converted);
  if (error != 0) return error;
  return cu.cuGraphAddKernelNode(node, graph, dependencies, count, &converted);
}

SIMCUDA_RT(cudaGraphAddMemsetNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, const cudaMemsetParams* parameters),
           (node, graph, dependencies, count, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  const CUDA_MEMSET_NODE_PARAMS converted = FillOf(*parameters);
  return cu.cuGraphAddMemsetNode(node, graph, dependencies, count, &converted, CurrentHandle());
}

SIMCUDA_RT(cudaGraphAddMemcpyNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, const cudaMemcpy3DParms* parameters),
           (node, graph, dependencies, count, parameters)) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  CUDA_MEMCPY3D copy;
  const int error = BoxOf(cu, *parameters, &copy);
  if (error != 0) return error;
  return cu.cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, CurrentHandle());
}

SIMCUDA_RT(cudaGraphAddMemcpyNode1D,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
           (node, graph, dependencies, count, to, from, bytes, kind)) {
  CUDA_MEMCPY3D copy;
  const int error = BoxOf(cu, LineOf(to, from, bytes, kind), &copy);
  if (error != 0) return error;
  return cu.cuGraphAddMemcpyNode(node, graph, dependencies, count, &copy, CurrentHandle());
}

SIMCUDA_RT(cudaGraphAddMemAllocNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, cudaMemAllocNodeParams* parameters),
           (node, graph, dependencies, count, parameters)) {
  static_assert(sizeof(cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
  return cu.cuGraphAddMemAllocNode(node, graph, dependencies, count,
                                   reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(parameters));
}

SIMCUDA_RT(cudaGraphMemAllocNodeGetParams,
           (cudaGraphNode_t node, cudaMemAllocNodeParams* parameters), (node, parameters)) {
  return cu.cuGraphMemAllocNodeGetParams(node,
                                         reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(parameters));
}

SIMCUDA_RT(cudaGraphAddMemFreeNode,
           (cudaGraphNode_t * node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
            size_t count, void* pointer),
           (node, graph, dependencies, count, pointer)) {
  return cu.cuGraphAddMemFreeNode(node, graph, dependencies, count,
                                  reinterpret_cast<CUdeviceptr>(pointer));
}

SIMCUDA_RT(cudaGraphMemFreeNodeGetParams, (cudaGraphNode_t node, void* pointer), (node, pointer)) {
  return cu.cuGraphMemFreeNodeGetParams(node, static_cast<CUdeviceptr*>(pointer));
}

SIMCUDA_RT(cudaDeviceGraphMemTrim, (int device), (device)) {
  return cu.cuDeviceGraphMemTrim(device);
}

SIMCUDA_RT(cudaDeviceGetGraphMemAttribute,
           (int device, cudaGraphMemAttributeType attribute, void* value),
           (device, attribute, value)) {
  return cu.cuDeviceGetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attribute),
                                         value);
}

SIMCUDA_RT(cudaDeviceSetGraphMemAttribute,
           (int device, cudaGraphMemAttributeType attribute, void* value),
           (device, attribute, value)) {
  return cu.cuDeviceSetGraphMemAttribute(device, static_cast<CUgraphMem_attribute>(attribute),
                                         value);
}
