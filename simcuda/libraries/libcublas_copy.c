/* cuBLAS's copies of vectors and matrices between host and device. */
#include "libcublas.h"

/* Copies columns of `rows` elements; a column begins `to_step` or `from_step` elements after the
 * one before. */
static int copy_columns(int64_t rows, int64_t columns, size_t element, const char* from,
                        int64_t from_step, char* to, int64_t to_step, void* stream) {
  if (rows < 0 || columns < 0 || element == 0 || from_step <= 0 || to_step <= 0)
    return kBlasInvalidValue;
  if (rows == 0 || columns == 0) return 0;
  size_t bytes = (size_t)rows * element;
  if (from_step == rows && to_step == rows) {
    bytes *= (size_t)columns;
    columns = 1;
  }
  for (int64_t i = 0; i < columns; ++i) {
    if (!standin_copy_now(to + (size_t)(i * to_step) * element,
                          from + (size_t)(i * from_step) * element, bytes, stream))
      return kBlasMappingError;
  }
  return 0;
}

/* A vector is a matrix whose columns have one element. */
#define COPIES(Suffix, Int)                                                                       \
  STANDIN_API int cublasSetVector##Suffix(Int n, Int element, const void* x, Int x_step, void* y, \
                                          Int y_step) {                                           \
    return copy_columns(1, n, (size_t)element, x, x_step, y, y_step, NULL);                       \
  }                                                                                               \
  STANDIN_API int cublasGetVector##Suffix(Int n, Int element, const void* x, Int x_step, void* y, \
                                          Int y_step) {                                           \
    return copy_columns(1, n, (size_t)element, x, x_step, y, y_step, NULL);                       \
  }                                                                                               \
  STANDIN_API int cublasSetVectorAsync##Suffix(Int n, Int element, const void* x, Int x_step,     \
                                               void* y, Int y_step, void* stream) {               \
    return copy_columns(1, n, (size_t)element, x, x_step, y, y_step, stream);                     \
  }                                                                                               \
  STANDIN_API int cublasGetVectorAsync##Suffix(Int n, Int element, const void* x, Int x_step,     \
                                               void* y, Int y_step, void* stream) {               \
    return copy_columns(1, n, (size_t)element, x, x_step, y, y_step, stream);                     \
  }                                                                                               \
  STANDIN_API int cublasSetMatrix##Suffix(Int rows, Int columns, Int element, const void* a,      \
                                          Int a_step, void* b, Int b_step) {                      \
    return copy_columns(rows, columns, (size_t)element, a, a_step, b, b_step, NULL);              \
  }                                                                                               \
  STANDIN_API int cublasGetMatrix##Suffix(Int rows, Int columns, Int element, const void* a,      \
                                          Int a_step, void* b, Int b_step) {                      \
    return copy_columns(rows, columns, (size_t)element, a, a_step, b, b_step, NULL);              \
  }                                                                                               \
  STANDIN_API int cublasSetMatrixAsync##Suffix(Int rows, Int columns, Int element, const void* a, \
                                               Int a_step, void* b, Int b_step, void* stream) {   \
    return copy_columns(rows, columns, (size_t)element, a, a_step, b, b_step, stream);            \
  }                                                                                               \
  STANDIN_API int cublasGetMatrixAsync##Suffix(Int rows, Int columns, Int element, const void* a, \
                                               Int a_step, void* b, Int b_step, void* stream) {   \
    return copy_columns(rows, columns, (size_t)element, a, a_step, b, b_step, stream);            \
  }
COPIES(, int)
COPIES(_64, int64_t)

/* The other functions of the first interface, which has no handles. */
STANDIN_API int cublasAlloc(int n, int element, void** pointer) {
  uint64_t address = 0;
  if (n <= 0 || element <= 0 || pointer == NULL) return kBlasInvalidValue;
  if (standin_device_alloc((size_t)n * (size_t)element, &address) != 0) return 3;
  *pointer = (void*)(uintptr_t)address;
  return 0;
}
STANDIN_API int cublasFree(void* pointer) {
  return standin_device_free((uint64_t)(uintptr_t)pointer) == 0 ? 0 : kBlasMappingError;
}
