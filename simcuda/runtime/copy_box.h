// Copies of boxes and arrays as the driver describes them.
#ifndef SIMCUDA_RUNTIME_COPY_BOX_H
#define SIMCUDA_RUNTIME_COPY_BOX_H

#include <cuda_runtime_api.h>

#include "simcuda/runtime/calls.h"

namespace memprof::simcuda::runtime {

// How the driver interprets the two sides of a copy of this kind.
void MemoryTypes(cudaMemcpyKind kind, CUmemorytype* to, CUmemorytype* from);
CUarray ArrayOf(cudaArray_const_t array);
// A cudaError.
int BoxOf(const Calls& cu, const cudaMemcpy3DParms& p, CUDA_MEMCPY3D* copy);
// The reverse.
int BoxFrom(const Calls& cu, const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* p);
// Bytes of a row of the array; a cudaError.
int RowBytes(const Calls& cu, cudaArray_const_t array, size_t* bytes);

}  // namespace memprof::simcuda::runtime

#endif  // SIMCUDA_RUNTIME_COPY_BOX_H
