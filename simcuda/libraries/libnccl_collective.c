/* Collective operations, sends and receives. Messages of at most 1 MiB travel between the
 * processes, by way of the host, before the call returns: a wait for another rank would otherwise
 * decide when PyTorch may use a block again. Larger ones do not: the result is as if every rank
 * had sent the same as this one, and a sum as if the others had sent zeros. The same applies while
 * a stream is being captured. */
#include <stdlib.h>
#include <string.h>

#include "libnccl.h"

struct shape {
  unsigned char root_sends; /* only the root sends */
  unsigned char root_takes;
  unsigned char parts;   /* each rank sends a part for every other */
  unsigned char slots;   /* the result has a slot for the part of every rank */
  unsigned char reduces; /* otherwise, unless it has slots, one rank sends the result */
  unsigned char direct;  /* by connections between each two */
};
static const struct shape kAllReduce = {.reduces = 1};
static const struct shape kReduce = {.root_takes = 1, .reduces = 1};
static const struct shape kBroadcast = {.root_sends = 1};
static const struct shape kAllGather = {.slots = 1};
static const struct shape kGather = {.root_takes = 1, .slots = 1, .direct = 1};
static const struct shape kScatter = {.root_sends = 1, .parts = 1, .direct = 1};
static const struct shape kReduceScatter = {.parts = 1, .reduces = 1};
static const struct shape kAllToAll = {.parts = 1, .slots = 1, .direct = 1};

static int copy(void* to, const void* from, size_t bytes, void* stream) {
  return standin_copy(to, from, bytes, stream) != 0 ? kCudaError : kSuccess;
}

static int copy_within(void* to, const void* from, size_t bytes, void* stream) {
  const int status = copy(to, from, bytes, stream);
  if (status == kSuccess) standin_ran(kStandinNone, stream);
  return status;
}

/* Every rank must come to the same result. */
static int travels(const struct operation* o, size_t bytes) {
  return o->communicator->post != NULL && bytes > 0 && bytes <= kMaxMessage &&
         !standin_capturing(o->stream);
}

static int sends(const struct operation* o, int rank) {
  return !o->shape->root_sends || rank == o->peer;
}

static int takes(const struct operation* o, int rank) {
  return !o->shape->root_takes || rank == o->peer;
}

/* Reads what this rank sends, and leaves it for that many others. */
static int leave_message(struct operation* o, size_t bytes, int readers) {
  o->message = malloc(bytes);
  if (o->message == NULL) return kSystemError;
  const int status = copy(o->message, o->from, bytes, o->stream);
  if (status != kSuccess || readers == 0) return status;
  return post_leave(o->communicator->post, o->key, o->message, bytes, readers);
}

static int leave_collective(struct operation* o) {
  struct communicator* communicator = o->communicator;
  const int ranks = communicator->ranks;
  const size_t bytes = o->bytes * (size_t)(o->shape->parts ? ranks : 1);
  o->key = message_key(kCollective, 0, ++communicator->calls);
  o->exchanged = travels(o, bytes);
  if (!o->exchanged || !sends(o, communicator->rank)) return kSuccess;
  const int root_reads = communicator->rank != o->peer;
  return leave_message(o, bytes, o->shape->root_takes ? root_reads : ranks - 1);
}

/* The part that a rank sent to this one. */
static int part_of(struct operation* o, int rank, char* part) {
  const struct communicator* communicator = o->communicator;
  const size_t offset = o->shape->parts ? (size_t)communicator->rank * o->bytes : 0;
  if (rank != communicator->rank)
    return post_take(communicator->post, rank, o->key, offset, part, o->bytes);
  memcpy(part, o->message + offset, o->bytes);
  return kSuccess;
}

static int gather_parts(struct operation* o, char* part, char* result) {
  const int ranks = o->communicator->ranks;
  int status = kSuccess;
  for (int i = 0, first = 1; i < ranks && status == kSuccess; ++i) {
    if (!sends(o, i)) continue;
    status = part_of(o, i, part);
    if (status != kSuccess) break;
    if (o->shape->slots) {
      status = copy(o->to + (size_t)i * o->bytes, part, o->bytes, o->stream);
    } else if (first) {
      memcpy(result, part, o->bytes);
    } else {
      reduce(result, part, o->bytes, o->type, o->reduction);
    }
    first = 0;
  }
  if (status != kSuccess || o->shape->slots) return status;
  if (o->shape->reduces) finish_reduction(result, o->bytes, o->type, o->reduction, ranks);
  return copy(o->to, result, o->bytes, o->stream);
}

static int finish_alone(struct operation* o) {
  const int rank = o->communicator->rank;
  if (!sends(o, rank) || o->bytes == 0) return kSuccess;
  const char* from = o->from + (o->shape->parts ? (size_t)rank * o->bytes : 0);
  const int slots = o->shape->slots ? o->communicator->ranks : 1;
  int status = kSuccess;
  for (int i = 0; i < slots && status == kSuccess; ++i)
    status = copy_within(o->to + (size_t)i * o->bytes, from, o->bytes, o->stream);
  return status;
}

static int finish_collective(struct operation* o) {
  if (!takes(o, o->communicator->rank)) return kSuccess;
  if (!o->exchanged) return finish_alone(o);
  char* room = malloc(2 * o->bytes);
  if (room == NULL) return kSystemError;
  const int status = gather_parts(o, room, room + o->bytes);
  free(room);
  return status;
}

static int run_collective(const struct shape* shape, const void* from, void* to, size_t count,
                          int type, int reduction, int root, struct communicator* communicator,
                          void* stream) {
  if (communicator == NULL || root < 0 || root >= communicator->ranks) return kInvalidArgument;
  if (communicator->revoked) return kInvalidUsage;
  int status = shape->direct ? kSuccess : take_collective_buffers(communicator);
  for (int i = 0; shape->direct && i < communicator->ranks && status == kSuccess; ++i)
    status = take_peer_buffers(communicator, i);
  if (status != kSuccess) return status;
  const struct operation operation = {.leave = leave_collective,
                                      .finish = finish_collective,
                                      .communicator = communicator,
                                      .shape = shape,
                                      .from = from,
                                      .to = to,
                                      .bytes = count * element_bytes(type),
                                      .type = type,
                                      .reduction = reduction,
                                      .peer = root,
                                      .stream = stream};
  return run_operation(&operation);
}

STANDIN_API int ncclAllReduce(const void* from, void* to, size_t count, int type, int operation,
                              struct communicator* communicator, void* stream) {
  return run_collective(&kAllReduce, from, to, count, type, operation, 0, communicator, stream);
}
STANDIN_API int ncclReduce(const void* from, void* to, size_t count, int type, int operation,
                           int root, struct communicator* communicator, void* stream) {
  return run_collective(&kReduce, from, to, count, type, operation, root, communicator, stream);
}
STANDIN_API int ncclBroadcast(const void* from, void* to, size_t count, int type, int root,
                              struct communicator* communicator, void* stream) {
  return run_collective(&kBroadcast, from, to, count, type, 0, root, communicator, stream);
}
STANDIN_API int ncclBcast(void* data, size_t count, int type, int root,
                          struct communicator* communicator, void* stream) {
  return run_collective(&kBroadcast, data, data, count, type, 0, root, communicator, stream);
}
STANDIN_API int ncclAllGather(const void* from, void* to, size_t count, int type,
                              struct communicator* communicator, void* stream) {
  return run_collective(&kAllGather, from, to, count, type, 0, 0, communicator, stream);
}
STANDIN_API int ncclGather(const void* from, void* to, size_t count, int type, int root,
                           struct communicator* communicator, void* stream) {
  return run_collective(&kGather, from, to, count, type, 0, root, communicator, stream);
}
STANDIN_API int ncclScatter(const void* from, void* to, size_t count, int type, int root,
                            struct communicator* communicator, void* stream) {
  return run_collective(&kScatter, from, to, count, type, 0, root, communicator, stream);
}
STANDIN_API int ncclReduceScatter(const void* from, void* to, size_t count, int type, int operation,
                                  struct communicator* communicator, void* stream) {
  return run_collective(&kReduceScatter, from, to, count, type, operation, 0, communicator, stream);
}
STANDIN_API int ncclAlltoAll(const void* from, void* to, size_t count, int type,
                             struct communicator* communicator, void* stream) {
  return run_collective(&kAllToAll, from, to, count, type, 0, 0, communicator, stream);
}

/* The messages between two ranks have an order of their own. */
static int leave_transfer(struct operation* o) {
  struct communicator* communicator = o->communicator;
  const int receives = o->from == NULL;
  const int receiver = receives ? communicator->rank : o->peer;
  uint64_t* count = &communicator->sent[o->peer + (receives ? communicator->ranks : 0)];
  o->key = message_key(kTransfer, receiver, ++*count);
  o->exchanged = o->peer != communicator->rank && travels(o, o->bytes);
  return receives || !o->exchanged ? kSuccess : leave_message(o, o->bytes, 1);
}

/* What does not travel is replaced by what this rank sends in the same group, with the same size.
 */
static int finish_transfer(struct operation* o) {
  if (o->from != NULL) return kSuccess;
  if (!o->exchanged) {
    const struct operation* same = send_in_group(o->bytes);
    return same == NULL ? kSuccess : copy_within(o->to, same->from, o->bytes, o->stream);
  }
  char* part = malloc(o->bytes);
  if (part == NULL) return kSystemError;
  int status = post_take(o->communicator->post, o->peer, o->key, 0, part, o->bytes);
  if (status == kSuccess) status = copy(o->to, part, o->bytes, o->stream);
  free(part);
  return status;
}

static int transfer(const void* from, void* to, size_t bytes, int peer,
                    struct communicator* communicator, void* stream) {
  if (communicator == NULL || peer < 0 || peer >= communicator->ranks) return kInvalidArgument;
  if (communicator->revoked) return kInvalidUsage;
  const int status = take_peer_buffers(communicator, peer);
  if (status != kSuccess || bytes == 0) return status;
  const struct operation operation = {.leave = leave_transfer,
                                      .finish = finish_transfer,
                                      .communicator = communicator,
                                      .from = from,
                                      .to = to,
                                      .bytes = bytes,
                                      .peer = peer,
                                      .stream = stream};
  return run_operation(&operation);
}

STANDIN_API int ncclSend(const void* from, size_t count, int type, int peer,
                         struct communicator* communicator, void* stream) {
  return transfer(from, NULL, count * element_bytes(type), peer, communicator, stream);
}
STANDIN_API int ncclRecv(void* to, size_t count, int type, int peer,
                         struct communicator* communicator, void* stream) {
  return transfer(NULL, to, count * element_bytes(type), peer, communicator, stream);
}
