/* Groups of NCCL's operations: ncclGroupStart to ncclGroupEnd, or one operation alone. */
#include <stdlib.h>

#include "libnccl.h"

static __thread struct operation* t_operations = NULL;
static __thread size_t t_count = 0;
static __thread size_t t_room = 0;
static __thread int t_depth = 0;

static int run_step(struct operation* operation, int (*step)(struct operation*)) {
  const int status = step == NULL ? kSuccess : step(operation);
  if (status != kSuccess) atomic_store(&operation->communicator->failed, status);
  return status;
}

/* After a failure of one, the others leave their messages, for which other ranks wait. */
static int run_group(void) {
  int status = kSuccess;
  for (size_t i = 0; i < t_count; ++i) {
    const int left = run_step(&t_operations[i], t_operations[i].leave);
    if (status == kSuccess) status = left;
  }
  for (size_t i = 0; i < t_count && status == kSuccess; ++i)
    status = run_step(&t_operations[i], t_operations[i].finish);
  for (size_t i = 0; i < t_count; ++i) free(t_operations[i].message);
  free(t_operations);
  t_operations = NULL;
  t_count = t_room = 0;
  return status;
}

int run_operation(const struct operation* operation) {
  if (t_count == t_room) {
    const size_t room = t_room == 0 ? 4 : 2 * t_room;
    struct operation* larger = realloc(t_operations, room * sizeof *larger);
    if (larger == NULL) return kSystemError;
    t_operations = larger;
    t_room = room;
  }
  t_operations[t_count++] = *operation;
  return t_depth == 0 ? run_group() : kSuccess;
}

const struct operation* send_in_group(size_t bytes) {
  for (size_t i = 0; i < t_count; ++i) {
    const struct operation* one = &t_operations[i];
    if (one->shape == NULL && one->from != NULL && one->bytes == bytes) return one;
  }
  return NULL;
}

STANDIN_API int ncclGroupStart(void) {
  ++t_depth;
  return kSuccess;
}

STANDIN_API int ncclGroupEnd(void) {
  if (t_depth == 0) return kInvalidUsage;
  return --t_depth == 0 ? run_group() : kSuccess;
}
