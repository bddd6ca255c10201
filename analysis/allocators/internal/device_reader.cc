// Turns events of a device into requests.
#include "analysis/allocators/internal/device_reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analysis/allocators/caching.h"
#include "analysis/allocators/torch_settings.h"
#include "analysis/store/private_pools.h"

namespace memprof::analysis::allocators {

DeviceReader::DeviceReader(const Session& session, const Plan& plan, int device,
                           std::uint32_t process, const RecordedOptions& options,
                           std::vector<std::uint32_t>* numbers)
    : session_(session),
      plan_(plan),
      over_time_(options.over_time),
      keeps_requests_(options.requests),
      numbers_(*numbers) {
  // So that these are never moved: they are most of what a trace takes.
  run_.trace.blocks.reserve(plan.requests());
  run_.trace.events.reserve(2 * plan.requests() + plan.requests() / 4);
  if (over_time_) run_.trace.rows.reserve(2 * plan.requests() + plan.requests() / 4);
  if (keeps_requests_) run_.requests.reserve(plan.requests());
  // PyTorch's allocator has done so since pull request 183591 of May 2026.
  constexpr int kOldestFirstSince = 213;
  run_.trace.oldest_first =
      TorchReleaseNumber(session.processes()[process].run.torch_release) >= kOldestFirstSince;
  run_.device = device;
  run_.process = process;
  run_.source = plan.source;
  for (const AnomalyCount& count : session.anomalies()) {
    truncated_ |= count.anomaly == log::Anomaly::kTraceTruncated;
  }
  for (const DeviceInfo& info : session.devices()) {
    if (info.id == device) run_.capacity = info.capacity_bytes;
  }
}

bool DeviceReader::IsRequest(const AllocationRecord& record) const {
  switch (plan_.source) {
    case RequestSource::kBlocks:
      return record.layer == Layer::kBlock;
    case RequestSource::kStreamOrdered:
      return record.layer == Layer::kStreamOrdered;
    case RequestSource::kDriver:
      return IsDriverRequest(record.layer);
  }
  return false;
}

void DeviceReader::Birth(AllocationId id, bool container) {
  const AllocationRecord& record = session_.record(id);
  if (record.layer == Layer::kVmmAddress)
    reservations_[record.address] = {.bytes = record.bytes, .used = false};
  if (OccupiesDevice(record.layer)) {
    used_ += record.bytes;
    if (!IsRequest(record)) AddDriver(record.bytes, IsBelow(record, container), +1);
  }
  if (record.layer == Layer::kSegment) AddSegment(id);
  if (IsRequest(record)) AddRequest(id);
}

void DeviceReader::Death(AllocationId id, bool container) {
  const AllocationRecord& record = session_.record(id);
  if (OccupiesDevice(record.layer)) {
    used_ -= record.bytes;
    if (!IsRequest(record)) AddDriver(record.bytes, IsBelow(record, container), -1);
  }
  if (record.layer == Layer::kSegment) EndSegment(id);
  if (IsRequest(record)) EndRequest(id);
}

void DeviceReader::Other(std::size_t event) {
  const EventTable& events = session_.events();
  switch (events.op(event)) {
    case Op::kSync:
      run_.synchronizes = true;
      Synchronize();
      break;
    case Op::kStep:
      step_marks_.push_back(run_.trace.events.size());
      break;
    case Op::kPoolTrim:
      if (plan_.source == RequestSource::kStreamOrdered) Add(TraceOp::kEmptyCache, 0);
      break;
    case Op::kPoolSample:
      SamplePool(events.address(event), events.bytes(event), events.layer(event));
      break;
    case Op::kMemoryInfo:
      run_.available = std::min(run_.available, used_ + events.bytes(event));
      Sample(events.bytes(event), events.aux0(event));
      break;
    case Op::kAllocFailed:
      if (!OccupiesDevice(events.layer(event))) break;
      ++run_.driver_failures;
      short_of_memory_ = true;
      // Without a figure of free memory it is not known how much there is.
      if (events.aux1(event) > 0)
        run_.available = std::min(run_.available, used_ + events.aux0(event));
      if (plan_.source != RequestSource::kBlocks) Refuse(event);
      break;
    case Op::kFrameworkOom:
      if (plan_.source == RequestSource::kBlocks) Refuse(event);
      break;
    default:
      break;
  }
}

void DeviceReader::Stamp(EventId event) {
  if (!over_time_) return;
  last_ = event.value;
  run_.trace.rows.FillUpTo(run_.trace.events.size(), last_);
  curve_.Add(session_.events().time(event.value), run_.figures.reserved);
}

RecordedRun DeviceReader::Finish() {
  FlushReleases();
  if (over_time_) run_.trace.rows.FillUpTo(run_.trace.events.size(), last_);
  run_.reserved = curve_.Take();
  if (!run_.synchronizes) SynchronizeAtSteps();
  std::set<std::uint64_t> streams;
  for (const auto& [pool_and_stream, number] : streams_) streams.insert(pool_and_stream.second);
  run_.streams = static_cast<std::uint32_t>(streams.size());
  return std::move(run_);
}

bool DeviceReader::IsBelow(const AllocationRecord& record, bool container) const {
  if (container) return true;
  return plan_.vmm_below && record.layer == Layer::kVmmPhysical;
}

void DeviceReader::AddDriver(std::uint64_t bytes, bool below, int sign) {
  if (below) {
    if (plan_.segments == 0) Reserve(bytes, sign);
    return;
  }
  outside_ += sign > 0 ? bytes : -bytes;
  run_.peak_outside = std::max(run_.peak_outside, outside_);
  run_.trace.outside.push_back(outside_);
  Add(TraceOp::kOutside, static_cast<std::uint32_t>(run_.trace.outside.size() - 1));
}

void DeviceReader::Reserve(std::uint64_t bytes, int sign) {
  Figures& f = run_.figures;
  f.reserved += sign > 0 ? bytes : -bytes;
  f.segments += sign > 0 ? 1 : -std::uint64_t{1};
  ++run_.driver_calls;
  f.NotePeaks();
}

void DeviceReader::AddSegment(AllocationId id) {
  FlushReleases();
  const AllocationRecord& record = session_.record(id);
  if (plan_.source != RequestSource::kBlocks) return;
  run_.segments.push_back({record.bytes, record.address});
  NoteRange(record.address);
  if (WasThere(record)) {
    held_[id.value] = static_cast<std::uint32_t>(run_.trace.held.size());
    run_.trace.held.push_back({.segment = {.bytes = record.bytes}, .blocks = {}});
    held_addresses_.push_back(record.address);
    Add(TraceOp::kHeld, held_[id.value]);
  }
  PrivatePool& pool = private_pools_[record.pool()];
  pool.is_default = record.pool() == 0;
  ++pool.idle_segments;
  segments_[record.address] = {.end = record.address + record.bytes, .blocks = 0, .pool = &pool};
  Reserve(record.bytes, +1);
}

void DeviceReader::NoteRange(std::uint64_t segment) {
  auto at = reservations_.upper_bound(segment);
  if (at == reservations_.begin()) return;
  --at;
  if (segment - at->first >= at->second.bytes || std::exchange(at->second.used, true)) return;
  run_.ranges.push_back({at->second.bytes, at->first});
}

void DeviceReader::EndSegment(AllocationId id) {
  const AllocationRecord& record = session_.record(id);
  const auto found = segments_.find(record.address);
  if (found == segments_.end()) return;
  if (found->second.blocks == 0) --found->second.pool->idle_segments;
  found->second.pool->releases.push_back({record.bytes, record.address});
  released_ = true;
  segments_.erase(found);
  Reserve(record.bytes, -1);
}

void DeviceReader::FlushReleases() {
  if (released_)
    for (auto& [number, pool] : private_pools_) FlushReleases(&pool);
  grown_ |= released_ && short_of_memory_;
  released_ = false;
  short_of_memory_ = false;
}

void DeviceReader::FlushReleases(PrivatePool* pool) {
  if (pool->releases.empty()) return;
  if (run_.releases_unclear || pool->idle_segments > 0 || (pool->is_default && short_of_memory_)) {
    for (const TraceRange& range : pool->releases) {
      run_.trace.releases.push_back(range);
      Add(TraceOp::kReleaseSegment, static_cast<std::uint32_t>(run_.trace.releases.size() - 1));
    }
  } else if (pool->is_default) {
    Add(TraceOp::kEmptyCache, 0);
  } else {
    for (const StreamNumber stream : pool->streams) Add(TraceOp::kEmptyCache, stream + 1);
  }
  pool->releases.clear();
}

void DeviceReader::CountBlock(const AllocationRecord& block, int sign) {
  // PyTorch's pages have 2 or 20 MiB: real blocks lie in a few of them.
  constexpr std::uint64_t kMostPages = 64, kAnyway = std::uint64_t{1} << 22;
  if (segments_.empty() || run_.releases_unclear) return;
  auto at = segments_.upper_bound(block.address);
  if (at != segments_.begin()) --at;
  for (; at != segments_.end() && at->first < block.address + block.bytes; ++at) {
    Segment& segment = at->second;
    if (++pages_ > kAnyway + kMostPages * run_.figures.allocations) {
      run_.releases_unclear = true;
      return;
    }
    if (segment.end <= block.address) continue;
    if (sign < 0 && segment.blocks == 0) continue;  // its own segment has ended before it
    if (segment.blocks == 0) --segment.pool->idle_segments;
    segment.blocks += static_cast<std::uint64_t>(sign);
    if (segment.blocks == 0) ++segment.pool->idle_segments;
  }
}

void DeviceReader::AddRequest(AllocationId id) {
  FlushReleases();
  const AllocationRecord& record = session_.record(id);
  const std::uint64_t requested = record.requested();
  if (requested == 0) return;
  const std::uint64_t stream = session_.events().stream(record.birth.value);
  const auto number = static_cast<StreamNumber>(streams_.size());
  const std::uint64_t pool = PrivatePoolOf(session_, id);
  const auto [at, added] = streams_.try_emplace({pool, stream}, number);
  if (added && pool != 0) {
    run_.trace.private_streams.push_back(number);
    private_pools_[pool].streams.push_back(number);
  }
  numbers_[id.value] = run_.trace.Allocate(requested, at->second);
  run_.trace.blocks.back().grown = std::exchange(grown_, false);
  run_.trace.blocks.back().whole = record.layer == Layer::kBlock && !record.has_requested();
  if (WasThere(record)) AddHeld(record, numbers_[id.value], requested, at->second);
  if (keeps_requests_) run_.requests.push_back(record.birth);
  if (record.layer == Layer::kBlock) NoteSizes(requested, record.bytes);
  if (record.layer == Layer::kBlock) CountBlock(record, +1);
  Figures& f = run_.figures;
  ++f.allocations;
  f.allocated += record.bytes;
  f.requested += requested;
  if (plan_.source == RequestSource::kStreamOrdered) ChangePool(record.pool(), record.bytes, +1);
  if (plan_.source == RequestSource::kDriver) Reserve(record.bytes, +1);
  f.NotePeaks();
}

bool DeviceReader::WasThere(const AllocationRecord& record) const {
  return truncated_ && plan_.source == RequestSource::kBlocks &&
         session_.events().time(record.birth.value) == session_.events().first_time();
}

void DeviceReader::AddHeld(const AllocationRecord& record, std::uint32_t number,
                           std::uint64_t requested, StreamNumber stream) {
  const auto at = held_.find(record.parent.value);
  if (at == held_.end()) return;
  Trace::Held& held = run_.trace.held[at->second];
  held.segment.stream = stream;
  held.segment.blocks.push_back(
      {record.address - held_addresses_[at->second], record.bytes, requested});
  held.blocks.push_back(number);
}

void DeviceReader::EndRequest(AllocationId id) {
  FlushReleases();
  const std::uint32_t number = numbers_[id.value];
  if (number == kNoNumber) return;
  const AllocationRecord& record = session_.record(id);
  run_.trace.Free(number);
  run_.figures.allocated -= record.bytes;
  run_.figures.requested -= run_.trace.blocks[number].bytes;
  if (record.layer == Layer::kBlock) CountBlock(record, -1);
  if (plan_.source == RequestSource::kStreamOrdered) ChangePool(record.pool(), record.bytes, -1);
  if (plan_.source == RequestSource::kDriver) Reserve(record.bytes, -1);
}

void DeviceReader::NoteSizes(std::uint64_t requested, std::uint64_t bytes) {
  if (bytes % 512 != 0) ++run_.odd_sizes;
  if (bytes == 0 || requested > kMaxRequest) return;
  const std::uint64_t rounded = CachingRound(requested, {});
  if (bytes <= rounded) return;
  ++run_.rounded_up;
  if (bytes - rounded > (std::uint64_t{1} << 20)) {
    run_.smallest_unsplit = std::min(run_.smallest_unsplit, rounded);
  }
}

void DeviceReader::ChangePool(std::uint64_t handle, std::uint64_t bytes, int sign) {
  Pool& pool = pools_[handle];
  run_.figures.reserved -= pool.reserved();
  pool.live += sign > 0 ? bytes : -bytes;
  run_.figures.reserved += pool.reserved();
  run_.figures.NotePeaks();
}

void DeviceReader::SamplePool(std::uint64_t handle, std::uint64_t reserved, Layer layer) {
  if (plan_.source != RequestSource::kStreamOrdered || layer == Layer::kGraph ||
      layer == Layer::kImported) {
    return;
  }
  run_.has_pool_samples = true;
  Pool& pool = pools_[handle];
  run_.figures.reserved -= pool.reserved();
  pool.sampled = reserved;
  run_.figures.reserved += pool.reserved();
  run_.figures.NotePeaks();
}

void DeviceReader::Refuse(std::size_t event) {
  FlushReleases();
  grown_ = false;
  const std::uint64_t bytes = session_.events().bytes(event);
  if (bytes == 0) return;
  if (keeps_requests_) run_.requests.emplace_back(static_cast<std::uint32_t>(event));
  ++run_.refused;
  run_.trace.blocks.push_back({bytes, 0, false});
  Add(TraceOp::kTry, static_cast<std::uint32_t>(run_.trace.blocks.size() - 1));
}

void DeviceReader::Sample(std::uint64_t free, std::uint64_t total) {
  if (plan_.source != RequestSource::kDriver || total < free || total - free < outside_) return;
  run_.samples.push_back(total - free - outside_);
  Add(TraceOp::kSample, 0);
}

void DeviceReader::Synchronize() {
  if (!run_.trace.events.empty() && run_.trace.events.back().op == TraceOp::kSynchronize) return;
  Add(TraceOp::kSynchronize, 0);
}

void DeviceReader::SynchronizeAtSteps() {
  if (step_marks_.empty()) return;
  TraceEvents events;
  TraceRows rows;
  TraceRows::Cursor row(run_.trace.rows);
  events.reserve(run_.trace.events.size() + step_marks_.size());
  if (over_time_) rows.reserve(run_.trace.events.size() + step_marks_.size());
  std::size_t mark = 0;
  for (std::size_t i = 0; i < run_.trace.events.size(); ++i) {
    for (; mark < step_marks_.size() && step_marks_[mark] == i; ++mark)
      events.push_back({TraceOp::kSynchronize, 0});
    events.push_back(run_.trace.events[i]);
    if (over_time_) rows.FillUpTo(events.size(), row.At(i));
  }
  run_.trace.events = std::move(events);
  run_.trace.rows = std::move(rows);
}

}  // namespace memprof::analysis::allocators
