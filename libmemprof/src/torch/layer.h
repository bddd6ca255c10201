// What PyTorch's caching allocator tells of its blocks, made events of the log: blocks, the
// segments that they lie in, and its running out of memory.
//
// PyTorch calls c10::reportMemoryUsageToProfiler after every block that it hands out and before
// every one that it takes back, holding the lock of the device's allocator, mostly without Python's
// (exports/torch.cc). It passes its own totals, and these check us: every event is compared with
// the sums of what was recorded, a difference is counted (framework_totals_differ), and from there
// on the sums are compared as they stand.
//
// Segments have no event of their own. Whatever a block lies in belongs to the allocator: when
// PyTorch's reserved total moves, the driver's allocation below the block, or the pages mapped
// there, become segments, of the block's stream. They end with the call that gives the memory back
// to the driver.
//
// While a graph is captured, PyTorch takes blocks from private pools, which serve nothing else.
// Segments and the blocks in them name the capture that they were handed out in (aux1 = its number
// << 32); captures that share segments share a pool, as the reader finds out. Pools that programs
// choose without a capture (torch.cuda.use_mem_pool) are not told from others.
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

// One call of it. The totals are those after the event.
struct TorchReport {
  std::uint64_t address;
  std::int64_t bytes;  // of the block; negative = taken back
  std::uint64_t allocated;
  std::uint64_t reserved;
  bool has_totals;           // PyTorch 1.9 and older pass none
  std::uint64_t stream = 0;  // of a block that is handed out
};

class TorchLayer {
 public:
  TorchLayer(Definitions* definitions, VmmLedger* pages)
      : definitions_(definitions), pages_(pages) {}
  TorchLayer(const TorchLayer&) = delete;
  TorchLayer& operator=(const TorchLayer&) = delete;

  void Report(ThreadSlot* slot, const TorchReport& report, std::int32_t device);
  // `report` has no block, but what was asked for.
  void OutOfMemory(ThreadSlot* slot, const TorchReport& report, std::int32_t device);

  // For the driver's hooks, of memory that may be a segment.
  bool has_segments() const { return !segments_.empty(); }
  // Before the call that frees it.
  void Freeing(ThreadSlot* slot, std::uint64_t address);
  // That call failed.
  void FreeFailed(ThreadSlot* slot, std::uint64_t address);
  // After a call that took the mappings in the range away; the event is given `time_ns`.
  void Unmapped(ThreadSlot* slot, std::uint64_t address, std::uint64_t bytes,
                std::uint64_t time_ns);
  // All memory of the device has gone, and the log says so otherwise.
  void EndDevice(std::int32_t device);

  // Tells the log how the framework was seen, unless it knows: to be called now and then, and with
  // `ending` at the end.
  void TellSource(bool torch_loaded, bool torch_used, bool ending);

 private:
  struct alignas(64) Device {
    std::atomic<std::uint64_t> allocated{0};  // PyTorch's total as it should be now
    std::atomic<std::uint64_t> segments{0};   // bytes of known segments
    std::atomic<std::uint64_t> unknown{0};    // what PyTorch reserves beyond these (modulo 2^64)
  };
  static constexpr std::uint64_t kCapturesKept = 16;
  enum class Seen : std::uint32_t { kNothing, kNotSeen, kDirect, kCaching };

  void TellCaching();
  bool Settle(ThreadState* state, ThreadSlot* slot, const TorchReport& report, std::int32_t device);
  void FindSegments(ThreadState* state, ThreadSlot* slot, const TorchReport& report,
                    std::int32_t device);
  std::uint64_t FindPages(ThreadState* state, ThreadSlot* slot, std::uint64_t missing,
                          std::int32_t device, std::uint64_t stream);
  bool Begin(ThreadState* state, ThreadSlot* slot, SegmentTable::Segment segment,
             std::uint32_t stack, std::uint32_t api);
  void End(ThreadSlot* slot, const SegmentTable::Segment& segment, std::uint64_t time_ns);
  std::uint64_t CaptureOn(std::uint64_t stream);

  Definitions* definitions_;
  VmmLedger* pages_;
  SegmentTable segments_;
  std::atomic<Seen> seen_{Seen::kNothing};
  std::atomic<std::uint32_t> looks_{0};
  Mutex<LockRank::kTorchEnded> ended_mutex_;
  SegmentTable::Segment ended_;           // by the last Freeing
  std::atomic<bool> has_private_{false};  // a segment was for the capture of a graph
  Mutex<LockRank::kTorchCaptures> captures_mutex_;
  std::uint64_t captures_[kCapturesKept] = {};  // the driver's ids of the latest, round and round
  std::uint64_t last_capture_ = 0;              // number of the newest; they count from 1
  Device devices_[kMaxTorchDevices];
};

// That of this recording, or null.
extern std::atomic<TorchLayer*> g_torch_layer;
inline TorchLayer* TheTorchLayer() { return g_torch_layer.load(std::memory_order_acquire); }
inline void SetTorchLayer(TorchLayer* layer) {
  g_torch_layer.store(layer, std::memory_order_release);
}

// What the exported functions record of a call; nothing where nothing is recorded. Of a failed
// request, `bytes` is what was asked for.
void RecordTorchUsage(TorchReport report, TorchDevice device);
void RecordTorchOutOfMemory(TorchReport report, TorchDevice device);

}  // namespace memprof::recorder
