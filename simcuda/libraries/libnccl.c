/* NCCL: communicators have ranks and take device memory, but processes do not exchange data. A
 * collective operation returns the data as if every rank had sent the same as this one, and a sum
 * as if the other ranks had sent zeros. */
#include "libnccl.h"

#include <stdlib.h>
#include <string.h>

struct id {
  char bytes[128];
};

enum { kSuccess = 0, kCudaError = 1, kSystemError = 2, kInvalidArgument = 4 };

static int create(struct communicator** result, int ranks, int rank) {
  if (result == NULL || ranks < 1 || rank < 0 || rank >= ranks) return kInvalidArgument;
  struct communicator* made = standin_new(sizeof *made);
  if (made == NULL) return kSystemError;
  made->rank = rank;
  made->ranks = ranks;
  made->device = standin_device();
  const int status = take_initial_buffers(made);
  if (status != kSuccess) {
    free_buffers(made);
    standin_free(made);
    return status;
  }
  *result = made;
  return kSuccess;
}

static int destroy(struct communicator* communicator) {
  if (communicator == NULL) return kSuccess;
  free_buffers(communicator);
  standin_free(communicator);
  return kSuccess;
}

STANDIN_API int ncclGetUniqueId(struct id* id) {
  memset(id, 1, sizeof *id);
  return kSuccess;
}
STANDIN_API int ncclCommGetUniqueId(struct communicator* communicator, struct id* id) {
  (void)communicator;
  memset(id, 2, sizeof *id);
  return kSuccess;
}

STANDIN_API int ncclCommInitRank(struct communicator** result, int ranks, struct id id, int rank) {
  (void)id;
  return create(result, ranks, rank);
}
STANDIN_API int ncclCommInitRankConfig(struct communicator** result, int ranks, struct id id,
                                       int rank, void* config) {
  (void)id, (void)config;
  return create(result, ranks, rank);
}
STANDIN_API int ncclCommInitRankScalable(struct communicator** result, int ranks, int rank,
                                         int ids_count, struct id* ids, void* config) {
  (void)ids_count, (void)ids, (void)config;
  return create(result, ranks, rank);
}
STANDIN_API int ncclCommInitAll(struct communicator** results, int count, const int* devices) {
  (void)devices;
  for (int i = 0; i < count; ++i) {
    const int status = create(&results[i], count, i);
    if (status != kSuccess) {
      while (i-- > 0) destroy(results[i]);
      return status;
    }
  }
  return kSuccess;
}
STANDIN_API int ncclCommSplit(struct communicator* from, int color, int key,
                              struct communicator** result, void* config) {
  (void)key, (void)config;
  *result = NULL;
  if (color < 0) return kSuccess; /* NCCL_SPLIT_NOCOLOR */
  return create(result, from->ranks, from->rank);
}
STANDIN_API int ncclCommShrink(struct communicator* from, int* excluded, int count,
                               struct communicator** result, void* config, int flags) {
  (void)config, (void)flags;
  int rank = from->rank;
  for (int i = 0; i < count; ++i) rank -= excluded[i] < from->rank;
  return create(result, from->ranks - count < 1 ? 1 : from->ranks - count, rank < 0 ? 0 : rank);
}

STANDIN_API int ncclCommDestroy(struct communicator* communicator) { return destroy(communicator); }
STANDIN_API int ncclCommAbort(struct communicator* communicator) { return destroy(communicator); }

STANDIN_API int ncclCommCount(const struct communicator* communicator, int* count) {
  *count = communicator->ranks;
  return kSuccess;
}
STANDIN_API int ncclCommUserRank(const struct communicator* communicator, int* rank) {
  *rank = communicator->rank;
  return kSuccess;
}
STANDIN_API int ncclCommCuDevice(const struct communicator* communicator, int* device) {
  *device = communicator->device;
  return kSuccess;
}
STANDIN_API int ncclCommGetAsyncError(struct communicator* communicator, int* status) {
  (void)communicator;
  *status = kSuccess;
  return kSuccess;
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

static int take_all_peer_buffers(struct communicator* communicator) {
  int status = kSuccess;
  for (int i = 0; i < communicator->ranks && status == kSuccess; ++i)
    status = take_peer_buffers(communicator, i);
  return status;
}

/* Bytes of one element of an ncclDataType_t. */
static size_t element_bytes(int type) {
  static const unsigned char kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < (int)sizeof kBytes ? kBytes[type] : 1;
}

static int copy(void* to, const void* from, size_t bytes, void* stream) {
  if (standin_copy(to, from, bytes, stream) != 0) return kCudaError;
  standin_ran(kStandinNone, stream);
  return kSuccess;
}

/* `count` slots of `bytes` each, all filled from `from`, which may be one of them. */
static int fill_slots(char* to, const char* from, size_t bytes, int count, void* stream) {
  for (int i = 0; i < count; ++i) {
    const int status = copy(to + (size_t)i * bytes, from, bytes, stream);
    if (status != kSuccess) return status;
  }
  return kSuccess;
}

STANDIN_API int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation,
                              struct communicator* communicator, void* stream) {
  (void)operation;
  const int status = take_collective_buffers(communicator);
  return status != kSuccess ? status : copy(to, from, count * element_bytes(type), stream);
}
STANDIN_API int ncclReduce(const void* from, void* to, size_t count, int type, int operation,
                           int root, struct communicator* communicator, void* stream) {
  (void)operation;
  const int status = take_collective_buffers(communicator);
  if (status != kSuccess || root != communicator->rank) return status;
  return copy(to, from, count * element_bytes(type), stream);
}
/* A transfer with another rank in a group: a send of this rank, or a receive. */
struct transfer {
  const void* from; /* null: it receives */
  void* to;         /* null: it only sends */
  size_t bytes;
  void* stream;
};

enum { kMaxTransfers = 1024 };
static __thread struct transfer t_transfers[kMaxTransfers];
static __thread int t_count = 0;
static __thread int t_depth = 0;

/* Receives get the data that this rank sends in the same group with the same size. */
static int finish_group(void) {
  int status = kSuccess;
  for (int i = 0; i < t_count && status == kSuccess; ++i) {
    const struct transfer* to = &t_transfers[i];
    if (to->to == NULL) continue;
    const struct transfer* from = to->from != NULL ? to : NULL;
    for (int j = 0; from == NULL && j < t_count; ++j)
      if (t_transfers[j].from != NULL && t_transfers[j].bytes == to->bytes) from = &t_transfers[j];
    if (from != NULL) status = copy(to->to, from->from, to->bytes, to->stream);
  }
  t_count = 0;
  return status;
}

static int transfer(const void* from, void* to, size_t bytes, void* stream) {
  if (t_count == kMaxTransfers) finish_group();
  t_transfers[t_count++] = (struct transfer){from, to, bytes, stream};
  return t_depth == 0 ? finish_group() : kSuccess;
}

STANDIN_API int ncclGroupStart(void) {
  ++t_depth;
  return kSuccess;
}
STANDIN_API int ncclGroupEnd(void) {
  if (t_depth == 0) return 5; /* ncclInvalidUsage */
  return --t_depth == 0 ? finish_group() : kSuccess;
}

STANDIN_API int ncclBroadcast(const void* from, void* to, size_t count, int type, int root,
                              struct communicator* communicator, void* stream) {
  const int status = take_collective_buffers(communicator);
  if (status != kSuccess) return status;
  return transfer(root == communicator->rank ? from : NULL, to, count * element_bytes(type),
                  stream);
}
STANDIN_API int ncclSend(const void* from, size_t count, int type, int peer,
                         struct communicator* communicator, void* stream) {
  const int status = take_peer_buffers(communicator, peer);
  return status != kSuccess ? status : transfer(from, NULL, count * element_bytes(type), stream);
}
STANDIN_API int ncclRecv(void* to, size_t count, int type, int peer,
                         struct communicator* communicator, void* stream) {
  const int status = take_peer_buffers(communicator, peer);
  return status != kSuccess ? status : transfer(NULL, to, count * element_bytes(type), stream);
}
STANDIN_API int ncclAllGather(const void* from, void* to, size_t count, int type,
                              struct communicator* communicator, void* stream) {
  const int status = take_collective_buffers(communicator);
  if (status != kSuccess) return status;
  return fill_slots(to, from, count * element_bytes(type), communicator->ranks, stream);
}
STANDIN_API int ncclGather(const void* from, void* to, size_t count, int type, int root,
                           struct communicator* communicator, void* stream) {
  const int status = take_all_peer_buffers(communicator);
  if (status != kSuccess || root != communicator->rank) return status;
  return fill_slots(to, from, count * element_bytes(type), communicator->ranks, stream);
}
STANDIN_API int ncclReduceScatter(const void* from, void* to, size_t count, int type, int operation,
                                  struct communicator* communicator, void* stream) {
  (void)operation;
  const int status = take_collective_buffers(communicator);
  if (status != kSuccess) return status;
  const size_t bytes = count * element_bytes(type);
  return copy(to, (const char*)from + (size_t)communicator->rank * bytes, bytes, stream);
}
STANDIN_API int ncclAlltoAll(const void* from, void* to, size_t count, int type,
                             struct communicator* communicator, void* stream) {
  const int status = take_all_peer_buffers(communicator);
  if (status != kSuccess) return status;
  const size_t bytes = count * element_bytes(type);
  return fill_slots(to, (const char*)from + (size_t)communicator->rank * bytes, bytes,
                    communicator->ranks, stream);
}
