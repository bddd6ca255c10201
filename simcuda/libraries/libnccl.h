/* What the files of the stand-in's NCCL share. */
#ifndef SIMCUDA_LIBRARIES_LIBNCCL_H
#define SIMCUDA_LIBRARIES_LIBNCCL_H

#include "standin.h"

struct communicator {
  int rank;
  int ranks;
  int device;
  uint64_t memory;      /* what it takes at its creation */
  uint64_t collectives; /* buffers of rings and trees */
  uint64_t* peers;      /* buffers for each rank, of sends and receives */
  uint64_t bytes;       /* of all these */
};

/* Buffers that a communicator takes at its creation, at its first collective operation, and at the
 * first send or receive between it and `peer`. An ncclResult_t. */
int take_initial_buffers(struct communicator* communicator);
int take_collective_buffers(struct communicator* communicator);
int take_peer_buffers(struct communicator* communicator, int peer);
void free_buffers(struct communicator* communicator);

#endif
