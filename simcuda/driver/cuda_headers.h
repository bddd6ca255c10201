// The driver's header with every version of every function, the parameter structs and the ids that
// CUPTI documents. Without the macro, cuda.h would rename cuMemAlloc to cuMemAlloc_v2 and so on.
#ifndef SIMCUDA_DRIVER_CUDA_HEADERS_H
#define SIMCUDA_DRIVER_CUDA_HEADERS_H

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>
#include <cupti_driver_cbid.h>
#include <generated_cuda_meta.h>

#if CUDA_VERSION < 12000
// The parts of cuGetProcAddress_v2 that the headers of CUDA 11 lack.
enum CUdriverProcAddressQueryResult {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
  CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT = 2,
};
struct cuGetProcAddress_v2_params {
  const char* symbol;
  void** pfn;
  int cudaVersion;
  cuuint64_t flags;
  CUdriverProcAddressQueryResult* symbolStatus;
};
extern "C" CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion,
                                        cuuint64_t flags,
                                        CUdriverProcAddressQueryResult* symbolStatus);
#endif

// From cudaGL.h and generated_cudaGL_meta.h, which would require headers of OpenGL; GLuint and
// GLenum are unsigned.
struct cuGraphicsGLRegisterBuffer_params {
  CUgraphicsResource* pCudaResource;
  unsigned buffer;
  unsigned Flags;
};
struct cuGraphicsGLRegisterImage_params {
  CUgraphicsResource* pCudaResource;
  unsigned image;
  unsigned target;
  unsigned Flags;
};
extern "C" CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource* pCudaResource, unsigned buffer,
                                               unsigned Flags);
extern "C" CUresult cuGraphicsGLRegisterImage(CUgraphicsResource* pCudaResource, unsigned image,
                                              unsigned target, unsigned Flags);

#endif  // SIMCUDA_DRIVER_CUDA_HEADERS_H
