// Parameters of graph nodes as the driver describes them.
#ifndef SIMCUDA_RUNTIME_GRAPH_PARAMS_H
#define SIMCUDA_RUNTIME_GRAPH_PARAMS_H

#include <driver_types.h>

#include "simcuda/runtime/calls.h"

namespace memprof::simcuda::runtime {

int FindFunction(const void* kernel, CUfunction* function);

// `Params` is any version of cudaKernelNodeParams or cudaMemsetParams. A cudaError.
template <class Params>
int KernelOf(const Params& from, CUDA_KERNEL_NODE_PARAMS_v1* to) {
  *to = {};
  const int error = FindFunction(from.func, &to->func);
  if (error != 0) return error;
  to->gridDimX = from.gridDim.x;
  to->gridDimY = from.gridDim.y;
  to->gridDimZ = from.gridDim.z;
  to->blockDimX = from.blockDim.x;
  to->blockDimY = from.blockDim.y;
  to->blockDimZ = from.blockDim.z;
  to->sharedMemBytes = from.sharedMemBytes;
  to->kernelParams = from.kernelParams;
  to->extra = from.extra;
  return 0;
}

template <class Params>
CUDA_MEMSET_NODE_PARAMS FillOf(const Params& from) {
  CUDA_MEMSET_NODE_PARAMS to = {};
  to.dst = reinterpret_cast<CUdeviceptr>(from.dst);
  to.pitch = from.pitch;
  to.value = from.value;
  to.elementSize = from.elementSize;
  to.width = from.width;
  to.height = from.height;
  return to;
}

#if CUDA_VERSION >= 13000
// cudaGraphAddNode of either version; a cudaError.
int AddAnyNode(const Calls& cu, cudaGraphNode_t* node, cudaGraph_t graph,
               const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges, size_t count,
               cudaGraphNodeParams* parameters);
#endif

// A copy of contiguous bytes.
inline cudaMemcpy3DParms LineOf(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms line = {};
  line.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  line.dstPtr = {to, bytes, bytes, 1};
  line.extent = {bytes, 1, 1};
  line.kind = kind;
  return line;
}

}  // namespace memprof::simcuda::runtime

#endif  // SIMCUDA_RUNTIME_GRAPH_PARAMS_H
