// The recorder's side of the shared-memory file that proto/ring.h draws: creates it, hands slabs
// to producers, takes them back from the writer thread, and removes it.
//
// Thread-safety: Create, Remove and Release belong to one thread at a time (start-up, then the
// writer); Acquire and Seal may be called by any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/sys.h"
#include "proto/ring.h"

namespace memprof::recorder {

struct RingOptions {
  std::uint64_t events = 0;  // that all slabs together should hold; 0 = default
  const char* shared_directory = "/dev/shm";
  const char* log_path = "";  // second choice: beside the log
  std::uint64_t start_time_ns = 0;
};

inline constexpr std::uint64_t kDefaultRingEvents = 1u << 20;

class RingBuffer {
 public:
  RingBuffer() = default;
  ~RingBuffer();
  RingBuffer(const RingBuffer&) = delete;
  RingBuffer& operator=(const RingBuffer&) = delete;

  // False when not even private memory could be had.
  bool Create(const RingOptions& options);
  // Path of the file, empty when the memory is not shared.
  const char* path() const { return path_; }
  bool shared() const { return path_[0] != '\0'; }
  // Unlinks the file; the memory stays mapped, because other threads may still append.
  void Remove();

  ring::RingHeader* header() const { return header_; }
  std::uint32_t slabs_ready() const { return header_->slabs_ready.load(std::memory_order_acquire); }
  ring::SlabHeader* slab(std::uint32_t index) const {
    return reinterpret_cast<ring::SlabHeader*>(slabs_ + std::size_t{index} * ring::kSlabBytes);
  }

  // A fresh slab, owned. Waits at most 10 ms in all for the writer to set one free; null when it
  // did not, and from then on at once, until it does.
  ring::SlabHeader* Acquire(ring::SlabKind kind, std::uint32_t thread, std::uint32_t tid);
  // The slab is complete; its owner must not touch it any more.
  void Seal(ring::SlabHeader* slab);
  // The writer has put everything in the slab into the log.
  void Release(ring::SlabHeader* slab);

  // The writer sleeps here. `Attention()` is what it last saw; any change ends the sleep.
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
  void InitialiseHeader(std::uint32_t slabs, std::uint64_t start_time_ns);
  bool Grow(std::uint32_t slabs);
  bool Back(std::uint64_t offset, std::uint64_t bytes);
  int FileDescriptor();
  bool IsOurFile(int fd) const;
  std::uint32_t PopFree();
  void PushFree(std::uint32_t index);

  ring::RingHeader* header_ = nullptr;
  char* slabs_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  int fd_ = -1;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
  char path_[512] = "";
  Mutex grow_mutex_;
  std::atomic<std::uint32_t> attention_{0};
  std::atomic<std::uint32_t> writer_sleeps_{0};
  std::atomic<std::uint32_t> sealed_{0};    // since the writer last looked
  std::atomic<std::uint32_t> released_{0};  // producers without a slab sleep here
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<std::uint32_t> overloaded_{0};
};

// Where payloads begin.
inline ring::RingEvent* SlabEvents(ring::SlabHeader* slab) {
  return reinterpret_cast<ring::RingEvent*>(slab + 1);
}
inline char* SlabBytesBegin(ring::SlabHeader* slab) { return reinterpret_cast<char*>(slab + 1); }

// RLIMIT_FSIZE in bytes. Whoever writes beyond it gets a signal that ends the program.
std::uint64_t FileSizeLimit();

// Duplicates `fd` far above the numbers that programs count on, close-on-exec, and closes the
// original; returns the original where that is not possible.
int MoveDescriptorHigh(int fd);

}  // namespace memprof::recorder
