// Functions that the runtime only passes on: libraries of kernels, graphics, attributes of streams,
// clusters.
#include <cuda_runtime_api.h>

#include "simcuda/runtime/channel.h"
#include "simcuda/runtime/registry.h"
#include "simcuda/runtime/state.h"

#if CUDA_VERSION >= 13000

using memprof::simcuda::runtime::Calls;
using memprof::simcuda::runtime::FindFunction;

#define SIMCUDA_NEED(function) \
  if (cu.function == nullptr) return cudaErrorNotSupported

SIMCUDA_RT(cudaLibraryLoadData,
           (cudaLibrary_t * library, const void* code, cudaJitOption* /*jit_options*/,
            void** /*jit_values*/, unsigned /*jit_count*/, cudaLibraryOption* /*options*/,
            void** /*values*/, unsigned /*count*/),
           (library, code, nullptr, nullptr, 0, nullptr, nullptr, 0)) {
  SIMCUDA_NEED(cuLibraryLoadData);
  return cu.cuLibraryLoadData(library, code, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

SIMCUDA_RT(cudaLibraryLoadFromFile,
           (cudaLibrary_t * library, const char* file, cudaJitOption* /*jit_options*/,
            void** /*jit_values*/, unsigned /*jit_count*/, cudaLibraryOption* /*options*/,
            void** /*values*/, unsigned /*count*/),
           (library, file, nullptr, nullptr, 0, nullptr, nullptr, 0)) {
  SIMCUDA_NEED(cuLibraryLoadFromFile);
  return cu.cuLibraryLoadFromFile(library, file, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

SIMCUDA_RT(cudaLibraryUnload, (cudaLibrary_t library), (library)) {
  SIMCUDA_NEED(cuLibraryUnload);
  return cu.cuLibraryUnload(library);
}

SIMCUDA_RT(cudaLibraryGetKernel, (cudaKernel_t * kernel, cudaLibrary_t library, const char* name),
           (kernel, library, name)) {
  SIMCUDA_NEED(cuLibraryGetKernel);
  return cu.cuLibraryGetKernel(kernel, library, name);
}

SIMCUDA_RT(cudaLibraryGetGlobal,
           (void** address, size_t* bytes, cudaLibrary_t library, const char* name),
           (address, bytes, library, name)) {
  SIMCUDA_NEED(cuLibraryGetGlobal);
  return cu.cuLibraryGetGlobal(reinterpret_cast<CUdeviceptr*>(address), bytes, library, name);
}

SIMCUDA_RT(cudaLibraryGetKernelCount, (unsigned* count, cudaLibrary_t library), (count, library)) {
  SIMCUDA_NEED(cuLibraryGetKernelCount);
  return cu.cuLibraryGetKernelCount(count, library);
}

SIMCUDA_RT(cudaLibraryEnumerateKernels,
           (cudaKernel_t * kernels, unsigned count, cudaLibrary_t library),
           (kernels, count, library)) {
  SIMCUDA_NEED(cuLibraryEnumerateKernels);
  return cu.cuLibraryEnumerateKernels(kernels, count, library);
}

SIMCUDA_RT(cudaFuncGetParamInfo, (const void* kernel, size_t index, size_t* offset, size_t* bytes),
           (kernel, index, offset, bytes)) {
  SIMCUDA_NEED(cuFuncGetParamInfo);
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  return error != 0 ? error : cu.cuFuncGetParamInfo(function, index, offset, bytes);
}

SIMCUDA_RT(cudaGraphicsGLRegisterBuffer,
           (cudaGraphicsResource_t * resource, unsigned buffer, unsigned flags),
           (resource, buffer, flags)) {
  SIMCUDA_NEED(cuGraphicsGLRegisterBuffer);
  return cu.cuGraphicsGLRegisterBuffer(reinterpret_cast<CUgraphicsResource*>(resource), buffer,
                                       flags);
}

SIMCUDA_RT(cudaGraphicsGLRegisterImage,
           (cudaGraphicsResource_t * resource, unsigned image, unsigned target, unsigned flags),
           (resource, image, target, flags)) {
  SIMCUDA_NEED(cuGraphicsGLRegisterImage);
  return cu.cuGraphicsGLRegisterImage(reinterpret_cast<CUgraphicsResource*>(resource), image,
                                      target, flags);
}

SIMCUDA_RT(cudaGraphicsMapResources,
           (int count, cudaGraphicsResource_t* resources, cudaStream_t stream),
           (count, resources, stream)) {
  SIMCUDA_NEED(cuGraphicsMapResources);
  return cu.cuGraphicsMapResources(static_cast<unsigned>(count),
                                   reinterpret_cast<CUgraphicsResource*>(resources), stream);
}

SIMCUDA_RT(cudaGraphicsUnmapResources,
           (int count, cudaGraphicsResource_t* resources, cudaStream_t stream),
           (count, resources, stream)) {
  SIMCUDA_NEED(cuGraphicsUnmapResources);
  return cu.cuGraphicsUnmapResources(static_cast<unsigned>(count),
                                     reinterpret_cast<CUgraphicsResource*>(resources), stream);
}

SIMCUDA_RT(cudaGraphicsUnregisterResource, (cudaGraphicsResource_t resource), (resource)) {
  SIMCUDA_NEED(cuGraphicsUnregisterResource);
  return cu.cuGraphicsUnregisterResource(reinterpret_cast<CUgraphicsResource>(resource));
}

SIMCUDA_RT(cudaGraphicsResourceSetMapFlags, (cudaGraphicsResource_t resource, unsigned flags),
           (resource, flags)) {
  SIMCUDA_NEED(cuGraphicsResourceSetMapFlags_v2);
  return cu.cuGraphicsResourceSetMapFlags_v2(reinterpret_cast<CUgraphicsResource>(resource), flags);
}

SIMCUDA_RT(cudaGraphicsResourceGetMappedPointer,
           (void** address, size_t* bytes, cudaGraphicsResource_t resource),
           (address, bytes, resource)) {
  SIMCUDA_NEED(cuGraphicsResourceGetMappedPointer_v2);
  return cu.cuGraphicsResourceGetMappedPointer_v2(reinterpret_cast<CUdeviceptr*>(address), bytes,
                                                  reinterpret_cast<CUgraphicsResource>(resource));
}

SIMCUDA_RT(cudaGraphicsSubResourceGetMappedArray,
           (cudaArray_t * array, cudaGraphicsResource_t resource, unsigned index, unsigned level),
           (array, resource, index, level)) {
  SIMCUDA_NEED(cuGraphicsSubResourceGetMappedArray);
  return cu.cuGraphicsSubResourceGetMappedArray(reinterpret_cast<CUarray*>(array),
                                                reinterpret_cast<CUgraphicsResource>(resource),
                                                index, level);
}

SIMCUDA_RT_STREAM(cudaStreamSetAttribute, _ptsz,
                  (cudaStream_t stream, cudaLaunchAttributeID attribute,
                   const cudaLaunchAttributeValue* value),
                  (stream, attribute, value)) {
  SIMCUDA_NEED(cuStreamSetAttribute);
  return cu.cuStreamSetAttribute(stream, static_cast<CUlaunchAttributeID>(attribute),
                                 reinterpret_cast<const CUlaunchAttributeValue*>(value));
}

SIMCUDA_RT_STREAM(cudaStreamGetAttribute, _ptsz,
                  (cudaStream_t stream, cudaLaunchAttributeID attribute,
                   cudaLaunchAttributeValue* value),
                  (stream, attribute, value)) {
  SIMCUDA_NEED(cuStreamGetAttribute);
  return cu.cuStreamGetAttribute(stream, static_cast<CUlaunchAttributeID>(attribute),
                                 reinterpret_cast<CUlaunchAttributeValue*>(value));
}

SIMCUDA_RT_STREAM(cudaStreamCopyAttributes, _ptsz, (cudaStream_t to, cudaStream_t from),
                  (to, from)) {
  SIMCUDA_NEED(cuStreamCopyAttributes);
  return cu.cuStreamCopyAttributes(to, from);
}

SIMCUDA_RT_STREAM(cudaStreamGetId, _ptsz, (cudaStream_t stream, unsigned long long* id),
                  (stream, id)) {
  SIMCUDA_NEED(cuStreamGetId);
  return cu.cuStreamGetId(stream, id);
}

SIMCUDA_RT_STREAM(cudaStreamGetDevice, _ptsz, (cudaStream_t stream, int* device),
                  (stream, device)) {
  SIMCUDA_NEED(cuStreamGetDevice);
  return cu.cuStreamGetDevice(stream, device);
}

SIMCUDA_RT_STREAM(cudaStreamBeginCaptureToGraph, _ptsz,
                  (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                   const cudaGraphEdgeData* data, size_t count, cudaStreamCaptureMode mode),
                  (stream, graph, dependencies, data, count, mode)) {
  SIMCUDA_NEED(cuStreamBeginCaptureToGraph);
  return cu.cuStreamBeginCaptureToGraph(stream, graph, dependencies,
                                        reinterpret_cast<const CUgraphEdgeData*>(data), count,
                                        static_cast<CUstreamCaptureMode>(mode));
}

SIMCUDA_RT(cudaDeviceGetTexture1DLinearMaxWidth,
           (size_t * width, const cudaChannelFormatDesc* channel, int device),
           (width, channel, device)) {
  SIMCUDA_NEED(cuDeviceGetTexture1DLinearMaxWidth);
  CUarray_format format = CU_AD_FORMAT_FLOAT;
  unsigned channels = 1;
  if (channel == nullptr || !memprof::simcuda::runtime::Format(*channel, &format, &channels)) {
    return cudaErrorInvalidValue;
  }
  return cu.cuDeviceGetTexture1DLinearMaxWidth(width, format, channels, device);
}

namespace {

// The part of a launch on which a cluster's occupancy depends.
CUlaunchConfig ConfigOf(const cudaLaunchConfig_t& config) {
  CUlaunchConfig launch = {};
  launch.gridDimX = config.gridDim.x;
  launch.gridDimY = config.gridDim.y;
  launch.gridDimZ = config.gridDim.z;
  launch.blockDimX = config.blockDim.x;
  launch.blockDimY = config.blockDim.y;
  launch.blockDimZ = config.blockDim.z;
  launch.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
  launch.hStream = config.stream;
  launch.attrs = reinterpret_cast<CUlaunchAttribute*>(config.attrs);
  launch.numAttrs = config.numAttrs;
  return launch;
}

}  // namespace

SIMCUDA_RT(cudaOccupancyMaxPotentialClusterSize,
           (int* size, const void* kernel, const cudaLaunchConfig_t* config),
           (size, kernel, config)) {
  SIMCUDA_NEED(cuOccupancyMaxPotentialClusterSize);
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0 || config == nullptr) return error != 0 ? error : cudaErrorInvalidValue;
  const CUlaunchConfig launch = ConfigOf(*config);
  return cu.cuOccupancyMaxPotentialClusterSize(size, function, &launch);
}

SIMCUDA_RT(cudaOccupancyMaxActiveClusters,
           (int* clusters, const void* kernel, const cudaLaunchConfig_t* config),
           (clusters, kernel, config)) {
  SIMCUDA_NEED(cuOccupancyMaxActiveClusters);
  CUfunction function = nullptr;
  const int error = FindFunction(kernel, &function);
  if (error != 0 || config == nullptr) return error != 0 ? error : cudaErrorInvalidValue;
  const CUlaunchConfig launch = ConfigOf(*config);
  return cu.cuOccupancyMaxActiveClusters(clusters, function, &launch);
}

#endif
