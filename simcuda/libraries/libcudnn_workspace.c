/* What cuDNN requests for a convolution, without cuDNN: our estimate of the first choice of its
 * heuristics and of that engine's workspace.
 *
 * What is known: tensor cores want channels last. For tensors with channels first, a workspace then
 * holds copies in that order: of x and the filter where the result can be written in place, or of
 * all three, or beside them the result once more, with the channels of a kernel's whole tiles.
 * Kernels without tensor cores, and Winograd's, need next to nothing. Which class of
 * convolution gets which is a fit. In single precision on 8.6 and 8.9, it is one to the peaks of
 * trainings that were measured on GPUs (studies/fit); all else follows what most of 600
 * convolutions of 21 networks get from cuDNN 9.8. */
#include <stdlib.h>

#include "libcudnn.h"

enum { kFloat = 0, kHalf = 2, kBfloat16 = 9 }; /* cudnnDataType_t */

/* What an engine keeps in its workspace. */
enum layout { kNothing, kCopyOfInput, kCopies, kPaddedCopies, kCopiesAndResult };

static int64_t product(const int64_t* values, int count) {
  int64_t result = 1;
  for (int i = 0; i < count; ++i) result *= values[i];
  return result;
}

static int is_pointwise(const struct convolution* c) { return product(c->w + 2, c->dims - 2) == 1; }
static int is_grouped(const struct convolution* c) { return c->x[1] != c->w[1]; }
static int has_stride(const struct convolution* c) { return product(c->strides, c->dims - 2) != 1; }
/* A network's first layer: images of at most four channels. */
static int is_first(const struct convolution* c) { return c->x[1] <= 4; }

static int channels_last(const struct convolution* c) {
  return c->x_strides[1] == 1 && c->x[1] > 1;
}
static int is_small_gpu(int capability) {
  return capability == 86 || capability == 87 || capability == 89;
}

static int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

static int64_t pixels_of(const struct convolution* c, const int64_t* tensor) {
  return tensor[0] * product(tensor + 2, c->dims - 2);
}

/* The channels of a kernel's tile: fewer are filled up. */
enum { kTile = 128 };

static int64_t padded_bytes(const struct convolution* c) {
  const int64_t channels = round_up(c->w[1], kTile) + round_up(c->w[0], kTile);
  return 4 * (pixels_of(c, c->x) * channels + product(c->w, c->dims));
}

/* The result alone. cuDNN 9.8 has plans that need this beside all copies, for gradients of data. */
static int64_t padded_result_bytes(const struct convolution* c) {
  return c->kind == kForward ? 4 * pixels_of(c, c->y) * round_up(c->w[0], kTile)
                             : 4 * pixels_of(c, c->x) * round_up(c->w[1], kTile);
}

/* Of a layer with at least 40 x 40 pixels, all images together: where the choice changes. It is
 * between 597,227 and 697,073. */
static const int64_t kManyPixels = 650000;

/* Filters of one pixel, in single precision on 8.6. Extents are of the input. */
static enum layout of_pointwise_86(const struct convolution* c) {
  const int expands = c->w[0] > c->w[1];
  const int uneven = c->w[0] % 64 != 0 && c->w[1] % 32 != 0;
  const int of_data = c->kind == kBackwardData, forward = c->kind == kForward;
  if (has_stride(c)) return of_data && !expands ? kCopiesAndResult : kNothing;
  if (c->x[2] < 9) return of_data && expands ? kCopyOfInput : kNothing;
  if (c->x[2] < 40) {
    const int wide = c->x[2] >= 20 && c->w[1] >= 128;
    return forward && !expands && wide ? kCopyOfInput : kNothing;
  }
  if (pixels_of(c, c->x) > kManyPixels) return forward && !expands ? kCopiesAndResult : kNothing;
  return of_data && expands && uneven ? kPaddedCopies : kNothing;
}

/* ... and on 8.9. */
static enum layout of_pointwise_89(const struct convolution* c) {
  const int expands = c->w[0] > c->w[1];
  if (has_stride(c)) return kNothing;
  if (c->kind == kBackwardData && c->x[2] < (expands ? 20 : 9)) return kCopiesAndResult;
  return c->kind == kForward && expands && c->x[2] >= 9 ? kCopies : kNothing;
}

static enum layout of_groups(const struct convolution* c, int is_ada) {
  const int narrow = c->w[1] <= 8;
  if (c->x[2] >= 12)
    return !is_ada && narrow && has_stride(c) && c->kind == kForward ? kCopyOfInput : kNothing;
  if (c->kind == kForward) return kCopies;
  return is_ada && c->kind == kBackwardData ? kCopiesAndResult : kNothing;
}

static enum layout on_small_gpu(const struct convolution* c, int capability) {
  if (is_first(c)) return kNothing;
  if (is_grouped(c)) return of_groups(c, capability == 89);
  if (is_pointwise(c)) return capability == 89 ? of_pointwise_89(c) : of_pointwise_86(c);
  if (c->kind == kForward) return has_stride(c) ? kCopyOfInput : kNothing;
  return kCopies;
}

/* 8.0, 9.0 and later: tensor cores are fast enough for copies almost everywhere. */
static enum layout on_large_gpu(const struct convolution* c, int capability) {
  if (is_first(c)) return kNothing;
  if (c->kind != kForward || is_grouped(c)) return kCopies;
  return capability >= 90 && !is_pointwise(c) ? kCopies : kCopyOfInput;
}

static enum layout of_single(const struct convolution* c, int capability) {
  if (capability < 80) return kNothing;
  if (channels_last(c)) {
    if (capability >= 90 || is_first(c)) return kNothing;
    if (c->kind != kBackwardFilter) return kCopyOfInput;
    return is_small_gpu(capability) && is_pointwise(c) ? kNothing : kCopies;
  }
  return is_small_gpu(capability) ? on_small_gpu(c, capability) : on_large_gpu(c, capability);
}

static enum layout layout_of(const struct convolution* c, int capability) {
  switch (c->type) {
    case kFloat:
      return of_single(c, capability);
    case kHalf:
    case kBfloat16:
      if (capability < (c->type == kHalf ? 70 : 80) || channels_last(c)) return kNothing;
      return is_first(c) && c->kind == kForward ? kNothing : kCopies;
    default:
      return kNothing;
  }
}

static int64_t workspace_of(const struct convolution* c, int capability) {
  const int64_t element = c->type == kFloat ? 4 : 2;
  const int64_t x = element * product(c->x, c->dims), y = element * product(c->y, c->dims);
  const int64_t filter = element * product(c->w, c->dims);
  switch (layout_of(c, capability)) {
    case kCopyOfInput:
      return (c->kind == kBackwardData ? y : x) + filter;
    case kCopies:
      return x + y + filter;
    case kCopiesAndResult:
      return x + y + filter + padded_result_bytes(c);
    case kPaddedCopies:
      return padded_bytes(c);
    default:
      return 0;
  }
}

int estimated_plans(const struct convolution* convolution, int capability,
                    struct convolution_plan* plans) {
  const int64_t workspace = workspace_of(convolution, capability);
  int count = 0;
  /* Where TF32 is not allowed, or memory does not suffice, the next plan runs: without either. */
  if (workspace > 0) plans[count++] = (struct convolution_plan){workspace, 1};
  plans[count++] = (struct convolution_plan){0, 0};
  return count;
}

/* SIMCUDA_CUDNN_MIB is a fixed size for every plan. */
static int fixed_plan(struct convolution_plan* plans) {
  const char* text = getenv("SIMCUDA_CUDNN_MIB");
  char* end = NULL;
  const long mib = text == NULL ? -1 : strtol(text, &end, 10);
  if (text == NULL || end == text || *end != '\0' || mib < 0 || mib > 65536) return 0;
  plans[0] = (struct convolution_plan){(int64_t)mib << 20, 0};
  return 1;
}

int convolution_plans(const struct convolution* convolution, int capability,
                      struct convolution_plan* plans) {
  int count = fixed_plan(plans);
  if (count == 0) count = reference_plans(convolution, capability, plans);
  if (count == 0) count = estimated_plans(convolution, capability, plans);
  return count;
}
