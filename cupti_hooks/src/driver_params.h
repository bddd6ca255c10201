// Parameters of driver functions as CUPTI passes them: <function>_params of the toolkit's
// generated_cuda_meta.h, and our own structs for functions that the oldest supported toolkit (11.8)
// does not have. The struct of a callback id never changes, so both kinds work with every CUPTI.
#pragma once

#include <cuda.h>
#include <cupti_callbacks.h>
#include <generated_cuda_meta.h>

#include <cstddef>

namespace memprof::cupti {

// The part of the parameters of cuModuleGetFunction, cuLibraryGetKernel and cuKernelGetFunction
// that is read: where the call writes the handle of the kernel.
struct KernelHandleParams {
  void** handle;
};

// The parameters of the two versions of cuGraphAddNode.
struct GraphAddNodeParams {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* dependencies;
  std::size_t count;
  const void* node_params;
};
struct GraphAddNodeV2Params {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* dependencies;
  const void* edges;
  std::size_t count;
  const void* node_params;
};

struct CtxSynchronizeV2Params {
  CUcontext ctx;
};

// cuMemcpyBatchAsync: its first version has one parameter more than the second.
struct MemcpyBatchParams {
  CUdeviceptr* dsts;
  CUdeviceptr* srcs;
  std::size_t* sizes;
  std::size_t count;
  void* attrs;
  std::size_t* attrsIdxs;
  std::size_t numAttrs;
  std::size_t* failIdx;
  CUstream hStream;
};
struct MemcpyBatchV2Params {
  CUdeviceptr* dsts;
  CUdeviceptr* srcs;
  std::size_t* sizes;
  std::size_t count;
  void* attrs;
  std::size_t* attrsIdxs;
  std::size_t numAttrs;
  CUstream hStream;
};

}  // namespace memprof::cupti
