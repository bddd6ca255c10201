/* cuBLASLt: every multiplication has one algorithm, which needs no workspace. */
#include <string.h>

#include "standin.h"

/* cublasLtMatmulHeuristicResult_t of cublasLt.h. */
struct heuristic {
  uint64_t algorithm[8];
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

STANDIN_API int cublasLtMatmulAlgoGetHeuristic(void* handle, void* operation, void* a, void* b,
                                               void* c, void* d, void* preference, int requested,
                                               struct heuristic* results, int* found) {
  (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d, (void)preference;
  *found = 0;
  if (requested < 1) return 7; /* CUBLAS_STATUS_INVALID_VALUE */
  memset(results, 0, sizeof *results);
  results->algorithm[0] = 1;
  results->waves = 1;
  *found = 1;
  return 0;
}

STANDIN_API int cublasLtMatmulAlgoGetIds(void* handle, int compute, int scale, int a, int b, int c,
                                         int d, int requested, int* ids, int* found) {
  (void)handle, (void)compute, (void)scale, (void)a, (void)b, (void)c, (void)d;
  *found = requested < 1 ? 0 : 1;
  if (requested >= 1) ids[0] = 1;
  return 0;
}

STANDIN_API int cublasLtMatmulAlgoCheck(void* handle, void* operation, void* a, void* b, void* c,
                                        void* d, const void* algorithm, struct heuristic* result) {
  (void)handle, (void)operation, (void)a, (void)b, (void)c, (void)d;
  memset(result, 0, sizeof *result);
  if (algorithm != NULL) memcpy(result->algorithm, algorithm, sizeof result->algorithm);
  result->waves = 1;
  return 0;
}

STANDIN_API int cublasLtMatmul(void* handle, void* operation, const void* alpha, const void* a,
                               void* a_layout, const void* b, void* b_layout, const void* beta,
                               const void* c, void* c_layout, void* d, void* d_layout,
                               const void* algorithm, void* workspace, size_t bytes, void* stream) {
  (void)handle, (void)operation, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout;
  (void)beta, (void)c, (void)c_layout, (void)d, (void)d_layout, (void)algorithm, (void)workspace;
  (void)bytes;
  standin_ran(kStandinCublas, stream);
  return 0;
}
