/* Messages between the ranks of a communicator: a file in memory that their processes share. The
 * id has a descriptor of the process that made it, through which the others open it (/proc), so
 * nothing remains when all have ended. A message stays in a slot of its sender until all of its
 * readers have taken it. The ranks poll, as the stand-in's shared events do: nothing is locked that
 * a killed process could hold. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libnccl.h"

enum { kSlots = 32, kMaxRanks = 4096, kSystemPage = 4096 };
static const uint64_t kMagic = 0x31706c63636e6d73u; /* distinguishes versions of the layout */

/* At the beginning of the file. */
struct label {
  uint64_t magic;
  uint64_t token[2]; /* random */
};

/* In the id. */
struct address {
  struct label label;
  uint64_t inode;
  int process;
  int descriptor;
};

struct slot {
  _Atomic uint64_t key; /* its message; written last, and never used twice */
  atomic_int readers;   /* that have not taken it; 0: free; -1: being written */
  uint32_t bytes;
};

struct box {          /* of a rank */
  atomic_int process; /* 0: it has not come yet */
  atomic_int left;
  struct slot slots[kSlots];
};

struct region {
  struct label label;
  struct box boxes[];
};

struct post {
  int file;
  int made; /* the descriptor in the id, if this rank closes it; else -1 */
  uint64_t inode;
  int rank;
  int ranks;
  size_t region_bytes; /* the messages follow */
  struct region* region;
  atomic_int stopped;
  atomic_int users;
};

static int inode_of(int descriptor, uint64_t* inode) {
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  *inode = status.st_ino;
  return 1;
}

/* The program may have closed the descriptor, and opened another file by its number. */
static void close_own(int descriptor, uint64_t inode) {
  uint64_t now = 0;
  if (inode_of(descriptor, &now) && now == inode) close(descriptor);
}

static int read_address(const struct id* id, struct address* address) {
  memcpy(address, id->bytes, sizeof *address);
  return address->label.magic == kMagic;
}

int post_make(struct id* id) {
  struct address address = {.label = {.magic = kMagic}, .process = getpid()};
  address.descriptor = (int)syscall(SYS_memfd_create, "simcuda nccl", 1u /* MFD_CLOEXEC */);
  if (!inode_of(address.descriptor, &address.inode)) return 0;
  const long random = syscall(SYS_getrandom, address.label.token, sizeof address.label.token, 0u);
  if (random != (long)sizeof address.label.token ||
      pwrite(address.descriptor, &address.label, sizeof address.label, 0) !=
          (ssize_t)sizeof address.label) {
    close(address.descriptor);
    return 0;
  }
  memset(id, 0, sizeof *id);
  memcpy(id->bytes, &address, sizeof address);
  return 1;
}

void post_discard(const struct id* id) {
  struct address address;
  if (read_address(id, &address)) close_own(address.descriptor, address.inode);
}

static int open_file(const struct address* address) {
  char path[64];
  struct label label;
  uint64_t inode = 0;
  snprintf(path, sizeof path, "/proc/%d/fd/%d", address->process, address->descriptor);
  /* By now it may be another file, such as a pipe, whose opening must not block. */
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (inode_of(file, &inode) && inode == address->inode &&
      pread(file, &label, sizeof label, 0) == (ssize_t)sizeof label &&
      memcmp(&label, &address->label, sizeof label) == 0)
    return file;
  if (file >= 0) close(file);
  return -1;
}

static off_t place_of(const struct post* post, int rank, size_t slot) {
  const off_t number = (off_t)rank * kSlots + (off_t)slot;
  return (off_t)post->region_bytes + number * kMaxMessage;
}

struct post* post_open(const struct id* id, int ranks, int rank) {
  struct address address;
  struct stat status;
  if (!read_address(id, &address) || ranks < 2 || ranks > kMaxRanks) return NULL;
  struct post* post = calloc(1, sizeof *post);
  if (post == NULL) return NULL;
  const size_t bytes = sizeof(struct region) + (size_t)ranks * sizeof(struct box);
  post->file = open_file(&address);
  post->made = rank == 0 && address.process == getpid() ? address.descriptor : -1;
  post->inode = address.inode;
  post->rank = rank;
  post->ranks = ranks;
  post->region_bytes = (bytes + kSystemPage - 1) / kSystemPage * kSystemPage;
  /* Memory of the machine is taken where something is written. */
  const off_t end = place_of(post, ranks, 0);
  post->region = MAP_FAILED;
  if (post->file >= 0 && fstat(post->file, &status) == 0 &&
      (status.st_size >= end || ftruncate(post->file, end) == 0))
    post->region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, post->file, 0);
  if (post->region == MAP_FAILED) {
    if (post->file >= 0) close(post->file);
    free(post);
    return NULL;
  }
  atomic_store(&post->region->boxes[rank].process, getpid());
  return post;
}

void post_interrupt(struct post* post) {
  if (post == NULL) return;
  atomic_store(&post->stopped, 1);
  while (atomic_load(&post->users) > 0) usleep(200);
  atomic_store(&post->stopped, 0);
}

void post_close(struct post* post) {
  if (post == NULL) return;
  post_interrupt(post);
  atomic_store(&post->region->boxes[post->rank].left, 1);
  munmap(post->region, sizeof(struct region) + (size_t)post->ranks * sizeof(struct box));
  close(post->file);
  close_own(post->made, post->inode);
  free(post);
}

uint64_t message_key(enum message_kind kind, int receiver, uint64_t count) {
  return (uint64_t)kind << 60 | (uint64_t)receiver << 44 | (count & (((uint64_t)1 << 44) - 1));
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* As long as PyTorch waits for a collective operation. */
static double patience(void) {
  const char* text = getenv("SIMCUDA_NCCL_SECONDS");
  const double wanted = text == NULL ? 0 : atof(text);
  return wanted > 0 ? wanted : 600;
}

/* Also if its parent has not noticed yet. */
static int has_ended(int process) {
  char path[32], text[256];
  snprintf(path, sizeof path, "/proc/%d/stat", process);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length < 0 ? 0 : length] = '\0';
  const char* state = strrchr(text, ')'); /* behind the name */
  return state == NULL || state[1] == '\0' || state[2] == 'Z' || state[2] == 'X';
}

static int is_gone(const struct box* box) {
  const int process = atomic_load(&box->process);
  return atomic_load(&box->left) != 0 || (process != 0 && has_ended(process));
}

/* One round of a wait for a rank. */
static int wait_a_little(const struct post* post, int rank, double since, unsigned round) {
  if (atomic_load(&post->stopped)) return kInternalError;
  if (round % 64 == 63 && seconds() - since > patience()) {
    fprintf(stderr, "[libnccl] rank %d of %d has waited %.0f s for rank %d, and gives up\n",
            post->rank, post->ranks, seconds() - since, rank);
    return kRemoteError;
  }
  usleep(round < 100 ? 20 : 500);
  return kSuccess;
}

/* Free slots near the beginning come first, so that few pages of the file are touched. */
static struct slot* free_slot(struct box* box) {
  for (int i = 0; i < kSlots; ++i) {
    int readers = 0;
    if (atomic_compare_exchange_strong(&box->slots[i].readers, &readers, -1)) return &box->slots[i];
  }
  return NULL;
}

static int leave(struct post* post, uint64_t key, const void* message, size_t bytes, int readers) {
  struct box* box = &post->region->boxes[post->rank];
  const double since = seconds();
  struct slot* slot = free_slot(box);
  for (unsigned round = 0; slot == NULL; ++round) {
    const int status = wait_a_little(post, post->rank == 0 ? 1 : 0, since, round);
    if (status != kSuccess) return status;
    slot = free_slot(box);
  }
  const off_t place = place_of(post, post->rank, (size_t)(slot - box->slots));
  const int written = pwrite(post->file, message, bytes, place) == (ssize_t)bytes;
  slot->bytes = written ? (uint32_t)bytes : 0;
  atomic_store(&slot->readers, readers);
  atomic_store(&slot->key, key);
  return written ? kSuccess : kSystemError;
}

static struct slot* find(struct box* box, uint64_t key) {
  for (int i = 0; i < kSlots; ++i)
    if (atomic_load(&box->slots[i].key) == key) return &box->slots[i];
  return NULL;
}

static int take(struct post* post, int rank, uint64_t key, size_t offset, void* part,
                size_t bytes) {
  struct box* box = &post->region->boxes[rank];
  const double since = seconds();
  struct slot* slot = find(box, key);
  for (unsigned round = 0; slot == NULL; ++round) {
    const int gone = round % 64 == 63 && is_gone(box);
    slot = find(box, key); /* it may have left the message before it went */
    if (slot == NULL && gone) return kRemoteError;
    const int status = slot != NULL ? kSuccess : wait_a_little(post, rank, since, round);
    if (status != kSuccess) return status;
  }
  const size_t there = slot->bytes > offset ? slot->bytes - offset : 0;
  const size_t length = bytes < there ? bytes : there;
  const off_t place = place_of(post, rank, (size_t)(slot - box->slots)) + (off_t)offset;
  memset(part, 0, bytes);
  const int read = pread(post->file, part, length, place) == (ssize_t)length;
  atomic_fetch_sub(&slot->readers, 1);
  return read ? kSuccess : kSystemError;
}

int post_leave(struct post* post, uint64_t key, const void* message, size_t bytes, int readers) {
  atomic_fetch_add(&post->users, 1);
  const int status = leave(post, key, message, bytes, readers);
  atomic_fetch_sub(&post->users, 1);
  return status;
}

int post_take(struct post* post, int rank, uint64_t key, size_t offset, void* part, size_t bytes) {
  atomic_fetch_add(&post->users, 1);
  const int status = take(post, rank, key, offset, part, bytes);
  atomic_fetch_sub(&post->users, 1);
  return status;
}
