// Records what PyTorch's caching allocator reports: blocks, the segments that they lie in, and
// running out of memory.
//
// PyTorch calls c10::reportMemoryUsageToProfiler after every block that it allocates and before
// every one that it frees, holding the lock of the device's allocator, mostly without the GIL
// (exports/torch.cc). It passes its own totals, which serve as a check: after every event they are
// compared with our sums. A difference is counted (framework_totals_differ), and from then on
// PyTorch's totals are used.
//
// Segments have no call of their own. When PyTorch's reserved total grows, the driver's allocation
// below the block, or the pages mapped there, become segments of the block's stream. They end with
// the call that returns the memory to the driver.
//
// While a graph is captured, or as long as the program has chosen one (torch.cuda.use_mem_pool),
// PyTorch allocates blocks from private pools, which serve nothing else. Segments and their blocks
// carry the number of the pool in aux1: PyTorch's own, if the agent reported the pool
// (recording/chosen_pools.h), else that of the capture (number << 32). Captures that share segments
// share a pool; the reader finds that out.
#pragma once

#include <atomic>
#include <cstdint>

#include "libmemprof/src/base/locks.h"
#include "libmemprof/src/driver/vmm_ledger.h"
#include "libmemprof/src/log/definitions.h"
#include "libmemprof/src/torch/internal/segment_table.h"
#include "proto/ring.h"

namespace memprof::recorder {

struct ThreadState;
struct ThreadSlot;

// c10::Device, which is passed by value in a register.
struct TorchDevice {
  std::int8_t type;
  std::int8_t index;
};
inline constexpr std::int8_t kTorchCuda = 1;
inline constexpr std::int32_t kMaxTorchDevices = 64;

// One call of the reporting function. The totals are those after the event.
struct TorchReport {
  std::uint64_t address;
  std::int64_t bytes;  // of the block; negative = freed
  std::uint64_t allocated;
  std::uint64_t reserved;
  bool has_totals;           // PyTorch 1.9 and older have none
  std::uint64_t stream = 0;  // of a block that is allocated
};

class TorchLayer {
 public:
  TorchLayer(Definitions* definitions, VmmLedger* pages)
      : definitions_(definitions), pages_(pages) {}
  TorchLayer(const TorchLayer&) = delete;
  TorchLayer& operator=(const TorchLayer&) = delete;

  // The program has memory already: the first totals are not compared.
  void BeginLate();
  void Report(ThreadSlot* slot, const TorchReport& report, std::int32_t device);
  // `report` has the requested bytes instead of a block.
  void OutOfMemory(ThreadSlot* slot, const TorchReport& report, std::int32_t device);

  // For the driver's hooks, of memory that may be a segment.
  bool has_segments() const { return !segments_.empty(); }
  // Before the call that frees it.
  void Freeing(ThreadSlot* slot, std::uint64_t address);
  // The call that should have freed it failed.
  void FreeFailed(ThreadSlot* slot, std::uint64_t address);
  // After a call that removed the mappings in the range; the event gets `time_ns`.
  void Unmapped(ThreadSlot* slot, std::uint64_t address, std::uint64_t bytes,
                std::uint64_t time_ns);
  // All memory of the device has ended; another event of the log records that.
  void EndDevice(std::int32_t device);

  // The stream is being captured, with PyTorch's pool of this number.
  void NameCapture(std::uint64_t stream, std::uint64_t pool) { PoolOfCaptureOn(stream, pool); }

  // Records in the log how the framework was seen, unless that was recorded. Call it from time to
  // time, and with `ending` at the end.
  void ReportSource(bool torch_loaded, bool torch_used, bool ending);

 private:
  struct alignas(64) Device {
    std::atomic<std::uint64_t> allocated{0};  // PyTorch's total as it should be now
    std::atomic<std::uint64_t> segments{0};   // bytes of all segments
    // bytes that PyTorch reserves beyond these (modulo 2^64)
    std::atomic<std::uint64_t> unknown{0};
    std::atomic<bool> began_late{false};  // and nothing was reported since
  };
  struct Capture {
    std::uint64_t id = 0;    // the driver's
    std::uint64_t pool = 0;  // aux1 of its segments and blocks
  };
  static constexpr std::uint64_t kCapturesKept = 16;
  enum class Seen : std::uint32_t { kNothing, kNotSeen, kDirect, kCaching };

  void ReportCaching();
  bool Reconcile(ThreadState* state, ThreadSlot* slot, const TorchReport& report,
                 std::int32_t device);
  void FindSegments(ThreadState* state, ThreadSlot* slot, const TorchReport& report,
                    std::int32_t device);
  std::uint64_t FindPages(ThreadState* state, ThreadSlot* slot, std::uint64_t missing,
                          std::int32_t device, std::uint64_t stream);
  bool Begin(ThreadState* state, ThreadSlot* slot, SegmentTable::Segment segment,
             std::uint32_t stack, std::uint32_t api);
  void End(ThreadSlot* slot, const SegmentTable::Segment& segment, std::uint64_t time_ns);
  std::uint64_t PoolFor(std::int32_t device, std::uint64_t stream);
  std::uint64_t PoolOfCaptureOn(std::uint64_t stream, std::uint64_t pool = 0);

  Definitions* definitions_;
  VmmLedger* pages_;
  SegmentTable segments_;
  std::atomic<Seen> seen_{Seen::kNothing};
  std::atomic<std::uint32_t> checks_{0};
  Mutex<LockRank::kTorchEnded> ended_mutex_;
  SegmentTable::Segment ended_;           // by the last Freeing
  std::atomic<bool> has_private_{false};  // a segment was for a private pool
  Mutex<LockRank::kTorchCaptures> captures_mutex_;
  Capture captures_[kCapturesKept];  // the last ones, as a ring
  std::uint64_t last_capture_ = 0;   // number of the newest, counted from 1
  Device devices_[kMaxTorchDevices];
};

// The layer of the current recording; null if none.
extern std::atomic<TorchLayer*> g_torch_layer;
inline TorchLayer* TheTorchLayer() { return g_torch_layer.load(std::memory_order_acquire); }
inline void SetTorchLayer(TorchLayer* layer) {
  g_torch_layer.store(layer, std::memory_order_release);
}

// Called by the exported functions; do nothing when nothing is recorded. For a failed request,
// `bytes` is what was requested.
void RecordTorchUsage(TorchReport report, TorchDevice device);
void RecordTorchOutOfMemory(TorchReport report, TorchDevice device);
// The stream that this thread uses on the device is being captured, with this pool.
void RecordTorchCapture(std::int32_t device, std::uint64_t pool);

}  // namespace memprof::recorder
