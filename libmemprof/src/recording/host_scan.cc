// Finds words of host memory that point to device memory.
#include "libmemprof/src/recording/host_scan.h"

#include <stdlib.h>

#include <algorithm>
#include <new>

#include "libmemprof/include/memprof/memprof.h"
#include "libmemprof/src/driver/api.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/internal/holder_search.h"
#include "libmemprof/src/recording/internal/own_array.h"
#include "libmemprof/src/recording/internal/pointer_scan.h"
#include "libmemprof/src/recording/record_event.h"

namespace memprof::recorder {
namespace {

constexpr std::uint64_t kMaxScanNs = 60'000'000'000;
constexpr std::uint64_t kMaxFlushNs = 2'000'000'000;
// for blocks that are allocated between counting and copying
constexpr std::size_t kSpareTargets = 4096;
// Sizes of the probes: the driver manages small and large memory differently.
constexpr std::size_t kProbes[] = {4096,
                                   4096,
                                   std::size_t{1} << 20,
                                   std::size_t{1} << 20,
                                   std::size_t{4} << 20,
                                   std::size_t{4} << 20};

// Makes a context current while it lives: the thread's own, or another one of the program. A thread
// that exits may have lost its own already.
class SomeContext {
 public:
  SomeContext() {
    const CalledFunctions& driver = Driver();
    CUcontext context = nullptr;
    if (driver.cuCtxGetCurrent == nullptr || driver.cuCtxPushCurrent_v2 == nullptr ||
        driver.cuCtxPopCurrent_v2 == nullptr || TheRecorder()->driver()->calls_held() ||
        driver.cuCtxGetCurrent(&context) != CUDA_SUCCESS)
      return;
    if (context == nullptr) {
      context = TheRecorder()->driver()->AnyContext();
      pushed_ = context != nullptr && driver.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
      if (!pushed_) return;
    }
    there_ = true;
    if (driver.cuThreadExchangeStreamCaptureMode != nullptr)
      exchanged_ = driver.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS;
  }
  ~SomeContext() {
    CUcontext context = nullptr;
    if (exchanged_) Driver().cuThreadExchangeStreamCaptureMode(&mode_);
    if (pushed_) Driver().cuCtxPopCurrent_v2(&context);
  }
  SomeContext(const SomeContext&) = delete;
  SomeContext& operator=(const SomeContext&) = delete;
  bool there() const { return there_; }

 private:
  // Our calls must not invalidate the capture of a stream.
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool there_ = false, pushed_ = false, exchanged_ = false;
};

// Allocates device memory to which the program has no pointer: the addresses are only in `targets`,
// which is memory of the recorder. Returns the number of probes; if it is not all of them, the scan
// has no result.
std::size_t MakeProbes(ScanTarget* targets) {
  static_assert(sizeof(CUdeviceptr) == sizeof(targets->address));
  const CalledFunctions& driver = Driver();
  std::size_t made = 0;
  if (driver.cuMemAlloc_v2 == nullptr || driver.cuMemFree_v2 == nullptr) return made;
  for (; made < std::size(kProbes); ++made) {
    auto* address = reinterpret_cast<CUdeviceptr*>(&targets[made].address);
    if (driver.cuMemAlloc_v2(address, kProbes[made]) != CUDA_SUCCESS) break;
    targets[made].bytes = kProbes[made];
    targets[made].is_probe = 1;
  }
  return made;
}

void FreeProbes(const ScanTarget* targets, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (targets[i].is_probe != 0) Driver().cuMemFree_v2(targets[i].address);
}

void Publish(ThreadSlot* slot, std::uint8_t op, const ScanTarget& target, std::uint64_t aux0,
             std::uint64_t aux1, std::uint32_t label = 0) {
  ring::RingEvent event{};
  event.op = op;
  event.layer = target.layer;
  event.device_plus_1 = target.device_plus_1;
  event.address = target.address;
  event.bytes = target.bytes;
  event.aux0 = aux0;
  event.aux1 = aux1;
  event.label = label;
  RecordEvent(slot, &event, false);
}

// Sorts by address and drops overlaps: the writer's table may have lost blocks when it was full, so
// that two entries overlap. The later one is dropped, but never a probe.
std::size_t SortApart(ScanTarget* targets, std::size_t count) {
  std::sort(targets, targets + count, [](const ScanTarget& a, const ScanTarget& b) {
    return a.address != b.address ? a.address < b.address : a.is_probe > b.is_probe;
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (kept > 0 && targets[i].address - targets[kept - 1].address < targets[kept - 1].bytes) {
      // A probe certainly exists, and has to be freed.
      if (targets[i].is_probe != 0 && targets[kept - 1].is_probe == 0)
        targets[kept - 1] = targets[i];
      continue;
    }
    targets[kept++] = targets[i];
  }
  return kept;
}

struct Room {
  ScanTarget* targets;
  std::size_t room;
  std::size_t count;
};
// On the writer's thread.
void AddTarget(void* to, const LiveBlock& block) {
  auto* room = static_cast<Room*>(to);
  if (room->count == room->room) return;
  room->targets[room->count++] = {block.address, block.bytes, 0, block.device_plus_1,
                                  block.layer,   0,           0};
}

// The least number of pointers to a probe: those that the driver itself has.
std::uint32_t DriversOwn(const ScanTarget* targets, std::size_t count) {
  std::uint32_t own = ~std::uint32_t{0};
  for (std::size_t i = 0; i < count; ++i)
    if (targets[i].is_probe != 0) own = std::min(own, targets[i].references);
  return own;
}

// Follows the pointers to all blocks but those that only the driver points to.
void TellHolders(Recorder* recorder, ThreadSlot* slot, ScanTarget* targets, std::size_t count,
                 std::uint32_t own, HolderSearch* search) {
  for (std::size_t i = 0; i < count; ++i)
    if (targets[i].is_probe != 0 || targets[i].references <= own) targets[i].unfollowed = 1;
  search->Follow(reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)));
  search->ForEach([&](const HolderSearch::Holder& holder) {
    Publish(slot, kOpHeld, targets[holder.target], kHolderCpp, holder.symbol,
            recorder->definitions()->InternString(holder.label, holder.label_bytes));
  });
}

int ScanAndReport(Recorder* recorder, ThreadSlot* slot) {
  if (!recorder->writer()->Flush(kMaxFlushNs)) return MEMPROF_UNAVAILABLE;
  const OwnArray<ScanTarget> targets(recorder->writer()->live_blocks() + kSpareTargets +
                                     std::size(kProbes));
  if (targets.get() == nullptr) return MEMPROF_UNAVAILABLE;
  const SomeContext context;
  const std::size_t probes = context.there() ? MakeProbes(targets.get()) : 0;
  Room live{targets.get() + probes, targets.size() - probes, 0};
  Writer::LiveCopy copy{AddTarget, &live};
  const bool copied = recorder->writer()->CopyLive(&copy, kMaxFlushNs);
  const std::size_t count = SortApart(targets.get(), probes + (copied ? live.count : 0));
  const OwnArray<HolderSearch> room(1);  // too large for a small stack
  const std::uint64_t deadline_ns = NowNs() + kMaxScanNs;
  HolderSearch* search = room.get() == nullptr
                             ? nullptr
                             : new (room.get()) HolderSearch(targets.get(), count, deadline_ns);
  const char* shortfall = nullptr;
  ScanResult result{};
  if (copied && probes == std::size(kProbes)) {
    result = CountReferences(targets.get(), count, deadline_ns,
                             search == nullptr ? nullptr : search->notes());
    if (!result.complete && result.bytes == 0 && search != nullptr) {
      // The search has taken the memory that the verdict needs.
      search->~HolderSearch();
      search = nullptr;
      shortfall = HolderSearch::kNoMemory;
      result = CountReferences(targets.get(), count, deadline_ns);
    }
  }
  FreeProbes(targets.get(), count);
  const std::uint32_t own = DriversOwn(targets.get(), count);
  const ScanTarget whole{0, result.bytes, 0, 0, kLayerNone, 0, 0};
  for (std::size_t i = 0; result.complete && i < count; ++i) {
    const ScanTarget& target = targets.get()[i];
    if (target.is_probe == 0 && target.references <= own)
      Publish(slot, kOpUnreachable, target, target.references, 0);
  }
  if (search != nullptr) {
    if (result.complete) TellHolders(recorder, slot, targets.get(), count, own, search);
    shortfall = search->shortfall();
    search->~HolderSearch();
  }
  Publish(slot, kOpHostScan, whole, live.count, result.complete ? std::uint64_t{own} + 1 : 0,
          shortfall == nullptr ? 0 : recorder->definitions()->InternString(shortfall));
  return result.complete ? MEMPROF_OK : MEMPROF_UNAVAILABLE;
}

void AtExit() {
  if (Recording()) ScanHost();
}

}  // namespace

int ScanHost() {
  if (!Recording()) return MEMPROF_NOT_RECORDING;
  WorkGuard guard;
  if (!guard.outermost()) return MEMPROF_NOT_RECORDING;
  return ScanAndReport(TheRecorder(), guard.slot());
}

void ScanAtExit() {
  static std::atomic<bool> arranged{false};
  if (!arranged.exchange(true)) atexit(AtExit);
}

}  // namespace memprof::recorder
