/* What the files of the stand-in's NCCL share. */
#ifndef SIMCUDA_LIBRARIES_LIBNCCL_H
#define SIMCUDA_LIBRARIES_LIBNCCL_H

#include <stdatomic.h>

#include "standin.h"

/* An ncclResult_t. */
enum {
  kSuccess = 0,
  kCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
};

/* An ncclUniqueId. */
struct id {
  char bytes[128];
};

struct communicator {
  int rank;
  int ranks;
  int device;
  uint64_t memory;      /* what it takes at its creation */
  uint64_t collectives; /* buffers of rings and trees */
  uint64_t* peers;      /* buffers for each rank, of sends and receives */
  uint64_t bytes;       /* of all these */
  struct post* post;    /* null: the other ranks cannot be reached */
  uint64_t calls;       /* collective operations so far: the same number in every rank */
  uint64_t shrinks;
  uint64_t* sent; /* messages to each rank so far, and behind them those from each */
  atomic_int failed;
  atomic_int revoked;
};

/* libnccl.c. `id` may be null, for a communicator whose ranks do not reach each other. */
int create_communicator(struct communicator** result, int ranks, int rank, const struct id* id);

/* libnccl_buffers.c: buffers that a communicator takes at its creation, at its first collective
 * operation, and at the first send or receive between it and `peer`. */
int take_initial_buffers(struct communicator* communicator);
int take_collective_buffers(struct communicator* communicator);
int take_peer_buffers(struct communicator* communicator, int peer);
void free_buffers(struct communicator* communicator);

/* libnccl_post.c: where the ranks of a communicator leave messages for each other. */
enum { kMaxMessage = 1 << 20 };
enum message_kind { kCollective = 1, kShrink = 2, kTransfer = 3 };

/* Makes an id that other processes of this user can open; false if that is not possible. */
int post_make(struct id* id);
/* An id that this process made, and no communicator uses. */
void post_discard(const struct id* id);
/* Null if it cannot be reached. */
struct post* post_open(const struct id* id, int ranks, int rank);
/* Ends what other threads wait for now. */
void post_interrupt(struct post* post);
void post_close(struct post* post);
/* The name of the `count`-th message of its kind, for transfers of those to `receiver`. */
uint64_t message_key(enum message_kind kind, int receiver, uint64_t count);
/* Leaves a message, which this number of other ranks will take. */
int post_leave(struct post* post, uint64_t key, const void* message, size_t bytes, int readers);
/* Waits for a message of the rank, and takes this part of it. Each reader does it once. */
int post_take(struct post* post, int rank, uint64_t key, size_t offset, void* part, size_t bytes);

/* libnccl_group.c: operations run at the end of their group. First all leave what other ranks
 * need, then all wait for the others: so the order within a group does not matter. */
struct operation {
  int (*leave)(struct operation* operation);
  int (*finish)(struct operation* operation);
  struct communicator* communicator;
  const struct shape* shape; /* of a collective operation */
  const char* from;
  char* to;
  size_t bytes; /* of one rank's part */
  int type;
  int reduction;
  int peer; /* or the root */
  void* stream;
  uint64_t key;
  int exchanged; /* between the processes */
  char* message; /* what this rank left; freed with the operation */
  struct communicator** result;
  int color;
  int order;
  const unsigned char* excluded; /* of each rank */
};
int run_operation(const struct operation* operation);
/* A send of the same size in the group that ends, or null. */
const struct operation* send_in_group(size_t bytes);

/* libnccl_reduce.c: elements of an ncclDataType_t, by an ncclRedOp_t. */
size_t element_bytes(int type);
void reduce(void* result, const void* other, size_t bytes, int type, int reduction);
/* What follows the last rank of an average. */
void finish_reduction(void* result, size_t bytes, int type, int reduction, int ranks);

#endif
