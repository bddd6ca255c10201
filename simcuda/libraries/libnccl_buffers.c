/* The device memory of NCCL's communicators: an estimate, from buffer sizes and numbers of channels
 * that NCCL's own logs show, for GPUs of one host.
 *
 * A channel has a buffer for each of three protocols on the receiving side of every connection:
 * Simple's (NCCL_BUFFSIZE, 4 MiB), LL's and LL128's, together 10 MiB in pages of 2 MiB; the sending
 * side takes one page (github.com/NVIDIA/nccl/issues/1685: allocations of 10,485,760 and 2,097,152
 * bytes). A ring connects each channel to one neighbour on either side, and with more than two
 * ranks trees add half as many connections. Before 2.22, which connects when a connection is first
 * used, a communicator also has buffers for transfers over the network: 256 MiB. These rules give
 * the 544 MiB and 688 MiB that communicators of two and of four A100 took (issues/964), and 2,688
 * of the 3,128 MiB that an all-to-all of eight H100 added (issues/1685). */
#include <stdlib.h>

#include "libnccl.h"

enum { kPage = 2 << 20, kSimple = 4 << 20, kLl = 512 << 10, kLl128 = 4800 << 10 };
enum { kNetwork = 256 << 20, kAlone = 4 << 20, kConnectsLate = 22200 };

static long number_in(const char* name, long lowest, long highest) {
  const char* text = getenv(name);
  char* end = NULL;
  const long number = text == NULL ? -1 : strtol(text, &end, 10);
  return text == NULL || end == text || *end != '\0' || number < lowest || number > highest
             ? -1
             : number;
}

/* SIMCUDA_NCCL_MIB: the memory of every communicator; negative: by the rules. */
static long fixed_mib(void) { return number_in("SIMCUDA_NCCL_MIB", 0, 65536); }

/* Two for each NVLink of a V100 or an A100; of an H100 a log has channels up to 22 (issues/1259),
 * later ones are assumed to be alike. Two over PCIe, as in logs of cards (NCCL_DEBUG=INFO). */
static long channels_of(int capability) {
  switch (capability) {
    case 70:
      return 12;
    case 80:
    case 90:
    case 100:
      return 24;
    default:
      return 2;
  }
}

static size_t connection_bytes(void) {
  const long simple = number_in("NCCL_BUFFSIZE", 1, 1L << 32);
  const size_t bytes = (size_t)(simple > 0 ? simple : kSimple) + kLl + kLl128;
  return (bytes + kPage - 1) / kPage * kPage + kPage;
}

static long at_most(long channels, const char* name) {
  const long most = number_in(name, 1, 1024);
  return most > 0 && most < channels ? most : channels;
}

static int take(struct communicator* communicator, size_t bytes, uint64_t* place) {
  if (bytes == 0 || *place != 0) return kSuccess;
  if (standin_device_alloc(bytes, place) != 0) return kCudaError;
  communicator->bytes += bytes;
  return kSuccess;
}

int take_collective_buffers(struct communicator* communicator) {
  if (fixed_mib() >= 0 || communicator->ranks < 2) return kSuccess;
  const long channels = at_most(channels_of(standin_capability()), "NCCL_MAX_NCHANNELS");
  const long connections = communicator->ranks > 2 ? channels + channels / 2 : channels;
  return take(communicator, (size_t)connections * connection_bytes(), &communicator->collectives);
}

int take_initial_buffers(struct communicator* communicator) {
  const long fixed = fixed_mib();
  if (fixed >= 0) return take(communicator, (size_t)fixed << 20, &communicator->memory);
  if (communicator->ranks < 2) return take(communicator, kAlone, &communicator->memory);
  if (standin_version() >= kConnectsLate) return kSuccess;
  const int status = take(communicator, kNetwork, &communicator->memory);
  return status != kSuccess ? status : take_collective_buffers(communicator);
}

/* As many channels for a pair as an all-to-all of eight H100 shows: 32, or two over PCIe. */
int take_peer_buffers(struct communicator* communicator, int peer) {
  if (fixed_mib() >= 0 || peer == communicator->rank || peer < 0 || peer >= communicator->ranks)
    return kSuccess;
  if (communicator->peers == NULL)
    communicator->peers = calloc((size_t)communicator->ranks, sizeof *communicator->peers);
  if (communicator->peers == NULL) return kSystemError;
  const long all = channels_of(standin_capability()) > 2 ? 32 : 2;
  const long channels = at_most(all, "NCCL_MAX_P2P_NCHANNELS");
  return take(communicator, (size_t)channels * connection_bytes(), &communicator->peers[peer]);
}

void free_buffers(struct communicator* communicator) {
  standin_device_free(communicator->memory);
  standin_device_free(communicator->collectives);
  for (int i = 0; communicator->peers != NULL && i < communicator->ranks; ++i)
    standin_device_free(communicator->peers[i]);
  free(communicator->peers);
}
