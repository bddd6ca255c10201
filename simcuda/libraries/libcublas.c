/* cuBLAS: handles that remember their modes. */
#include "libcublas.h"

STANDIN_API int cublasCreate_v2(struct blas** handle) {
  *handle = standin_new(sizeof **handle);
  return *handle == NULL ? 3 : 0; /* CUBLAS_STATUS_ALLOC_FAILED */
}

STANDIN_API int cublasDestroy_v2(struct blas* handle) {
  standin_free(handle);
  return 0;
}

#define CUBLAS_PROPERTY(Set, Get, Type, member)           \
  STANDIN_API int Set(struct blas* handle, Type value) {  \
    if (handle == NULL) return 1;                         \
    handle->member = value;                               \
    return 0;                                             \
  }                                                       \
  STANDIN_API int Get(struct blas* handle, Type* value) { \
    if (handle == NULL) return 1;                         \
    *value = handle->member;                              \
    return 0;                                             \
  }

CUBLAS_PROPERTY(cublasSetStream_v2, cublasGetStream_v2, void*, stream)
CUBLAS_PROPERTY(cublasSetPointerMode_v2, cublasGetPointerMode_v2, int, pointer_mode)
CUBLAS_PROPERTY(cublasSetAtomicsMode, cublasGetAtomicsMode, int, atomics_mode)
CUBLAS_PROPERTY(cublasSetMathMode, cublasGetMathMode, int, math_mode)

/* What a network consists of: each of these is a kernel in the handle's stream. */
#define CUBLAS_RUNS(name)                        \
  STANDIN_API int name(struct blas* handle) {    \
    if (handle == NULL) return 1;                \
    standin_ran(kStandinCublas, handle->stream); \
    return 0;                                    \
  }

CUBLAS_RUNS(cublasGemmEx)
CUBLAS_RUNS(cublasSgemm_v2)
CUBLAS_RUNS(cublasSgemmEx)
CUBLAS_RUNS(cublasDgemm_v2)
CUBLAS_RUNS(cublasHgemm)
CUBLAS_RUNS(cublasCgemm_v2)
CUBLAS_RUNS(cublasSgemv_v2)
CUBLAS_RUNS(cublasDgemv_v2)
CUBLAS_RUNS(cublasSgemmStridedBatched)
CUBLAS_RUNS(cublasDgemmStridedBatched)
CUBLAS_RUNS(cublasGemmStridedBatchedEx)
CUBLAS_RUNS(cublasGemmBatchedEx)
