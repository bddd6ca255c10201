/* What cuDNN requests for a convolution, without cuDNN: our estimate of the first choice of its
 * heuristics and of that engine's workspace.
 *
 * What is known: from compute capability 8.0 on, single precision runs on tensor cores (TF32), and
 * their kernels want channels last. For tensors with channels first, a workspace then holds copies
 * in that order: of x and the filter where the result can be written in place, or of all three.
 * Kernels without tensor cores, and Winograd's, need next to nothing. Which class of convolution
 * gets which is a fit: for 8.6 and 8.9 to the peaks of 24 trainings that were measured on GPUs of
 * both (tests/studies/fit), for the others to what cuDNN 9.8 says about 600 convolutions of 21
 * networks. */
#include <stdlib.h>

#include "libcudnn.h"

enum { kFloat = 0, kHalf = 2, kBfloat16 = 9 };

/* How an engine uses its workspace. */
enum layout { kNothing, kCopyOfInput, kCopies, kPaddedCopies };

static int64_t product(const int64_t* values, int count) {
  int64_t result = 1;
  for (int i = 0; i < count; ++i) result *= values[i];
  return result;
}

static int is_pointwise(const struct convolution* c) {
  return product(c->w + 2, c->dims - 2) == 1;
}
static int is_grouped(const struct convolution* c) { return c->x[1] != c->w[1]; }
static int has_stride(const struct convolution* c) {
  return product(c->strides, c->dims - 2) != 1;
}
/* A network's first layer: images of at most four channels. */
static int is_first(const struct convolution* c) { return c->x[1] <= 4; }

/* Tensor cores compute single precision from 8.0 on, halves from 7.0 on. */
static int on_tensor_cores(const struct convolution* c, int capability) {
  return (c->type == kFloat && capability >= 80) ||
         (c->type == kHalf && capability >= 70) || (c->type == kBfloat16 && capability >= 80);
}

static int channels_last(const struct convolution* c) { return c->x_strides[1] == 1 && c->x[1] > 1; }

static int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/* Both tensors with their channels filled up to the 128 of a kernel's tile. */
static int64_t padded_bytes(const struct convolution* c) {
  const int64_t pixels = c->x[0] * product(c->x + 2, c->dims - 2);
  return 4 * (pixels * (round_up(c->w[1], 128) + round_up(c->w[0], 128)) +
              product(c->w, c->dims));
}

static const int64_t kPaddedAtMost = (int64_t)600 << 20;

/* 8.6 and 8.9: they have few tensor cores for the memory that copies cost. */
static enum layout on_small_gpus(const struct convolution* c) {
  if (is_first(c) || is_grouped(c)) return kNothing;
  if (is_pointwise(c)) {
    /* Gradients of large images with few, uneven channels. */
    if (c->kind == kBackwardData && c->w[0] > c->w[1] && c->x[2] >= 40 && c->w[0] % 64 != 0 &&
        c->w[1] % 64 != 0 && padded_bytes(c) <= kPaddedAtMost)
      return kPaddedCopies;
    return kNothing;
  }
  if (c->kind == kForward) return has_stride(c) ? kCopyOfInput : kNothing;
  return kCopies;
}

/* 8.0, 9.0 and later: tensor cores are fast enough for copies almost everywhere. */
static enum layout on_large_gpus(const struct convolution* c) {
  if (is_first(c)) return kNothing;
  if (c->kind == kForward) return is_grouped(c) ? kCopies : kCopyOfInput;
  return kCopies;
}

static int64_t workspace_of(const struct convolution* c, int capability) {
  if (!on_tensor_cores(c, capability) || channels_last(c)) return 0;
  const int64_t element = c->type == kFloat ? 4 : 2;
  const int64_t input = element * product(c->kind == kBackwardData ? c->y : c->x, c->dims);
  const int64_t output = element * product(c->kind == kBackwardData ? c->x : c->y, c->dims);
  const int64_t filter = element * product(c->w, c->dims);
  const int small = capability == 86 || capability == 87 || capability == 89;
  switch (small ? on_small_gpus(c) : on_large_gpus(c)) {
    case kCopyOfInput:
      return input + filter;
    case kCopies:
      return input + output + filter;
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
