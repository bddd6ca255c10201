/* cuDNN's backend interface: descriptors keep what is set; every graph of operations has one
 * engine, found by every heuristic, whose plans need a workspace. Numbers: cudnn_graph.h. */
#include <stdlib.h>
#include <string.h>

#include "standin.h"

enum descriptor_type {
  kEngine = 2,
  kEngineConfiguration = 3,
  kHeuristics = 4,
  kExecutionPlan = 5,
  kOperationGraph = 15,
};

enum attribute_name {
  kHeuristicsResults = 202,
  kConfigurationEngine = 300,
  kConfigurationWorkspace = 303,
  kPlanConfiguration = 401,
  kPlanWorkspace = 402,
  kPlanText = 405,
  kGraphEngineCount = 802,
};

enum element_type { kBackendDescriptor = 15 };

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

STANDIN_API int cudnnBackendFinalize(struct descriptor* descriptor) {
  if (descriptor == NULL) return 2000; /* bad parameter */
  descriptor->finalized = 1;
  return 0;
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
STANDIN_API int cudnnBackendExecute(struct handle* handle, void* plan, void* pack) {
  (void)plan, (void)pack;
  if (handle == NULL) return 2000;
  standin_ran(handle->stream);
  return 0;
}

static int give_number(int64_t value, int64_t requested, int64_t* count, void* elements) {
  if (count != NULL) *count = 1;
  if (requested >= 1 && elements != NULL) memcpy(elements, &value, sizeof value);
  return 0;
}

/* Attributes that the library computes and does not store; 0 if the attribute is none of them. */
static int computed(const struct descriptor* descriptor, int name, int64_t requested,
                    int64_t* count, void* elements) {
  switch (descriptor->type) {
    case kOperationGraph:
      return name == kGraphEngineCount && !give_number(1, requested, count, elements);
    case kHeuristics: /* the caller's descriptors are filled: what is not set in them is computed */
      if (name != kHeuristicsResults) return 0;
      if (count != NULL) *count = 1;
      return 1;
    case kEngineConfiguration:
      if (name == kConfigurationWorkspace)
        return !give_number(kPlanWorkspaceBytes, requested, count, elements);
      if (name != kConfigurationEngine) return 0;
      if (count != NULL) *count = 1;
      return 1;
    case kExecutionPlan:
      if (name == kPlanWorkspace)
        return !give_number(kPlanWorkspaceBytes, requested, count, elements);
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
  const struct attribute* found = descriptor->attributes;
  while (found != NULL && found->name != name) found = found->next;
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
