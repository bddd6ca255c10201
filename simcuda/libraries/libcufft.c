/* cuFFT: a plan reports a work area as large as the data that it transforms. */
#include "standin.h"

static size_t work_size(int rank, const long long* n, long long batch) {
  size_t bytes = sizeof(float[2]) * (size_t)(batch < 1 ? 1 : batch);
  for (int i = 0; i < rank; ++i) {
    const size_t extent = n[i] < 1 ? 1 : (size_t)n[i];
    if (bytes > (SIZE_MAX >> 2) / extent) return STANDIN_WORKSPACE_BYTES;
    bytes *= extent;
  }
  return bytes;
}

STANDIN_API int cufftXtMakePlanMany(int plan, int rank, long long* n, long long* inembed,
                                    long long istride, long long idist, int input,
                                    long long* onembed, long long ostride, long long odist,
                                    int output, long long batch, size_t* size, int execution) {
  (void)plan, (void)inembed, (void)istride, (void)idist, (void)input, (void)onembed;
  (void)ostride, (void)odist, (void)output, (void)execution;
  *size = work_size(rank, n, batch);
  return 0;
}
