/* What the parts of the stand-in cuBLAS share. */
#ifndef SIMCUDA_LIBRARIES_LIBCUBLAS_H
#define SIMCUDA_LIBRARIES_LIBCUBLAS_H

#include "standin.h"

struct blas {
  void* stream;
  int pointer_mode; /* 0: scalars are on the host, 1: on the device */
  int atomics_mode;
  int math_mode;
};

enum { kBlasNotInitialized = 1, kBlasInvalidValue = 7, kBlasMappingError = 11 };

#endif
