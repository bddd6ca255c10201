// Slabs of shared memory between the program's threads and the writer thread.
#include "libmemprof/src/log/ring_buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "libmemprof/src/base/hash.h"

namespace memprof::recorder {
namespace {

using ring::SlabHeader;
using ring::SlabState;

constexpr std::uint32_t kMinSlabs = 16;
constexpr std::uint32_t kFirstSlabs = 4;
constexpr std::uint32_t kGrowSlabs = 8;
// Wakes the writer early once so many slabs are complete: enough events for a full chunk.
constexpr std::uint32_t kWakeAfterSealed = 4;
// Limits of the wait of a thread without a slab: the largest and the smallest patience with a
// writer that shows no progress (WaitForRelease moves it between them), and the wait for one that
// does.
constexpr std::uint64_t kMaxPatienceNs = 200'000'000;
constexpr std::uint64_t kMinPatienceNs = 1'000'000;
constexpr std::uint64_t kMaxWaitNs = 1'000'000'000;
// If the program's limit of descriptors is below this number, the ring's descriptor is not kept
// open.
constexpr int kHighDescriptor = 900;
// Slabs that only definitions may use, if the ring is large enough: a thread that waits for a
// definition holds a lock, which the writer may need.
constexpr std::uint32_t kMaxReservedSlabs = 8;

// Field 22 of /proc/self/stat: the process's start in clock ticks since boot; 0 if unreadable.
std::uint64_t ProcessStartTime() {
  char text[1024];
  const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const ssize_t bytes = read(fd, text, sizeof text - 1);
  close(fd);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char* field = strrchr(text, ')');  // the command may hold spaces and parentheses
  for (int skip = 0; field != nullptr && skip < 20; ++skip) field = strchr(field + 1, ' ');
  return field == nullptr ? 0 : strtoull(field + 1, nullptr, 10);
}

std::uint64_t RandomNumber() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = NowNs() * kHashSeed ^ static_cast<std::uint64_t>(getpid());
  return number;
}

std::uint32_t SlabsFor(std::uint64_t events, std::uint64_t most_bytes) {
  if (events == 0) events = kDefaultRingEvents;
  std::uint64_t slabs = (events + ring::kEventsPerSlab - 1) / ring::kEventsPerSlab;
  if (most_bytes != 0 && slabs > most_bytes / ring::kSlabBytes)
    slabs = most_bytes / ring::kSlabBytes;
  if (slabs < kMinSlabs) return kMinSlabs;
  return slabs > ring::kMaxSlabs / 2 ? ring::kMaxSlabs / 2 : static_cast<std::uint32_t>(slabs);
}

// Shared memory is scarce in containers, and the program may need it: use at most a quarter of what
// is free.
std::uint32_t SlabsThatFit(const char* directory, std::uint32_t slabs) {
  struct statvfs space;
  if (statvfs(directory, &space) != 0) return 0;
  const std::uint64_t fit =
      static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize / 4 / ring::kSlabBytes;
  return fit < slabs ? static_cast<std::uint32_t>(fit) : slabs;
}

}  // namespace

std::uint64_t FileSizeLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return ~std::uint64_t{0};
  return limit.rlim_cur;
}

int MoveDescriptorHigh(int fd) {
  int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighDescriptor);
  rlimit limit;
  if (high < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 0 &&
      limit.rlim_cur <= kHighDescriptor)
    high = fcntl(fd, F_DUPFD_CLOEXEC, static_cast<int>(limit.rlim_cur) - 1);
  if (high < 0) return fd;
  close(fd);
  return high;
}

RingBuffer::~RingBuffer() {
  if (header_ != nullptr) {
    ForgetOwn(header_);
    munmap(header_, mapped_bytes_);
  }
  if (fd_ >= 0 && IsOurFile(fd_)) close(fd_);
}

bool RingBuffer::Create(const RingOptions& options) {
  const std::uint32_t slabs = SlabsFor(options.events, options.most_bytes);
  const std::uint32_t shared_slabs = SlabsThatFit(options.shared_directory, slabs);
  char prefix[64];
  snprintf(prefix, sizeof prefix, "/memprof-%d", static_cast<int>(getpid()));
  if (shared_slabs >= kMinSlabs && CreateIn(options.shared_directory, prefix, shared_slabs)) {
    InitialiseHeader(shared_slabs, options);
  } else if (options.log_path[0] != '\0' && CreateIn(options.log_path, "", slabs)) {
    InitialiseHeader(slabs, options);
  } else if (MapPrivate(slabs)) {
    InitialiseHeader(slabs, options);
    Count(log::Anomaly::kRingNotShared);
  } else {
    return false;
  }
  const bool grown = Grow(kFirstSlabs);
  ReturnDescriptor();
  return grown;
}

void RingBuffer::ReturnDescriptor() {
  if (fd_ < 0 || fd_ >= kHighDescriptor) return;
  close(fd_);
  fd_ = -1;
}

bool RingBuffer::CreateIn(const char* directory, const char* prefix, std::uint32_t slabs) {
  const int length = snprintf(path_, sizeof path_, "%s%s-%016llx.mprof.ring", directory, prefix,
                              static_cast<unsigned long long>(RandomNumber()));
  if (length >= static_cast<int>(sizeof path_)) {
    path_[0] = '\0';
    return false;
  }
  int fd = open(path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd >= 0) {
    fd = MoveDescriptorHigh(fd);
    if (MapFile(fd, slabs)) return true;
    close(fd);
    unlink(path_);
  }
  fd_ = -1;
  path_[0] = '\0';
  return false;
}

bool RingBuffer::MapFile(int fd, std::uint32_t slabs) {
  struct stat status;
  if (fstat(fd, &status) != 0) return false;
  device_ = status.st_dev;
  inode_ = status.st_ino;
  const std::size_t bytes = ring::kRingHeaderBytes + std::size_t{slabs} * ring::kSlabBytes;
  const FileSizeSignalOff signal_off;
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return false;
  fd_ = fd;
  // Shows processes that clean up, also in other pid namespaces, that the ring is in use. Without
  // file locks, the pid in the header must do.
  flock(fd, LOCK_SH | LOCK_NB);
  // Memory is reserved before it is touched: a full file system must not become a SIGBUS.
  if (!Back(0, ring::kRingHeaderBytes + std::uint64_t{kFirstSlabs} * ring::kSlabBytes))
    return false;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, bytes, MADV_DONTFORK);
  RememberOwn(memory, bytes);
  header_ = static_cast<ring::RingHeader*>(memory);
  mapped_bytes_ = bytes;
  return true;
}

bool RingBuffer::MapPrivate(std::uint32_t slabs) {
  const std::size_t bytes = ring::kRingHeaderBytes + std::size_t{slabs} * ring::kSlabBytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  RememberOwn(memory, bytes);
  header_ = static_cast<ring::RingHeader*>(memory);
  mapped_bytes_ = bytes;
  return true;
}

void RingBuffer::InitialiseHeader(std::uint32_t slabs, const RingOptions& options) {
  slabs_ = reinterpret_cast<char*>(header_) + ring::kRingHeaderBytes;
  header_->version = ring::kRingVersion;
  header_->slab_bytes = ring::kSlabBytes;
  header_->slab_count = slabs;
  header_->pid = static_cast<std::uint32_t>(getpid());
  header_->event_bytes = sizeof(ring::RingEvent);
  header_->start_time_ns = options.start_time_ns;
  if (strlen(options.log_path) < sizeof header_->log_path)
    strcpy(header_->log_path, options.log_path);
  header_->pid_start_time = ProcessStartTime();
  header_->commit_at.store(ring::kNotCommitted, std::memory_order_relaxed);
  memcpy(header_->magic, ring::kRingMagic, sizeof header_->magic);
  reserved_slabs_ = slabs / kMinSlabs < kMaxReservedSlabs ? slabs / kMinSlabs : kMaxReservedSlabs;
  patience_ns_.store(kMaxPatienceNs, std::memory_order_relaxed);
}

void RingBuffer::Remove() {
  LockGuard lock(grow_mutex_);
  if (path_[0] == '\0') return;
  unlink(path_);
  path_[0] = '\0';
}

bool RingBuffer::IsOurFile(int fd) const {
  struct stat status;
  return fstat(fd, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

// The program may have closed all descriptors that it does not know, and reused their numbers.
int RingBuffer::FileDescriptor() {
  if (fd_ >= 0 && IsOurFile(fd_)) return fd_;
  fd_ = -1;
  if (path_[0] == '\0') return -1;
  int fd = open(path_, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  fd = MoveDescriptorHigh(fd);
  if (!IsOurFile(fd)) {
    close(fd);
    return -1;
  }
  fd_ = fd;
  return fd_;
}

bool RingBuffer::Back(std::uint64_t offset, std::uint64_t bytes) {
  const int fd = FileDescriptor();
  if (fd < 0) return false;
  int status;
  do {
    status = fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (status != 0 && errno == EINTR);
  if (status == 0) return true;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
  const FileSizeSignalOff signal_off;
  static constexpr char kZeros[4096] = {};
  for (std::uint64_t done = 0; done < bytes; done += sizeof kZeros)
    if (pwrite(fd, kZeros, sizeof kZeros, static_cast<off_t>(offset + done)) != sizeof kZeros)
      return false;
  return true;
}

bool RingBuffer::Grow(std::uint32_t slabs) {
  if (slabs_ready() == header_->slab_count) return false;
  SystemSection section;
  LockGuard lock(grow_mutex_);
  const std::uint32_t ready = header_->slabs_ready.load(std::memory_order_relaxed);
  if (slabs > header_->slab_count - ready) slabs = header_->slab_count - ready;
  if (slabs == 0) return false;
  if (path_[0] != '\0' && !Back(ring::kRingHeaderBytes + std::uint64_t{ready} * ring::kSlabBytes,
                                std::uint64_t{slabs} * ring::kSlabBytes))
    return false;
  ReturnDescriptor();
  header_->slabs_ready.store(ready + slabs, std::memory_order_release);
  for (std::uint32_t index = ready; index < ready + slabs; ++index) PushFree(index);
  return true;
}

std::uint32_t RingBuffer::PopFree(std::uint32_t spare) {
  if (slabs_ready() == header_->slab_count && IsScarce(spare)) return 0;
  std::uint64_t head = header_->free_list.load(std::memory_order_acquire);
  while (static_cast<std::uint32_t>(head) != 0) {
    const std::uint32_t index = static_cast<std::uint32_t>(head) - 1;
    const std::uint64_t next = slab(index)->next_free.load(std::memory_order_relaxed);
    // detects a slab that was returned to the list meanwhile
    const std::uint64_t tag = (head >> 32) + 1;
    if (header_->free_list.compare_exchange_weak(head, tag << 32 | next,
                                                 std::memory_order_acq_rel)) {
      free_slabs_.fetch_sub(1, std::memory_order_relaxed);
      return index + 1;
    }
  }
  return 0;
}

void RingBuffer::PushFree(std::uint32_t index) {
  std::uint64_t head = header_->free_list.load(std::memory_order_relaxed);
  do {
    slab(index)->next_free.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
  } while (!header_->free_list.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | (index + 1),
                                                     std::memory_order_acq_rel));
  free_slabs_.fetch_add(1, std::memory_order_relaxed);
}

// As long as the heartbeat changes, the writer works: then a thread waits up to kMaxWaitNs.
// Otherwise it waits for a shorter time, which is halved after each wait without success and
// doubled after each successful one. So a log on a hanging disk costs the program a fraction of a
// second in all, and not at every event.
bool RingBuffer::WaitForRelease(Wait* wait) {
  const std::uint32_t seen = released_.load(std::memory_order_acquire);
  CallAttention();
  if (overloaded_.load(std::memory_order_relaxed) != 0) return false;
  if (CurrentTid() == writer_tid_.load(std::memory_order_relaxed)) return false;
  if (seen != wait->seen) {  // released since the caller checked
    wait->seen = seen;
    return true;
  }
  const std::uint64_t now = NowNs();
  const std::uint64_t patience = patience_ns_.load(std::memory_order_relaxed);
  const std::uint32_t beat = heartbeat_.load(std::memory_order_relaxed);
  if (wait->began_ns == 0) wait->began_ns = now;
  if (wait->quiet_since_ns == 0 || beat != wait->heartbeat) wait->quiet_since_ns = now;
  wait->heartbeat = beat;
  if (now >= wait->quiet_since_ns + patience || now >= wait->began_ns + kMaxWaitNs) {
    overloaded_.store(1, std::memory_order_relaxed);
    if (patience / 2 >= kMinPatienceNs) patience_ns_.store(patience / 2, std::memory_order_relaxed);
    return false;
  }
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  FutexWait(&released_, seen, wait->quiet_since_ns + patience - now);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

SlabHeader* RingBuffer::Acquire(ring::SlabKind kind, std::uint32_t thread, std::uint32_t tid) {
  Wait wait(*this);
  for (;;) {
    SlabHeader* taken = TryAcquire(kind, thread, tid, wait);
    if (taken != nullptr) return taken;
    if (!WaitAfterTry(kind, &wait)) return nullptr;
  }
}

bool RingBuffer::WaitAfterTry(ring::SlabKind kind, Wait* wait) {
  return !AllAreOwned(Spare(kind)) && WaitForRelease(wait);
}

SlabHeader* RingBuffer::TryAcquire(ring::SlabKind kind, std::uint32_t thread, std::uint32_t tid,
                                   const Wait& wait) {
  std::uint32_t index;
  while ((index = PopFree(Spare(kind))) == 0)
    if (!Grow(kGrowSlabs)) return nullptr;
  if (wait.began_ns != 0) {
    const std::uint64_t patience = patience_ns_.load(std::memory_order_relaxed);
    patience_ns_.store(patience * 2 < kMaxPatienceNs ? patience * 2 : kMaxPatienceNs,
                       std::memory_order_relaxed);
  }
  SlabHeader* taken = slab(index - 1);
  taken->kind = kind;
  taken->thread = thread;
  taken->tid = tid;
  taken->sequence = header_->next_sequence.fetch_add(1, std::memory_order_relaxed);
  owned_.fetch_add(1, std::memory_order_relaxed);
  taken->state.store(SlabState::kOwned, std::memory_order_release);
  return taken;
}

// More threads live than there are slabs: the writer has none that it could release, and waiting
// for another thread's end would stop the program.
bool RingBuffer::AllAreOwned(std::uint32_t spare) const {
  return owned_.load(std::memory_order_relaxed) + spare >= header_->slab_count;
}

void RingBuffer::Seal(SlabHeader* sealed) {
  owned_.fetch_sub(1, std::memory_order_relaxed);
  sealed->state.store(SlabState::kSealed, std::memory_order_release);
  if (sealed_.fetch_add(1, std::memory_order_relaxed) + 1 == kWakeAfterSealed) CallAttention();
}

void RingBuffer::Release(SlabHeader* released) {
  // In this order, so that a reader of a killed process never takes counts of an earlier use for
  // new ones.
  released->state.store(SlabState::kFree, std::memory_order_release);
  released->published.store(0, std::memory_order_release);
  released->pending.store(0, std::memory_order_release);
  released->taken.store(0, std::memory_order_release);
  PushFree(
      static_cast<std::uint32_t>((reinterpret_cast<char*>(released) - slabs_) / ring::kSlabBytes));
  overloaded_.store(0, std::memory_order_relaxed);
  released_.fetch_add(1, std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_seq_cst) != 0) FutexWake(&released_, 64);
}

void RingBuffer::WaitForAttention(std::uint32_t seen, std::uint64_t timeout_ns) {
  sealed_.store(0, std::memory_order_relaxed);
  writer_sleeps_.store(1, std::memory_order_seq_cst);
  FutexWait(&attention_, seen, timeout_ns);
  writer_sleeps_.store(0, std::memory_order_relaxed);
}

void RingBuffer::CallAttention() {
  attention_.fetch_add(1, std::memory_order_seq_cst);
  if (writer_sleeps_.load(std::memory_order_seq_cst) != 0) FutexWake(&attention_, 1);
}

}  // namespace memprof::recorder
