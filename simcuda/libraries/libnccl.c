/* NCCL's communicators: they have ranks, and take device memory. Small messages travel between
 * their processes (libnccl_collective.c). */
#include "libnccl.h"

#include <stdlib.h>
#include <string.h>

static void destroy(struct communicator* communicator) {
  post_close(communicator->post);
  free_buffers(communicator);
  free(communicator->sent);
  standin_free(communicator);
}

int create_communicator(struct communicator** result, int ranks, int rank, const struct id* id) {
  if (result == NULL || ranks < 1 || rank < 0 || rank >= ranks) return kInvalidArgument;
  struct communicator* made = standin_new(sizeof *made);
  if (made == NULL) return kSystemError;
  made->rank = rank;
  made->ranks = ranks;
  made->device = standin_device();
  made->sent = calloc(2 * (size_t)ranks, sizeof *made->sent);
  const int status = made->sent == NULL ? kSystemError : take_initial_buffers(made);
  if (status != kSuccess) {
    destroy(made);
    return status;
  }
  if (id != NULL) made->post = post_open(id, ranks, rank);
  *result = made;
  return kSuccess;
}

STANDIN_API int ncclGetUniqueId(struct id* id) {
  if (id == NULL) return kInvalidArgument;
  if (!post_make(id)) memset(id, 1, sizeof *id);
  return kSuccess;
}
STANDIN_API int ncclCommGetUniqueId(struct communicator* communicator, struct id* id) {
  (void)communicator;
  return ncclGetUniqueId(id);
}

STANDIN_API int ncclCommInitRank(struct communicator** result, int ranks, struct id id, int rank) {
  return create_communicator(result, ranks, rank, &id);
}
STANDIN_API int ncclCommInitRankConfig(struct communicator** result, int ranks, struct id id,
                                       int rank, void* config) {
  (void)config;
  return create_communicator(result, ranks, rank, &id);
}
/* Every rank has the same ids in the same order. */
STANDIN_API int ncclCommInitRankScalable(struct communicator** result, int ranks, int rank,
                                         int ids_count, struct id* ids, void* config) {
  (void)config;
  if (ids_count < 1 || ids == NULL) return kInvalidArgument;
  return create_communicator(result, ranks, rank, ids);
}

static int create_all(struct communicator** results, int count, const int* devices) {
  struct id id;
  const int reached = post_make(&id);
  for (int i = 0; i < count; ++i) {
    int status = kCudaError;
    if (standin_use_device(devices == NULL ? i : devices[i]) == 0)
      status = create_communicator(&results[i], count, i, reached ? &id : NULL);
    if (status != kSuccess) {
      while (i-- > 0) destroy(results[i]);
      return status;
    }
  }
  return kSuccess;
}

STANDIN_API int ncclCommInitAll(struct communicator** results, int count, const int* devices) {
  if (results == NULL || count < 1) return kInvalidArgument;
  void* before = standin_context();
  const int status = create_all(results, count, devices);
  standin_use_context(before);
  return status;
}

STANDIN_API int ncclCommDestroy(struct communicator* communicator) {
  if (communicator != NULL) destroy(communicator);
  return kSuccess;
}
STANDIN_API int ncclCommAbort(struct communicator* communicator) {
  return ncclCommDestroy(communicator);
}
STANDIN_API int ncclCommFinalize(struct communicator* communicator) {
  return communicator == NULL ? kInvalidArgument : kSuccess;
}
/* Other threads stop to wait; then it can only be destroyed, or shrunk. */
STANDIN_API int ncclCommRevoke(struct communicator* communicator, int flags) {
  if (communicator == NULL || flags != 0) return kInvalidArgument;
  atomic_store(&communicator->revoked, 1);
  post_interrupt(communicator->post);
  return kSuccess;
}

STANDIN_API int ncclCommCount(const struct communicator* communicator, int* count) {
  if (communicator == NULL || count == NULL) return kInvalidArgument;
  *count = communicator->ranks;
  return kSuccess;
}
STANDIN_API int ncclCommUserRank(const struct communicator* communicator, int* rank) {
  if (communicator == NULL || rank == NULL) return kInvalidArgument;
  *rank = communicator->rank;
  return kSuccess;
}
STANDIN_API int ncclCommCuDevice(const struct communicator* communicator, int* device) {
  if (communicator == NULL || device == NULL) return kInvalidArgument;
  *device = communicator->device;
  return kSuccess;
}
STANDIN_API int ncclCommGetAsyncError(struct communicator* communicator, int* status) {
  if (communicator == NULL || status == NULL) return kInvalidArgument;
  *status = atomic_load(&communicator->failed);
  return kSuccess;
}
STANDIN_API const char* ncclGetErrorString(int status) {
  static const char* const kTexts[] = {"no error",
                                       "a call of CUDA failed",
                                       "a system call failed",
                                       "an operation was aborted",
                                       "invalid argument",
                                       "invalid usage",
                                       "another rank has ended, or does not answer"};
  const int known = status >= 0 && status < (int)(sizeof kTexts / sizeof kTexts[0]);
  return known ? kTexts[status] : "unknown error";
}
STANDIN_API const char* ncclGetLastError(const struct communicator* communicator) {
  return communicator == NULL ? "" : ncclGetErrorString(atomic_load(&communicator->failed));
}
STANDIN_API int ncclCommMemStats(struct communicator* communicator, int statistic,
                                 uint64_t* value) {
  (void)statistic;
  *value = communicator->bytes;
  return kSuccess;
}

STANDIN_API int ncclMemAlloc(uint64_t* address, size_t bytes) {
  return standin_device_alloc(bytes, address) == 0 ? kSuccess : kCudaError;
}
STANDIN_API int ncclMemFree(uint64_t address) {
  return standin_device_free(address) == 0 ? kSuccess : kCudaError;
}
