/* cuBLAS functions whose result is one number, which programs read: computed on the CPU from the
 * contents of the stand-in's device memory. */
#include <math.h>
#include <string.h>

#include "half.h"
#include "libcublas.h"

enum kind { kReal32, kReal64, kComplex32, kComplex64, kHalf, kBrain, kUnknown };

static size_t bytes_of(enum kind kind) {
  switch (kind) {
    case kReal32:
      return 4;
    case kComplex64:
      return 16;
    case kHalf:
    case kBrain:
      return 2;
    default:
      return 8;
  }
}

/* cudaDataType. */
static enum kind kind_of(int type) {
  switch (type) {
    case 0:
      return kReal32;
    case 1:
      return kReal64;
    case 2:
      return kHalf;
    case 4:
      return kComplex32;
    case 5:
      return kComplex64;
    case 14:
      return kBrain;
    default:
      return kUnknown;
  }
}

/* An element as real and imaginary part. */
static void load(enum kind kind, const char* from, double* value) {
  float single[2];
  uint16_t bits;
  value[0] = value[1] = 0;
  switch (kind) {
    case kReal32:
      memcpy(single, from, 4);
      value[0] = single[0];
      break;
    case kReal64:
      memcpy(value, from, 8);
      break;
    case kComplex32:
      memcpy(single, from, 8);
      value[0] = single[0];
      value[1] = single[1];
      break;
    case kComplex64:
      memcpy(value, from, 16);
      break;
    case kHalf:
    case kBrain:
      memcpy(&bits, from, 2);
      value[0] = kind == kHalf ? half_value(bits) : brain_value(bits);
      break;
    default:
      break;
  }
}

static size_t store(enum kind kind, const double* value, char* to) {
  const float single[2] = {(float)value[0], (float)value[1]};
  uint16_t bits;
  switch (kind) {
    case kReal32:
    case kComplex32:
      memcpy(to, single, bytes_of(kind));
      break;
    case kReal64:
    case kComplex64:
      memcpy(to, value, bytes_of(kind));
      break;
    case kHalf:
      bits = half_bits(value[0]);
      memcpy(to, &bits, 2);
      break;
    case kBrain:
      bits = brain_bits(single[0]);
      memcpy(to, &bits, 2);
      break;
    default:
      return 0;
  }
  return bytes_of(kind);
}

/* A vector in memory of any kind, read in pieces. */
struct vector {
  const char* base;
  int64_t count;
  int64_t step; /* elements */
  enum kind kind;
  void* stream;
  char buffer[65536];
  int64_t first, last; /* elements of the vector that the buffer holds */
};

static void open_vector(struct vector* v, const void* x, int64_t count, int64_t step,
                        enum kind kind, void* stream) {
  v->base = x;
  v->count = count;
  v->step = step;
  v->kind = kind;
  v->stream = stream;
  v->first = v->last = 0;
  /* With a negative step, BLAS begins at the last element. */
  if (step < 0) v->base -= (count - 1) * step * (int64_t)bytes_of(kind);
}

static int element(struct vector* v, int64_t index, double* value) {
  const int64_t size = (int64_t)bytes_of(v->kind);
  const int64_t stride = v->step * size;
  if (index < v->first || index >= v->last) {
    const int64_t distance = stride < 0 ? -stride : stride;
    int64_t many = distance == 0 ? v->count : ((int64_t)sizeof v->buffer - size) / distance + 1;
    if (many > v->count - index) many = v->count - index;
    if (many < 1) many = 1;
    const char* lowest = v->base + (stride < 0 ? index + many - 1 : index) * stride;
    if (!standin_copy_now(v->buffer, lowest, (size_t)((many - 1) * distance + size), v->stream))
      return 0;
    v->first = index;
    v->last = index + many;
  }
  const int64_t at = stride < 0 ? (v->last - 1 - index) * -stride : (index - v->first) * stride;
  load(v->kind, v->buffer + at, value);
  return 1;
}

/* Writes a result to host or device memory, by the handle's pointer mode. */
static int answer(struct blas* handle, const void* value, size_t bytes, void* result) {
  if (handle->pointer_mode == 0) {
    memcpy(result, value, bytes);
    return 0;
  }
  return standin_copy_now(result, value, bytes, handle->stream) ? 0 : kBlasMappingError;
}

static int answer_number(struct blas* handle, enum kind kind, const double* value, void* result) {
  char bytes[16] = {0};
  return answer(handle, bytes, store(kind, value, bytes), result);
}

/* Whether the stream is being captured: then the function only adds a node, because there are no
 * contents to read yet. */
static int captured(struct blas* handle) {
  if (standin_copy_now(NULL, NULL, 0, handle->stream)) return 0;
  standin_ran(kStandinCublas, handle->stream);
  return 1;
}

static int dot(struct blas* handle, int64_t n, const void* x, enum kind x_kind, int64_t x_step,
               const void* y, enum kind y_kind, int64_t y_step, void* result, enum kind kind,
               int conjugate) {
  if (handle == NULL) return kBlasNotInitialized;
  if (result == NULL) return kBlasInvalidValue;
  if (captured(handle)) return 0;
  double sum[2] = {0, 0};
  struct vector a, b;
  open_vector(&a, x, n, x_step, x_kind, handle->stream);
  open_vector(&b, y, n, y_step, y_kind, handle->stream);
  for (int64_t i = 0; i < n; ++i) {
    double p[2], q[2];
    if (!element(&a, i, p) || !element(&b, i, q)) return kBlasMappingError;
    if (conjugate) p[1] = -p[1];
    sum[0] += p[0] * q[0] - p[1] * q[1];
    sum[1] += p[0] * q[1] + p[1] * q[0];
  }
  return answer_number(handle, kind, sum, result);
}

enum reduction { kNorm, kAbsoluteSum };

static int reduce(struct blas* handle, enum reduction what, int64_t n, const void* x,
                  enum kind x_kind, int64_t step, void* result, enum kind kind) {
  if (handle == NULL) return kBlasNotInitialized;
  if (result == NULL) return kBlasInvalidValue;
  if (captured(handle)) return 0;
  double total[2] = {0, 0};
  struct vector a;
  open_vector(&a, x, n, step, x_kind, handle->stream);
  for (int64_t i = 0; step > 0 && i < n; ++i) {
    double p[2];
    if (!element(&a, i, p)) return kBlasMappingError;
    total[0] += what == kNorm ? p[0] * p[0] + p[1] * p[1] : fabs(p[0]) + fabs(p[1]);
  }
  if (what == kNorm) total[0] = sqrt(total[0]);
  return answer_number(handle, kind, total, result);
}

/* The first of the largest or smallest, counted from 1. */
static int extreme(struct blas* handle, int largest, int64_t n, const void* x, enum kind kind,
                   int64_t step, void* result, size_t bytes) {
  if (handle == NULL) return kBlasNotInitialized;
  if (result == NULL) return kBlasInvalidValue;
  if (captured(handle)) return 0;
  int64_t place = 0;
  double best = 0;
  struct vector a;
  open_vector(&a, x, n, step, kind, handle->stream);
  for (int64_t i = 0; step > 0 && i < n; ++i) {
    double p[2];
    if (!element(&a, i, p)) return kBlasMappingError;
    const double size = fabs(p[0]) + fabs(p[1]);
    if (place != 0 && (largest ? size <= best : size >= best)) continue;
    place = i + 1;
    best = size;
  }
  return answer(handle, &place, bytes, result); /* the lower bytes come first */
}

/* Each function with indices of 32 bits, and of 64. */
#define BOTH(define) define(, int) define(_64, int64_t)

#define DOT(Name, kind, conjugate)        \
  DOT_AS(Name##_v2, int, kind, conjugate) \
  DOT_AS(Name##_v2_64, int64_t, kind, conjugate)
#define DOT_AS(Name, Int, kind, conjugate)                                                   \
  STANDIN_API int Name(struct blas* handle, Int n, const void* x, Int x_step, const void* y, \
                       Int y_step, void* result) {                                           \
    return dot(handle, n, x, kind, x_step, y, kind, y_step, result, kind, conjugate);        \
  }
DOT(cublasSdot, kReal32, 0)
DOT(cublasDdot, kReal64, 0)
DOT(cublasCdotu, kComplex32, 0)
DOT(cublasCdotc, kComplex32, 1)
DOT(cublasZdotu, kComplex64, 0)
DOT(cublasZdotc, kComplex64, 1)

#define REDUCE(Name, what, kind, result_kind)        \
  REDUCE_AS(Name##_v2, int, what, kind, result_kind) \
  REDUCE_AS(Name##_v2_64, int64_t, what, kind, result_kind)
#define REDUCE_AS(Name, Int, what, kind, result_kind)                                       \
  STANDIN_API int Name(struct blas* handle, Int n, const void* x, Int step, void* result) { \
    return reduce(handle, what, n, x, kind, step, result, result_kind);                     \
  }
REDUCE(cublasSnrm2, kNorm, kReal32, kReal32)
REDUCE(cublasDnrm2, kNorm, kReal64, kReal64)
REDUCE(cublasScnrm2, kNorm, kComplex32, kReal32)
REDUCE(cublasDznrm2, kNorm, kComplex64, kReal64)
REDUCE(cublasSasum, kAbsoluteSum, kReal32, kReal32)
REDUCE(cublasDasum, kAbsoluteSum, kReal64, kReal64)
REDUCE(cublasScasum, kAbsoluteSum, kComplex32, kReal32)
REDUCE(cublasDzasum, kAbsoluteSum, kComplex64, kReal64)

#define EXTREME(Name, largest, kind)        \
  EXTREME_AS(Name##_v2, int, largest, kind) \
  EXTREME_AS(Name##_v2_64, int64_t, largest, kind)
#define EXTREME_AS(Name, Int, largest, kind)                                               \
  STANDIN_API int Name(struct blas* handle, Int n, const void* x, Int step, Int* result) { \
    return extreme(handle, largest, n, x, kind, step, result, sizeof *result);             \
  }
EXTREME(cublasIsamax, 1, kReal32)
EXTREME(cublasIdamax, 1, kReal64)
EXTREME(cublasIcamax, 1, kComplex32)
EXTREME(cublasIzamax, 1, kComplex64)
EXTREME(cublasIsamin, 0, kReal32)
EXTREME(cublasIdamin, 0, kReal64)
EXTREME(cublasIcamin, 0, kComplex32)
EXTREME(cublasIzamin, 0, kComplex64)

/* The same with the types as arguments. */
#define DOT_EX(Suffix, Int)                                                                    \
  STANDIN_API int cublasDotEx##Suffix(struct blas* handle, Int n, const void* x, int x_type,   \
                                      Int x_step, const void* y, int y_type, Int y_step,       \
                                      void* result, int type, int execution) {                 \
    (void)execution;                                                                           \
    return dot(handle, n, x, kind_of(x_type), x_step, y, kind_of(y_type), y_step, result,      \
               kind_of(type), 0);                                                              \
  }                                                                                            \
  STANDIN_API int cublasDotcEx##Suffix(struct blas* handle, Int n, const void* x, int x_type,  \
                                       Int x_step, const void* y, int y_type, Int y_step,      \
                                       void* result, int type, int execution) {                \
    (void)execution;                                                                           \
    return dot(handle, n, x, kind_of(x_type), x_step, y, kind_of(y_type), y_step, result,      \
               kind_of(type), 1);                                                              \
  }                                                                                            \
  STANDIN_API int cublasNrm2Ex##Suffix(struct blas* handle, Int n, const void* x, int x_type,  \
                                       Int step, void* result, int type, int execution) {      \
    (void)execution;                                                                           \
    return reduce(handle, kNorm, n, x, kind_of(x_type), step, result, kind_of(type));          \
  }                                                                                            \
  STANDIN_API int cublasAsumEx##Suffix(struct blas* handle, Int n, const void* x, int x_type,  \
                                       Int step, void* result, int type, int execution) {      \
    (void)execution;                                                                           \
    return reduce(handle, kAbsoluteSum, n, x, kind_of(x_type), step, result, kind_of(type));   \
  }                                                                                            \
  STANDIN_API int cublasIamaxEx##Suffix(struct blas* handle, Int n, const void* x, int x_type, \
                                        Int step, Int* result) {                               \
    return extreme(handle, 1, n, x, kind_of(x_type), step, result, sizeof *result);            \
  }                                                                                            \
  STANDIN_API int cublasIaminEx##Suffix(struct blas* handle, Int n, const void* x, int x_type, \
                                        Int step, Int* result) {                               \
    return extreme(handle, 0, n, x, kind_of(x_type), step, result, sizeof *result);            \
  }
BOTH(DOT_EX)

/* Rotations of real numbers: a, b, c and s are scalars as well. */
static int rotg(struct blas* handle, enum kind kind, void* a, void* b, void* c, void* s) {
  if (handle == NULL) return kBlasNotInitialized;
  if (a == NULL || b == NULL || c == NULL || s == NULL) return kBlasInvalidValue;
  if (captured(handle)) return 0;
  const size_t bytes = bytes_of(kind);
  char raw[2][16];
  double p[2], q[2];
  if (!standin_copy_now(raw[0], a, bytes, handle->stream) ||
      !standin_copy_now(raw[1], b, bytes, handle->stream))
    return kBlasMappingError;
  load(kind, raw[0], p);
  load(kind, raw[1], q);
  const double larger = fabs(p[0]) > fabs(q[0]) ? p[0] : q[0];
  const double r[2] = {copysign(sqrt(p[0] * p[0] + q[0] * q[0]), larger), 0};
  const double cosine[2] = {r[0] == 0 ? 1 : p[0] / r[0], 0};
  const double sine[2] = {r[0] == 0 ? 0 : q[0] / r[0], 0};
  double z[2] = {0, 0};
  if (r[0] != 0) z[0] = fabs(p[0]) > fabs(q[0]) ? sine[0] : cosine[0] != 0 ? 1 / cosine[0] : 1;
  int result = answer_number(handle, kind, r, a);
  if (result == 0) result = answer_number(handle, kind, z, b);
  if (result == 0) result = answer_number(handle, kind, cosine, c);
  if (result == 0) result = answer_number(handle, kind, sine, s);
  return result;
}
STANDIN_API int cublasSrotg_v2(struct blas* handle, float* a, float* b, float* c, float* s) {
  return rotg(handle, kReal32, a, b, c, s);
}
STANDIN_API int cublasDrotg_v2(struct blas* handle, double* a, double* b, double* c, double* s) {
  return rotg(handle, kReal64, a, b, c, s);
}
