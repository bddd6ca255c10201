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

#endif  // SIMCUDA_DRIVER_CUDA_HEADERS_H
