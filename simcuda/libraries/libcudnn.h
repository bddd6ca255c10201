/* Convolutions as the graphs of cuDNN's backend interface describe them, and the plans for them. */
#ifndef SIMCUDA_LIBRARIES_LIBCUDNN_H
#define SIMCUDA_LIBRARIES_LIBCUDNN_H

#include <stdint.h>

enum { kCudnnMaxDims = 5 }; /* images, channels and up to three extents */

enum convolution_kind { kForward, kBackwardData, kBackwardFilter };

/* Extents of x, the filter and y (of their gradients): images, channels, and space. The filter has
 * output channels and the input channels of one group. */
struct convolution {
  int kind;
  int type; /* cudnnDataType_t of x */
  int dims;
  int64_t x[kCudnnMaxDims], w[kCudnnMaxDims], y[kCudnnMaxDims];
  int64_t x_strides[kCudnnMaxDims], w_strides[kCudnnMaxDims], y_strides[kCudnnMaxDims];
  int64_t padding[kCudnnMaxDims], strides[kCudnnMaxDims], dilations[kCudnnMaxDims]; /* of space */
  int64_t alignment; /* bytes, the smallest of the three */
};

/* One way to compute it. `notes` has bit N for cudnnBackendNumericalNote_t N: bit 0 is for tensor
 * cores, which callers exclude that do not allow TF32. */
struct convolution_plan {
  int64_t workspace;
  unsigned notes;
  int rank; /* 0 = the heuristics' first choice */
};

enum { kMaxPlans = 16 };

/* The plans that cuDNN's heuristics would give, the best first: at least one, at most kMaxPlans.
 * `capability` is 86 for 8.6. Thread-safe. */
int convolution_plans(const struct convolution* convolution, int capability,
                      struct convolution_plan* plans);

/* Our estimate of them, without cuDNN. */
int estimated_plans(const struct convolution* convolution, int capability,
                    struct convolution_plan* plans);

/* Those of the cuDNN in the folder $SIMCUDA_CUDNN; none if that is not set, or cannot tell. */
int reference_plans(const struct convolution* convolution, int capability,
                    struct convolution_plan* plans);

#endif
