/* cuDNN's fixed functions: tensors' descriptors, choice of an algorithm, and recurrent networks,
 * whose weights have an order and whose workspaces a size. */
#include <string.h>

#include "standin.h"

enum { kMaxDims = 8, kBadParameter = 2000, kNotSupported = 3000 };

/* A tensor or a filter. */
struct tensor {
  int type;
  int format;
  int dims;
  int extents[kMaxDims];
  int strides[kMaxDims];
};

static size_t element_bytes(int type) {
  switch (type) {
    case 1: /* double */
      return 8;
    case 0: /* float */
    case 4: /* int32 */
      return 4;
    case 2: /* half */
    case 9: /* bfloat16 */
      return 2;
    case 10: /* int64 */
      return 8;
    default:
      return 1;
  }
}

STANDIN_API int cudnnCreateTensorDescriptor(struct tensor** result) {
  *result = standin_new(sizeof **result);
  return *result == NULL ? 1001 : 0; /* allocation failed */
}
STANDIN_API int cudnnCreateFilterDescriptor(struct tensor** result) {
  *result = standin_new(sizeof **result);
  return *result == NULL ? 1001 : 0;
}

static int set_tensor(struct tensor* tensor, int type, int format, int dims, const int* extents,
                      const int* strides) {
  if (tensor == NULL || dims < 1 || dims > kMaxDims) return kBadParameter;
  tensor->type = type;
  tensor->format = format;
  tensor->dims = dims;
  int packed = 1;
  for (int i = dims - 1; i >= 0; --i) {
    tensor->extents[i] = extents[i];
    tensor->strides[i] = strides == NULL ? packed : strides[i];
    packed *= extents[i];
  }
  return 0;
}

STANDIN_API int cudnnSetTensorNdDescriptor(struct tensor* tensor, int type, int dims,
                                           const int* extents, const int* strides) {
  return set_tensor(tensor, type, 0, dims, extents, strides);
}
STANDIN_API int cudnnSetTensor4dDescriptor(struct tensor* tensor, int format, int type, int n,
                                           int c, int h, int w) {
  const int extents[] = {n, c, h, w};
  return set_tensor(tensor, type, format, 4, extents, NULL);
}
STANDIN_API int cudnnSetFilterNdDescriptor(struct tensor* tensor, int type, int format, int dims,
                                           const int* extents) {
  return set_tensor(tensor, type, format, dims, extents, NULL);
}

static void copy_dims(const struct tensor* tensor, int requested, int* extents, int* strides) {
  for (int i = 0; i < requested && i < tensor->dims; ++i) {
    extents[i] = tensor->extents[i];
    if (strides != NULL) strides[i] = tensor->strides[i];
  }
}

STANDIN_API int cudnnGetTensorNdDescriptor(const struct tensor* tensor, int requested, int* type,
                                           int* dims, int* extents, int* strides) {
  *type = tensor->type;
  *dims = tensor->dims;
  copy_dims(tensor, requested, extents, strides);
  return 0;
}
STANDIN_API int cudnnGetFilterNdDescriptor(const struct tensor* tensor, int requested, int* type,
                                           int* format, int* dims, int* extents) {
  *type = tensor->type;
  *format = tensor->format;
  *dims = tensor->dims;
  copy_dims(tensor, requested, extents, NULL);
  return 0;
}

/* Convolutions: one algorithm, number 1 of each kind, which needs a workspace. */
struct performance {
  int algorithm;
  int status;
  float time;
  size_t memory;
  int determinism;
  int math;
  int reserved[3];
};

static int one_algorithm(int requested, int* found, struct performance* results) {
  *found = 0;
  if (requested < 1) return kBadParameter;
  memset(results, 0, sizeof *results);
  results->algorithm = 1;
  results->time = 1;
  results->memory = STANDIN_WORKSPACE_BYTES;
  results->determinism = 1;
  *found = 1;
  return 0;
}

#define CUDNN_CHOICE(name)                                                                        \
  STANDIN_API int name(void* handle, void* a, void* b, void* convolution, void* c, int requested, \
                       int* found, struct performance* results) {                                 \
    (void)handle, (void)a, (void)b, (void)convolution, (void)c;                                   \
    return one_algorithm(requested, found, results);                                              \
  }
CUDNN_CHOICE(cudnnGetConvolutionForwardAlgorithm_v7)
CUDNN_CHOICE(cudnnGetConvolutionBackwardDataAlgorithm_v7)
CUDNN_CHOICE(cudnnGetConvolutionBackwardFilterAlgorithm_v7)

#define CUDNN_SEARCH(name)                                                                  \
  STANDIN_API int name(void* handle, void* a, void* a_data, void* b, void* b_data,          \
                       void* convolution, void* c, void* c_data, int requested, int* found, \
                       struct performance* results, void* workspace, size_t bytes) {        \
    (void)handle, (void)a, (void)a_data, (void)b, (void)b_data, (void)convolution, (void)c; \
    (void)c_data, (void)workspace, (void)bytes;                                             \
    return one_algorithm(requested, found, results);                                        \
  }
CUDNN_SEARCH(cudnnFindConvolutionForwardAlgorithmEx)
CUDNN_SEARCH(cudnnFindConvolutionBackwardDataAlgorithmEx)
CUDNN_SEARCH(cudnnFindConvolutionBackwardFilterAlgorithmEx)

/* Recurrent networks. */
struct rnn {
  int mode; /* 0, 1: plain; 2: LSTM; 3: GRU */
  int bias; /* 0: none, 1: input, 2: both, 3: recurrent */
  int directions;
  int type;
  int input;
  int hidden;
  int projection; /* what a step hands on: as large as `hidden` where nothing is projected */
  int layers;
};

struct rnn_data {
  int steps;
  int batch;
  int width;
};

STANDIN_API int cudnnCreateRNNDescriptor(struct rnn** result) {
  *result = standin_new(sizeof **result);
  return *result == NULL ? 1001 : 0;
}
STANDIN_API int cudnnCreateRNNDataDescriptor(struct rnn_data** result) {
  *result = standin_new(sizeof **result);
  return *result == NULL ? 1001 : 0;
}

STANDIN_API int cudnnSetRNNDescriptor_v8(struct rnn* rnn, int algorithm, int mode, int bias,
                                         int direction, int input_mode, int type, int precision,
                                         int math, int input, int hidden, int projection,
                                         int layers, void* dropout, unsigned flags) {
  (void)algorithm, (void)input_mode, (void)precision, (void)math, (void)dropout, (void)flags;
  if (rnn == NULL || mode < 0 || mode > 3 || layers < 1 || hidden < 1) return kBadParameter;
  *rnn = (struct rnn){mode,
                      bias,
                      direction == 1 ? 2 : 1,
                      type,
                      input,
                      hidden,
                      projection > 0 ? projection : hidden,
                      layers};
  return 0;
}

STANDIN_API int cudnnSetRNNDataDescriptor(struct rnn_data* data, int type, int layout, int steps,
                                          int batch, int width, const int* lengths, void* fill) {
  (void)type, (void)layout, (void)lengths, (void)fill;
  if (data == NULL) return kBadParameter;
  *data = (struct rnn_data){steps, batch, width};
  return 0;
}

static int gates(const struct rnn* rnn) { return rnn->mode == 2 ? 4 : rnn->mode == 3 ? 3 : 1; }

/* Rows and columns of matrix `linear` of a layer; the matrix of the projection follows the two of
 * each gate. */
static int matrix(const struct rnn* rnn, int pseudo_layer, int linear, int* rows, int* columns) {
  const int count = gates(rnn);
  if (linear < 0 || linear > 2 * count) return 0;
  if (linear == 2 * count) {
    if (rnn->projection == rnn->hidden) return 0;
    *rows = rnn->projection;
    *columns = rnn->hidden;
    return 1;
  }
  *rows = rnn->hidden;
  *columns = linear >= count                  ? rnn->projection
             : pseudo_layer < rnn->directions ? rnn->input
                                              : rnn->directions * rnn->projection;
  return 1;
}

/* The number of elements of all matrices before (pseudo_layer, linear). The matrices are stored one
 * after the other, layer by layer, followed by all biases in the same order. */
static size_t matrices_before(const struct rnn* rnn, int pseudo_layer, int linear) {
  size_t elements = 0;
  for (int layer = 0; layer <= pseudo_layer; ++layer) {
    const int end = layer < pseudo_layer ? 2 * gates(rnn) + 1 : linear;
    for (int one = 0; one < end; ++one) {
      int rows, columns;
      if (matrix(rnn, layer, one, &rows, &columns)) elements += (size_t)rows * (size_t)columns;
    }
  }
  return elements;
}

static int has_bias(const struct rnn* rnn, int linear) {
  const int count = gates(rnn);
  return linear < 2 * count &&
         (rnn->bias == 2 || (linear < count ? rnn->bias == 1 : rnn->bias == 3));
}

static size_t biases_before(const struct rnn* rnn, int pseudo_layer, int linear) {
  size_t elements = 0;
  for (int layer = 0; layer <= pseudo_layer; ++layer) {
    const int end = layer < pseudo_layer ? 2 * gates(rnn) : linear;
    for (int one = 0; one < end; ++one)
      if (has_bias(rnn, one)) elements += (size_t)rnn->hidden;
  }
  return elements;
}

STANDIN_API int cudnnGetRNNWeightSpaceSize(void* handle, const struct rnn* rnn, size_t* bytes) {
  (void)handle;
  const int last = rnn->layers * rnn->directions;
  *bytes = (matrices_before(rnn, last, 0) + biases_before(rnn, last, 0)) * element_bytes(rnn->type);
  return 0;
}

STANDIN_API int cudnnGetRNNWeightParams(void* handle, const struct rnn* rnn, int pseudo_layer,
                                        size_t space_bytes, char* space, int linear,
                                        struct tensor* weights, char** weights_at,
                                        struct tensor* bias, char** bias_at) {
  (void)handle, (void)space_bytes;
  const int last = rnn->layers * rnn->directions;
  if (pseudo_layer < 0 || pseudo_layer >= last) return kBadParameter;
  /* A caller that needs only one of them passes null for the other. */
  if (weights_at != NULL) *weights_at = NULL;
  if (bias_at != NULL) *bias_at = NULL;
  int rows, columns;
  if (!matrix(rnn, pseudo_layer, linear, &rows, &columns)) return 0;
  const size_t bytes = element_bytes(rnn->type);
  const int extents[] = {1, rows, columns};
  if (weights != NULL) set_tensor(weights, rnn->type, 0, 3, extents, NULL);
  if (weights_at != NULL) *weights_at = space + matrices_before(rnn, pseudo_layer, linear) * bytes;
  if (!has_bias(rnn, linear) || bias == NULL || bias_at == NULL) return 0;
  const int bias_extents[] = {1, rnn->hidden, 1};
  set_tensor(bias, rnn->type, 0, 3, bias_extents, NULL);
  *bias_at =
      space + (matrices_before(rnn, last, 0) + biases_before(rnn, pseudo_layer, linear)) * bytes;
  return 0;
}

/* The results of every gate in every step, kept for the backward pass; and a workspace of one
 * layer. */
STANDIN_API int cudnnGetRNNTempSpaceSizes(void* handle, const struct rnn* rnn, int training,
                                          const struct rnn_data* data, size_t* workspace,
                                          size_t* reserve) {
  (void)handle;
  const size_t layer = (size_t)rnn->directions * (size_t)data->steps * (size_t)data->batch *
                       (size_t)rnn->hidden * (size_t)(gates(rnn) + 1) * element_bytes(rnn->type);
  if (workspace != NULL) *workspace = layer;
  if (reserve != NULL) *reserve = training == 1 ? layer * (size_t)rnn->layers : 0;
  return 0;
}

/* The state of random generators, one for each thread that a device can run at a time. */
STANDIN_API int cudnnDropoutGetStatesSize(void* handle, size_t* bytes) {
  (void)handle;
  *bytes = (size_t)1 << 20;
  return 0;
}

STANDIN_API size_t cudnnGetCudartVersion(void) { return 13000; }
