// The recorder's side of the shared-memory file of proto/ring.h: creates it, gives slabs to
// producers, takes them back from the writer thread, and removes it.
//
// Thread-safety: Create, Remove and Release belong to one thread at a time (first the one that
// starts recording, then the writer); Acquire and Seal may be called by any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "proto/ring.h"

namespace memprof::recorder {

struct RingOptions {
  std::uint64_t events = 0;      // that all slabs together should hold; 0 = default
  std::uint64_t most_bytes = 0;  // of the whole file; 0 = no limit but the format's
  const char* shared_directory = "/dev/shm";
  const char* log_path = "";  // stored in the ring; its directory is the second choice for the ring
  std::uint64_t start_time_ns = 0;
};

inline constexpr std::uint64_t kDefaultRingEvents = 1u << 20;

class RingBuffer {
 public:
  RingBuffer() = default;
  ~RingBuffer();
  RingBuffer(const RingBuffer&) = delete;
  RingBuffer& operator=(const RingBuffer&) = delete;

  // False when even private memory is not available.
  bool Create(const RingOptions& options);
  // Path of the file, empty when the memory is not shared.
  const char* path() const { return path_; }
  bool shared() const { return path_[0] != '\0'; }
  // The largest size, and the part that has memory now.
  std::uint64_t most_bytes() const { return mapped_bytes_; }
  std::uint64_t backed_bytes() const {
    return ring::kRingHeaderBytes + std::uint64_t{slabs_ready()} * ring::kSlabBytes;
  }
  // Unlinks the file; the memory stays mapped, because other threads may still append.
  void Remove();

  ring::RingHeader* header() const { return header_; }
  std::uint32_t slabs_ready() const { return header_->slabs_ready.load(std::memory_order_acquire); }
  ring::SlabHeader* slab(std::uint32_t index) const {
    return reinterpret_cast<ring::SlabHeader*>(slabs_ + std::size_t{index} * ring::kSlabBytes);
  }

  // An empty slab. Waits if none is free: up to a second while the writer works; up to 200 ms while
  // it does not, and less if such waits were in vain lately. Null when the wait did not help, and
  // from then on without a wait until the writer releases a slab. The writer's own thread never
  // waits.
  ring::SlabHeader* Acquire(ring::SlabKind kind, std::uint32_t thread, std::uint32_t tid);
  // Acquire in its two steps, for a caller that keeps signals off during the first one only: an
  // attempt, null if no slab is free; and the wait after it, false when the caller should give up.
  struct Wait {
    explicit Wait(const RingBuffer& ring) : seen(ring.released_.load(std::memory_order_acquire)) {}
    std::uint32_t seen;  // released_ before the attempt
    std::uint32_t heartbeat = 0;
    std::uint64_t began_ns = 0;
    std::uint64_t quiet_since_ns = 0;  // when the heartbeat last changed
  };
  ring::SlabHeader* TryAcquire(ring::SlabKind kind, std::uint32_t thread, std::uint32_t tid,
                               const Wait& wait);
  bool WaitAfterTry(ring::SlabKind kind, Wait* wait);
  // Whether an attempt may succeed. Approximate.
  bool MayHaveSlab(ring::SlabKind kind) const {
    return slabs_ready() != header_->slab_count || !IsScarce(Spare(kind));
  }
  // The slab is complete; its owner must not touch it any more.
  void Seal(ring::SlabHeader* slab);
  // The writer has written everything in the slab to the log.
  void Release(ring::SlabHeader* slab);

  // The writer's thread id; and its heartbeat, called during long work.
  void SetWriter(std::uint32_t tid) { writer_tid_.store(tid, std::memory_order_relaxed); }
  // How long the next thread without a slab would wait for a writer that shows no progress.
  std::uint64_t PatienceNs() const { return patience_ns_.load(std::memory_order_relaxed); }
  void Heartbeat() { heartbeat_.fetch_add(1, std::memory_order_relaxed); }

  // The writer sleeps here until `Attention()` differs from the value that it read before.
  std::uint32_t Attention() const { return attention_.load(std::memory_order_acquire); }
  void WaitForAttention(std::uint32_t seen, std::uint64_t timeout_ns);
  void CallAttention();

  void Count(log::Anomaly anomaly, std::uint64_t add = 1) {
    header_->anomalies[static_cast<int>(anomaly)].fetch_add(add, std::memory_order_relaxed);
  }
  std::uint64_t AnomalyCount(log::Anomaly anomaly) const {
    return header_->anomalies[static_cast<int>(anomaly)].load(std::memory_order_relaxed);
  }

 private:
  bool CreateIn(const char* directory, const char* prefix, std::uint32_t slabs);
  bool MapFile(int fd, std::uint32_t slabs);
  bool MapPrivate(std::uint32_t slabs);
  void InitialiseHeader(std::uint32_t slabs, const RingOptions& options);
  bool Grow(std::uint32_t slabs);
  bool AllAreOwned(std::uint32_t spare) const;
  bool Back(std::uint64_t offset, std::uint64_t bytes);
  int FileDescriptor();
  bool IsOurFile(int fd) const;
  // Closes the descriptor if the program may need it.
  void ReturnDescriptor();
  // Slabs that the kind has to leave to others.
  std::uint32_t Spare(ring::SlabKind kind) const {
    return kind == ring::SlabKind::kEvents ? reserved_slabs_ : 0;
  }
  bool IsScarce(std::uint32_t spare) const {
    return spare != 0 &&
           free_slabs_.load(std::memory_order_relaxed) <= static_cast<std::int32_t>(spare);
  }
  // False when the caller should give up.
  bool WaitForRelease(Wait* wait);
  // Index + 1 of a slab; 0 when at most `spare` are free. Approximate, because other threads change
  // the list.
  std::uint32_t PopFree(std::uint32_t spare);
  void PushFree(std::uint32_t index);

  ring::RingHeader* header_ = nullptr;
  char* slabs_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  int fd_ = -1;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  char path_[512] = "";
  Mutex<LockRank::kRing> grow_mutex_;
  std::atomic<std::uint32_t> attention_{0};
  std::atomic<std::uint32_t> writer_sleeps_{0};
  std::atomic<std::uint32_t> sealed_{0};    // since the writer's last drain
  std::atomic<std::uint32_t> released_{0};  // producers without a slab sleep here
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<std::uint32_t> overloaded_{0};
  std::atomic<std::int32_t> free_slabs_{0};  // lags behind the list: may be below zero
  std::atomic<std::uint32_t> owned_{0};      // slabs that are neither free nor sealed
  std::atomic<std::uint32_t> heartbeat_{0};
  std::atomic<std::uint32_t> writer_tid_{0};
  std::atomic<std::uint64_t> patience_ns_{0};
  std::uint32_t reserved_slabs_ = 0;
};

// Copies field by field, because the event was written just before: a processor that reads in one
// piece what several writes have just written has to wait until they have reached its cache. The
// compiler must not vectorise this (libmemprof/CMakeLists.txt).
inline void CopyEvent(const ring::RingEvent& from, ring::RingEvent* to) {
  to->time_ns = from.time_ns;
  to->address = from.address;
  to->bytes = from.bytes;
  to->aux0 = from.aux0;
  to->aux1 = from.aux1;
  to->stream = from.stream;
  to->stack = from.stack;
  to->label = from.label;
  to->api = from.api;
  to->context = from.context;
  to->result = from.result;
  to->device_plus_1 = from.device_plus_1;
  to->op = from.op;
  to->layer = from.layer;
}

inline ring::RingEvent* SlabEvents(ring::SlabHeader* slab) {
  return reinterpret_cast<ring::RingEvent*>(slab + 1);
}
inline char* SlabBytesBegin(ring::SlabHeader* slab) { return reinterpret_cast<char*>(slab + 1); }

// RLIMIT_FSIZE in bytes. A write beyond it raises a signal that ends the program.
std::uint64_t FileSizeLimit();

// Moves `fd` to a number far above those that programs use, or to the highest one allowed,
// close-on-exec. Returns the original where that is not possible.
int MoveDescriptorHigh(int fd);

}  // namespace memprof::recorder
