/* cuDNN's backend interface: descriptors keep what is set. A graph of one convolution has the plans
 * that the heuristics would give; any other graph has one, whose workspace is an assumption.
 * Numbers: cudnn_graph.h. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libcudnn.h"
#include "standin.h"

enum descriptor_type {
  kEngine = 2,
  kEngineConfiguration = 3,
  kHeuristics = 4,
  kExecutionPlan = 5,
  kConvolutionForward = 10,
  kConvolutionBackwardFilter = 11,
  kConvolutionBackwardData = 12,
  kOperationGraph = 15,
};

enum attribute_name {
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPadding = 105,
  kHeuristicsMode = 200,
  kHeuristicsGraph = 201,
  kHeuristicsResults = 202,
  kConfigurationEngine = 300,
  kConfigurationWorkspace = 303,
  kPlanConfiguration = 401,
  kPlanWorkspace = 402,
  kPlanText = 405,
  kConvolutionDescriptor = 702, /* of the forward operation; then w, x and y */
  kBackwardDataDescriptor = 708,
  kBackwardFilterDescriptor = 714,
  kGraphOperations = 801,
  kGraphEngineCount = 802,
  kTensorAlignment = 900,
  kTensorType = 901,
  kTensorExtents = 902,
  kTensorStrides = 903,
  kEngineNotes = 1303,
};

enum element_type { kBackendDescriptor = 15 };

enum { kFallbackMode = 2 };

static const int64_t kPlanWorkspaceBytes = 1 << 20;

struct attribute {
  struct attribute* next;
  int name;
  int type;
  int64_t count;
  char elements[];
};

struct descriptor {
  int type;
  int finalized;
  struct attribute* attributes;
  struct convolution convolution; /* of an operation, graph or heuristic; no dims: of none */
  struct convolution_plan plan;   /* of a configuration, engine or plan */
  int executions;                 /* of a plan */
};

static size_t element_bytes(int type) {
  switch (type) {
    case 2:  /* boolean */
    case 24: /* char */
      return 1;
    case 0:  /* handle */
    case 3:  /* int64 */
    case 5:  /* double */
    case 6:  /* pointer */
    case 15: /* descriptor */
      return 8;
    case 26: /* fraction */
      return 16;
    default: /* float, int32 and enumerations */
      return 4;
  }
}

STANDIN_API int cudnnBackendCreateDescriptor(int type, struct descriptor** result) {
  *result = standin_new(sizeof **result);
  if (*result == NULL) return 1001; /* allocation failed */
  (*result)->type = type;
  (*result)->plan.workspace = kPlanWorkspaceBytes;
  return 0;
}

STANDIN_API int cudnnBackendDestroyDescriptor(struct descriptor* descriptor) {
  if (descriptor == NULL) return 0;
  while (descriptor->attributes != NULL) {
    struct attribute* next = descriptor->attributes->next;
    free(descriptor->attributes);
    descriptor->attributes = next;
  }
  standin_free(descriptor);
  return 0;
}

static const struct attribute* find(const struct descriptor* descriptor, int name) {
  const struct attribute* found = descriptor == NULL ? NULL : descriptor->attributes;
  while (found != NULL && found->name != name) found = found->next;
  return found;
}

/* The descriptor that an attribute names, or null. */
static const struct descriptor* named(const struct descriptor* descriptor, int name) {
  const struct attribute* found = find(descriptor, name);
  const struct descriptor* result = NULL;
  if (found != NULL && found->type == kBackendDescriptor && found->count == 1)
    memcpy(&result, found->elements, sizeof result);
  return result;
}

static int copy_numbers(const struct descriptor* descriptor, int name, int64_t count,
                        int64_t* numbers) {
  const struct attribute* found = find(descriptor, name);
  if (found == NULL || found->type != 3 || found->count != count) return 0;
  memcpy(numbers, found->elements, (size_t)count * sizeof *numbers);
  return 1;
}

static int read_tensor(const struct descriptor* tensor, struct convolution* result,
                       int64_t* extents, int64_t* strides) {
  int64_t alignment = 0;
  if (!copy_numbers(tensor, kTensorExtents, result->dims, extents) ||
      !copy_numbers(tensor, kTensorStrides, result->dims, strides))
    return 0;
  if (copy_numbers(tensor, kTensorAlignment, 1, &alignment) && alignment < result->alignment)
    result->alignment = alignment;
  return 1;
}

/* The extents of a convolution, when its operation is complete: its tensors may end after that. */
static int read_convolution(const struct descriptor* operation, struct convolution* result) {
  const int first = operation->type == kConvolutionForward        ? kConvolutionDescriptor
                    : operation->type == kConvolutionBackwardData ? kBackwardDataDescriptor
                                                                  : kBackwardFilterDescriptor;
  const struct descriptor *convolution = named(operation, first), *w = named(operation, first + 1),
                          *x = named(operation, first + 2), *y = named(operation, first + 3);
  const struct attribute *extents = find(x, kTensorExtents), *type = find(x, kTensorType);
  if (convolution == NULL || w == NULL || y == NULL || extents == NULL || type == NULL) return 0;
  if (extents->count < 3 || extents->count > kCudnnMaxDims) return 0;
  result->kind = operation->type == kConvolutionForward        ? kForward
                 : operation->type == kConvolutionBackwardData ? kBackwardData
                                                               : kBackwardFilter;
  memcpy(&result->type, type->elements, sizeof result->type);
  result->dims = (int)extents->count;
  result->alignment = 64;
  const int64_t space = extents->count - 2;
  return read_tensor(x, result, result->x, result->x_strides) &&
         read_tensor(w, result, result->w, result->w_strides) &&
         read_tensor(y, result, result->y, result->y_strides) &&
         copy_numbers(convolution, kConvolutionPadding, space, result->padding) &&
         copy_numbers(convolution, kConvolutionStrides, space, result->strides) &&
         copy_numbers(convolution, kConvolutionDilations, space, result->dilations);
}

STANDIN_API int cudnnBackendFinalize(struct descriptor* descriptor) {
  if (descriptor == NULL) return 2000; /* bad parameter */
  descriptor->finalized = 1;
  if (descriptor->type >= kConvolutionForward && descriptor->type <= kConvolutionBackwardData &&
      !read_convolution(descriptor, &descriptor->convolution))
    descriptor->convolution.dims = 0;
  return 0;
}

/* What a descriptor inherits from one that is set in it. */
static void inherit(struct descriptor* descriptor, int name) {
  const struct descriptor* from = named(descriptor, name);
  if (from == NULL) return;
  if ((descriptor->type == kOperationGraph && name == kGraphOperations) ||
      (descriptor->type == kHeuristics && name == kHeuristicsGraph))
    descriptor->convolution = from->convolution;
  if (descriptor->type == kExecutionPlan && name == kPlanConfiguration)
    descriptor->plan = from->plan;
}

STANDIN_API int cudnnBackendSetAttribute(struct descriptor* descriptor, int name, int type,
                                         int64_t count, const void* elements) {
  if (descriptor == NULL || count < 0 || count > (1 << 24)) return 2000;
  const size_t bytes = (size_t)count * element_bytes(type);
  struct attribute** place = &descriptor->attributes;
  while (*place != NULL && (*place)->name != name) place = &(*place)->next;
  struct attribute* old = *place;
  struct attribute* made = malloc(sizeof *made + bytes);
  if (made == NULL) return 1001;
  *made = (struct attribute){old == NULL ? NULL : old->next, name, type, count};
  if (bytes != 0) memcpy(made->elements, elements, bytes);
  *place = made;
  free(old);
  if (type == kBackendDescriptor) inherit(descriptor, name);
  return 0;
}

/* A handle stores its stream. */
struct handle {
  void* stream;
};

STANDIN_API int cudnnCreate(struct handle** result) {
  *result = standin_new(sizeof **result);
  return *result == NULL ? 1001 : 0;
}
STANDIN_API int cudnnSetStream(struct handle* handle, void* stream) {
  if (handle == NULL) return 2000;
  handle->stream = stream;
  return 0;
}
STANDIN_API int cudnnGetStream(struct handle* handle, void** stream) {
  if (handle == NULL) return 2000;
  *stream = handle->stream;
  return 0;
}
/* A program that compares plans by their times finds the same one each time: the heuristics' choice
 * is the fastest. Of a plan that runs on, only the first executions take longer. */
static void take_time(struct descriptor* plan) {
  enum { kCompared = 4 }; /* a warm-up and three executions: cudnn_frontend_find_plan.h */
  const struct timespec longer = {0, 1000000};
  if (plan != NULL && plan->plan.rank > 0 && plan->executions++ < kCompared)
    nanosleep(&longer, NULL);
}

STANDIN_API int cudnnBackendExecute(struct handle* handle, struct descriptor* plan, void* pack) {
  (void)pack;
  if (handle == NULL) return 2000;
  take_time(plan);
  standin_ran(kStandinCudnn, handle->stream);
  return 0;
}

static int give_number(int64_t value, int64_t requested, int64_t* count, void* elements) {
  if (count != NULL) *count = 1;
  if (requested >= 1 && elements != NULL) memcpy(elements, &value, sizeof value);
  return 0;
}

/* Fills the caller's configurations with the plans of a graph, and returns how many there are. */
static int64_t give_plans(const struct descriptor* heuristics, int64_t requested,
                          struct descriptor** configurations) {
  struct convolution_plan plans[kMaxPlans] = {{kPlanWorkspaceBytes, 0}};
  const struct attribute* mode = find(heuristics, kHeuristicsMode);
  int32_t which = 0;
  int64_t count = 1;
  if (mode != NULL) memcpy(&which, mode->elements, sizeof which);
  if (heuristics->convolution.dims != 0) {
    if (which == kFallbackMode)
      plans[0].workspace = 0;
    else
      count = convolution_plans(&heuristics->convolution, standin_capability(), plans);
  }
  for (int64_t i = 0; i < count && i < requested && configurations != NULL; ++i) {
    if (configurations[i] == NULL) continue;
    configurations[i]->plan = plans[i];
    configurations[i]->plan.rank = which == kFallbackMode ? kMaxPlans : (int)i;
  }
  return count;
}

static int give_notes(unsigned notes, int64_t requested, int64_t* count, void* elements) {
  int64_t found = 0;
  for (int32_t note = 0; note < 32; ++note) {
    if ((notes >> note & 1) == 0) continue;
    if (found < requested && elements != NULL)
      memcpy((char*)elements + (size_t)found * sizeof note, &note, sizeof note);
    ++found;
  }
  if (count != NULL) *count = found;
  return 0;
}

/* Attributes that the library computes and does not store; 0 if the attribute is none of them. */
static int computed(const struct descriptor* descriptor, int name, int64_t requested,
                    int64_t* count, void* elements) {
  switch (descriptor->type) {
    case kOperationGraph:
      return name == kGraphEngineCount && !give_number(1, requested, count, elements);
    case kHeuristics: { /* the caller's descriptors are filled */
      if (name != kHeuristicsResults) return 0;
      const int64_t found = give_plans(descriptor, requested, elements);
      if (count != NULL) *count = requested > 0 && requested < found ? requested : found;
      return 1;
    }
    case kEngineConfiguration:
      if (name == kConfigurationWorkspace)
        return !give_number(descriptor->plan.workspace, requested, count, elements);
      if (name != kConfigurationEngine) return 0;
      if (count != NULL) *count = 1;
      if (requested >= 1 && elements != NULL && *(struct descriptor**)elements != NULL)
        (*(struct descriptor**)elements)->plan = descriptor->plan;
      return 1;
    case kEngine:
      return name == kEngineNotes &&
             !give_notes(descriptor->plan.notes, requested, count, elements);
    case kExecutionPlan:
      if (name == kPlanWorkspace)
        return !give_number(descriptor->plan.workspace, requested, count, elements);
      if (name == kPlanText) {
        if (count != NULL) *count = 3;
        if (requested >= 3 && elements != NULL) memcpy(elements, "{}", 3);
        return 1;
      }
      if (name != kPlanConfiguration) return 0;
      if (count != NULL) *count = 1;
      return 1;
    default:
      return 0;
  }
}

STANDIN_API int cudnnBackendGetAttribute(const struct descriptor* descriptor, int name, int type,
                                         int64_t requested, int64_t* count, void* elements) {
  if (descriptor == NULL) return 2000;
  if (computed(descriptor, name, requested, count, elements)) return 0;
  const struct attribute* found = find(descriptor, name);
  if (count != NULL) *count = found == NULL ? 0 : found->count;
  if (elements == NULL || requested < 1) return 0;
  if (found != NULL) {
    const int64_t given = requested < found->count ? requested : found->count;
    memcpy(elements, found->elements, (size_t)given * element_bytes(found->type));
  } else if (type != kBackendDescriptor) {
    memset(elements, 0, element_bytes(type)); /* such as the number of the one engine */
  }
  return 0;
}
