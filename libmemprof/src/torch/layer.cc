// A block costs one event; rare cases are in functions of their own.
#include "libmemprof/src/torch/layer.h"

#include "libmemprof/src/driver/stream_capture.h"
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/recording/record_event.h"
#include "libmemprof/src/torch/internal/stream.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

constexpr auto kRelaxed = std::memory_order_relaxed;

RingEvent DeviceEvent(Op op, Layer layer, std::int32_t device, std::uint64_t address,
                      std::uint64_t bytes) {
  RingEvent event{};
  event.op = op;
  event.layer = layer;
  event.SetDevice(device);
  event.address = address;
  event.bytes = bytes;
  return event;
}

// The newest event of this thread for which `wanted` is true: only those in its current slab are
// searched. Null when there is none.
template <typename Wanted>
const RingEvent* NewestEvent(const ThreadState* state, Wanted wanted) {
  constexpr std::uint32_t kMax = 256;
  if (state->slab == nullptr) return nullptr;
  const RingEvent* events = SlabEvents(state->slab);
  const std::uint32_t last = state->used > kMax ? state->used - kMax : 0;
  for (std::uint32_t i = state->used; i-- > last;)
    if (wanted(events[i])) return &events[i];
  return nullptr;
}

// The allocation of this thread below a block, made in the same call of the allocator.
const RingEvent* NewestAllocation(const ThreadState* state, std::uint64_t address) {
  return NewestEvent(state, [address](const RingEvent& event) {
    return event.op == kOpAlloc && event.layer < kLayerSegment && event.layer != kLayerVmmAddress &&
           event.layer != kLayerVmmPhysical && event.device_plus_1 != 0 &&
           address - event.address < event.bytes;
  });
}

SegmentTable::Segment AskDriver(std::uint64_t address) {
  const CalledFunctions& driver = Driver();
  CUdeviceptr base = 0;
  size_t bytes = 0;
  SegmentTable::Segment segment;
  if (TheRecorder()->driver()->calls_held() || driver.cuMemGetAddressRange_v2 == nullptr ||
      driver.cuMemGetAddressRange_v2(&base, &bytes, address) != CUDA_SUCCESS ||
      address - base >= bytes)
    return segment;
  segment.address = base;
  segment.bytes = bytes;
  return segment;
}

std::int32_t DeviceHere(ThreadState* state, TorchDevice device) {
  return device.index >= 0 ? device.index
                           : TheRecorder()->driver()->Current(&state->context).device;
}

bool Wanted(TorchDevice device) { return Recording() && device.type == kTorchCuda; }

}  // namespace

std::atomic<TorchLayer*> g_torch_layer{nullptr};

void TorchLayer::Report(ThreadSlot* slot, const TorchReport& report, std::int32_t device) {
  if (report.address == 0 || report.bytes == 0 || device < 0 || device >= kMaxTorchDevices) return;
  ThreadState* state = BoundState(slot);
  if (state == nullptr) return;
  if (seen_.load(kRelaxed) != Seen::kCaching) ReportCaching();
  Device& sums = devices_[device];
  const auto change = static_cast<std::uint64_t>(report.bytes);
  if (report.has_totals) {
    bool differs = sums.allocated.load(kRelaxed) + change != report.allocated;
    sums.allocated.store(report.allocated, kRelaxed);
    const std::uint64_t unknown = sums.unknown.load(kRelaxed);
    if (__builtin_expect(report.reserved != sums.segments.load(kRelaxed) || unknown != 0, 0))
      differs |= !Reconcile(state, slot, report, device);
    if (__builtin_expect(differs, 0) && !sums.began_late.exchange(false))
      TheRecorder()->Count(log::Anomaly::kFrameworkTotalsDiffer);
  } else if (report.bytes > 0) {
    FindSegments(state, slot, report, device);
  }
  const bool allocates = report.bytes > 0;
  RingEvent event = DeviceEvent(allocates ? kOpAlloc : kOpFree, kLayerBlock, device, report.address,
                                allocates ? change : 0 - change);
  event.stream = report.stream;
  if (allocates && has_private_.load(kRelaxed)) {
    SegmentTable::Segment segment;
    if (segments_.Find(report.address, &segment) && segment.pool != 0)
      event.aux1 = PoolFor(device, report.stream);
  }
  RecordEventHere(slot, &event, allocates);
}

void TorchLayer::BeginLate() {
  for (Device& device : devices_) device.began_late.store(true);
}

void TorchLayer::OutOfMemory(ThreadSlot* slot, const TorchReport& report, std::int32_t device) {
  if (device < 0 || device >= kMaxTorchDevices) return;
  ThreadState* state = BoundState(slot);
  if (state == nullptr) return;
  Device& sums = devices_[device];
  bool differs = sums.allocated.load(kRelaxed) != report.allocated;
  sums.allocated.store(report.allocated, kRelaxed);
  if (report.reserved != sums.segments.load(kRelaxed) + sums.unknown.load(kRelaxed)) {
    TorchReport totals = report;
    totals.bytes = 0;
    differs |= !Reconcile(state, slot, totals, device);
  }
  if (differs) TheRecorder()->Count(log::Anomaly::kFrameworkTotalsDiffer);
  RingEvent event = DeviceEvent(kOpFrameworkOom, kLayerBlock, device, 0,
                                static_cast<std::uint64_t>(report.bytes));
  event.aux0 = report.allocated;
  event.aux1 = report.reserved;
  event.stream = report.stream;
  RecordEventHere(slot, &event, true);
}

// PyTorch's reserved total differs from ours. Looks for the memory that explains it; without an
// explanation, takes the total as it is and returns false.
__attribute__((noinline, cold)) bool TorchLayer::Reconcile(ThreadState* state, ThreadSlot* slot,
                                                           const TorchReport& report,
                                                           std::int32_t device) {
  Device& sums = devices_[device];
  const std::uint64_t before = sums.segments.load(kRelaxed);
  if (report.bytes > 0) FindSegments(state, slot, report, device);
  const std::uint64_t found = sums.segments.load(kRelaxed) - before;
  std::uint64_t missing =
      report.reserved - sums.segments.load(kRelaxed) - sums.unknown.load(kRelaxed);
  // The found memory was allocated before recording began.
  if (found != 0 && missing == 0 - found) {
    sums.unknown.fetch_sub(found, kRelaxed);
    missing = 0;
  }
  // The pages of a failed allocation stay with the allocator.
  if (static_cast<std::int64_t>(missing) > 0)
    missing -= FindPages(state, slot, missing, device, report.stream);
  sums.unknown.fetch_add(missing, kRelaxed);
  return missing == 0;
}

// Makes segments of the memory below a block that is no segment yet.
void TorchLayer::FindSegments(ThreadState* state, ThreadSlot* slot, const TorchReport& report,
                              std::int32_t device) {
  constexpr std::size_t kAtOnce = 32;
  const std::uint64_t end = report.address + static_cast<std::uint64_t>(report.bytes);
  SegmentTable::Segment known;
  VmmLedger::Mapping pages[kAtOnce];
  const RingEvent* physical = nullptr;
  std::size_t seen = 0;
  for (std::size_t count = kAtOnce; count == kAtOnce; seen += count) {
    count = pages_->CopyMappings(report.address, end, seen, pages, kAtOnce);
    if (count > 0 && physical == nullptr)
      physical = NewestEvent(state, [](const RingEvent& event) {
        return event.op == kOpAlloc && event.layer == kLayerVmmPhysical;
      });
    for (std::size_t i = 0; i < count; ++i)
      if (!segments_.Find(pages[i].address, &known))
        Begin(state, slot, {pages[i].address, pages[i].bytes, 0, device, report.stream},
              physical == nullptr ? 0 : physical->stack, physical == nullptr ? 0 : physical->api);
  }
  if (seen > 0) return;
  const RingEvent* driver = NewestAllocation(state, report.address);
  // A segment that is older than the driver's allocation has ended without an event.
  if (segments_.Find(report.address, &known) &&
      (driver == nullptr || driver->time_ns <= known.time_ns))
    return;
  SegmentTable::Segment segment;
  if (driver != nullptr) {
    segment.address = driver->address;
    segment.bytes = driver->bytes;
  } else {
    segment = AskDriver(report.address);
  }
  segment.device = device;
  segment.stream = report.stream;
  while (segments_.TakeWithin(segment.address, segment.address + segment.bytes, &known))
    End(slot, known, 0);
  // A pool with an allocator of its own may use only a part of the memory.
  const Device& sums = devices_[device];
  const std::uint64_t wanted =
      report.reserved - sums.segments.load(kRelaxed) - sums.unknown.load(kRelaxed);
  if (report.has_totals && static_cast<std::int64_t>(wanted) > 0 && wanted < segment.bytes &&
      report.address - segment.address < wanted)
    segment.bytes = wanted;
  if (segment.bytes == 0) return;
  Begin(state, slot, segment, driver == nullptr ? 0 : driver->stack,
        driver == nullptr ? 0 : driver->api);
}

// Newly mapped pages that are no segments yet, and together have exactly the missing bytes, become
// segments. Returns the bytes found: all or none.
std::uint64_t TorchLayer::FindPages(ThreadState* state, ThreadSlot* slot, std::uint64_t missing,
                                    std::int32_t device, std::uint64_t stream) {
  constexpr std::size_t kMax = 256;
  VmmLedger::Mapping pages[kMax];
  SegmentTable::Segment known;
  const std::size_t count = pages_->CopyMappings(0, ~std::uint64_t{0}, 0, pages, kMax);
  std::uint64_t sum = 0;
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < count && sum < missing; ++i) {
    if (segments_.Find(pages[i].address, &known) || pages_->DeviceOf(pages[i].handle) != device)
      continue;
    pages[fresh++] = pages[i];
    sum += pages[i].bytes;
  }
  if (sum != missing) return 0;
  for (std::size_t i = 0; i < fresh; ++i)
    Begin(state, slot, {pages[i].address, pages[i].bytes, 0, device, stream}, 0, 0);
  return sum;
}

// The private pool from which this thread allocates for the stream; 0 = none.
__attribute__((noinline, cold)) std::uint64_t TorchLayer::PoolFor(std::int32_t device,
                                                                  std::uint64_t stream) {
  const ThreadState* state = BoundState(&CurrentThread());
  const ChosenPools chosen = state == nullptr ? ChosenPools() : state->chosen_pools;
  for (std::size_t i = chosen.size(); i-- > 0;) {
    if (chosen[i].device != device) continue;
    const std::uint64_t pool = chosen[i].captures ? PoolOfCaptureOn(stream) : chosen[i].pool;
    if (pool != 0) return pool;
  }
  return PoolOfCaptureOn(stream);
}

// The pool of the capture of a stream; 0 = none. `pool`, if not 0, is its number from now on.
__attribute__((noinline, cold)) std::uint64_t TorchLayer::PoolOfCaptureOn(std::uint64_t stream,
                                                                          std::uint64_t pool) {
  // The default stream cannot be captured, and querying it is an error while other streams are
  // captured.
  if (stream == 0 || TheRecorder()->driver()->calls_held()) return 0;
  const std::uint64_t id = CaptureId(reinterpret_cast<CUstream>(stream));
  if (id == 0) return 0;
  LockGuard lock(captures_mutex_);
  std::uint64_t n = last_capture_;
  while (n > 0 && n + kCapturesKept > last_capture_ && captures_[n % kCapturesKept].id != id) --n;
  if (n == 0 || n + kCapturesKept <= last_capture_) {
    n = ++last_capture_;
    captures_[n % kCapturesKept] = {id, n << 32};
  }
  Capture& capture = captures_[n % kCapturesKept];
  if (pool != 0) capture.pool = pool;
  return capture.pool;
}

// The segment gets the time of this thread's last event, which is the driver's call if that made
// it.
bool TorchLayer::Begin(ThreadState* state, ThreadSlot* slot, SegmentTable::Segment segment,
                       std::uint32_t stack, std::uint32_t api) {
  const bool made_now = stack != 0 && state->used > 0;
  if (segment.pool == 0) segment.pool = PoolFor(segment.device, segment.stream);
  segment.time_ns = made_now ? SlabEvents(state->slab)[state->used - 1].time_ns : NowNs();
  if (!segments_.Add(segment)) return false;
  devices_[segment.device].segments.fetch_add(segment.bytes, kRelaxed);
  RingEvent event =
      DeviceEvent(kOpAlloc, kLayerSegment, segment.device, segment.address, segment.bytes);
  event.time_ns = segment.time_ns;
  event.stack = stack;
  event.api = api;
  event.stream = segment.stream;
  event.aux1 = segment.pool;
  if (segment.pool != 0) has_private_.store(true, kRelaxed);
  RecordEvent(slot, &event, stack == 0);
  return true;
}

void TorchLayer::End(ThreadSlot* slot, const SegmentTable::Segment& segment,
                     std::uint64_t time_ns) {
  devices_[segment.device].segments.fetch_sub(segment.bytes, kRelaxed);
  RingEvent event =
      DeviceEvent(kOpFree, kLayerSegment, segment.device, segment.address, segment.bytes);
  event.time_ns = time_ns;
  RecordEvent(slot, &event, false);
}

void TorchLayer::Freeing(ThreadSlot* slot, std::uint64_t address) {
  SegmentTable::Segment segment;
  if (!segments_.TakeAt(address, &segment)) return;
  End(slot, segment, 0);
  LockGuard lock(ended_mutex_);
  ended_ = segment;
}

void TorchLayer::FreeFailed(ThreadSlot* slot, std::uint64_t address) {
  SegmentTable::Segment segment;
  {
    LockGuard lock(ended_mutex_);
    if (ended_.bytes == 0 || ended_.address != address) return;
    segment = ended_;
    ended_ = {};
  }
  ThreadState* state = BoundState(slot);
  if (state != nullptr) Begin(state, slot, segment, 0, 0);
}

void TorchLayer::Unmapped(ThreadSlot* slot, std::uint64_t address, std::uint64_t bytes,
                          std::uint64_t time_ns) {
  SegmentTable::Segment segment;
  while (segments_.TakeWithin(address, address + bytes, &segment, time_ns))
    End(slot, segment, time_ns);
}

void TorchLayer::EndDevice(std::int32_t device) {
  if (device < 0 || device >= kMaxTorchDevices) return;
  SegmentTable::Segment segment;
  while (segments_.TakeOf(device, &segment)) {
  }
  Device& sums = devices_[device];
  sums.allocated.store(0, kRelaxed);
  sums.segments.store(0, kRelaxed);
  sums.unknown.store(0, kRelaxed);
}

__attribute__((noinline, cold)) void TorchLayer::ReportCaching() {
  if (seen_.exchange(Seen::kCaching) != Seen::kCaching)
    definitions_->AddSource("torch", kSourceOn, "caching: its allocator's blocks and segments");
}

void TorchLayer::ReportSource(bool torch_loaded, bool torch_used, bool ending) {
  Seen seen = seen_.load();
  if (!torch_loaded || seen == Seen::kCaching || seen == Seen::kDirect) return;
  // Between the driver's allocation and its first block, PyTorch's mode is not known yet.
  constexpr std::uint32_t kChecksBefore = 2;
  if (torch_used && !ending && checks_.fetch_add(1) < kChecksBefore) return;
  const Seen now = torch_used ? Seen::kDirect : Seen::kNotSeen;
  if (now == seen || (now == Seen::kNotSeen && !ending)) return;
  if (!seen_.compare_exchange_strong(seen, now)) return;
  if (now == Seen::kDirect)
    definitions_->AddSource("torch", kSourceOn,
                            "direct: every tensor is an allocation of the driver");
  else
    definitions_->AddSource("torch", kSourceOff, "not seen: loaded, and took no device memory");
}

void RecordTorchUsage(TorchReport report, TorchDevice device) {
  if (!Wanted(device)) return;
  EntryGuard guard;
  if (!guard.outermost()) return;
  ThreadState* state = BoundState(guard.slot());
  if (state == nullptr) return;
  const std::int32_t ordinal = DeviceHere(state, device);
  if (report.bytes > 0) report.stream = TorchStreamHere(ordinal);
  TheTorchLayer()->Report(guard.slot(), report, ordinal);
}

void RecordTorchOutOfMemory(TorchReport report, TorchDevice device) {
  if (!Wanted(device)) return;
  EntryGuard guard;
  if (!guard.outermost()) return;
  ThreadState* state = BoundState(guard.slot());
  if (state == nullptr) return;
  const std::int32_t ordinal = DeviceHere(state, device);
  report.stream = TorchStreamHere(ordinal);
  TheTorchLayer()->OutOfMemory(guard.slot(), report, ordinal);
}

void RecordTorchCapture(std::int32_t device, std::uint64_t pool) {
  if (!Recording()) return;
  EntryGuard guard;
  if (!guard.outermost() || BoundState(guard.slot()) == nullptr) return;
  TheTorchLayer()->NameCapture(TorchStreamHere(device), pool);
}

}  // namespace memprof::recorder
