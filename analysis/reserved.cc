// Follows pool samples and mappings of virtual memory.
#include "analysis/reserved.h"

#include "analysis/replay.h"

namespace memprof::analysis {

std::uint64_t ReservedBeyond::Of(int device) const {
  const auto it = beyond_.find(device);
  return it == beyond_.end() ? 0 : it->second;
}

void ReservedBeyond::ChangePool(PoolKey key, std::uint64_t sampled, bool set_sample,
                                std::int64_t live_change) {
  PoolState& pool = pools_[key];
  pool.device = key.device;
  std::uint64_t& sum = beyond_[pool.device];
  sum -= pool.beyond();
  if (set_sample) pool.sampled = sampled;
  pool.live += static_cast<std::uint64_t>(live_change);
  sum += pool.beyond();
}

void ReservedBeyond::Birth(AllocationId id) {
  const AllocationRecord& a = session_.record(id);
  if (a.layer == Layer::kStreamOrdered || a.layer == Layer::kGraph) {
    ChangePool(PoolOf(a), 0, false, static_cast<std::int64_t>(a.bytes));
  } else if (a.layer == Layer::kVmmPhysical) {
    Handle& handle = handles_[a.address];
    if (handle.released) beyond_[handle.device] -= handle.bytes;  // handed out again: unmaps missed
    handle = {a.device, a.bytes, 0, false};
  }
}

void ReservedBeyond::Death(AllocationId id) {
  const AllocationRecord& a = session_.record(id);
  if (a.layer == Layer::kStreamOrdered || a.layer == Layer::kGraph) {
    ChangePool(PoolOf(a), 0, false, -static_cast<std::int64_t>(a.bytes));
  } else if (a.layer == Layer::kVmmPhysical) {
    const auto it = handles_.find(a.address);
    if (it == handles_.end()) return;
    if (it->second.mappings == 0 || a.end_reason != EndReason::kFreed) {
      handles_.erase(it);
      return;
    }
    it->second.released = true;
    beyond_[it->second.device] += it->second.bytes;
  }
}

void ReservedBeyond::After(EventId event) {
  const EventTable& events = session_.events();
  const std::size_t i = event.value;
  switch (events.op(i)) {
    case Op::kPoolSample:
      SamplePool(event);
      break;
    case Op::kPoolDestroy:
      for (auto& [key, pool] : pools_) {
        if (key.layer == Layer::kStreamOrdered && key.handle == events.address(i) &&
            (key.device == events.device(i) || events.device(i) == kNoDevice)) {
          ChangePool(key, 0, true, 0);
        }
      }
      break;
    case Op::kMap:
      Map(event);
      break;
    case Op::kUnmap:
      Unmap(event);
      break;
    default:
      break;
  }
}

// A pool of another process is never sampled; should a log say so, its memory is not ours to count.
void ReservedBeyond::SamplePool(EventId event) {
  const EventTable& events = session_.events();
  const std::size_t i = event.value;
  if (events.layer(i) == Layer::kImported) return;
  const bool graph = events.layer(i) == Layer::kGraph;
  ChangePool({graph ? Layer::kGraph : Layer::kStreamOrdered, graph ? 0 : events.address(i),
              events.device(i)},
             events.bytes(i), true, 0);
}

void ReservedBeyond::Map(EventId event) {
  const EventTable& events = session_.events();
  const std::size_t i = event.value;
  if (!GivesAddress(events.layer(i))) return;
  const auto handle = handles_.find(events.aux0(i));
  if (handle == handles_.end()) return;
  ++handle->second.mappings;
  const auto [it, fresh] = mapped_.try_emplace(events.address(i), events.bytes(i), events.aux0(i));
  if (!fresh) {  // its unmap was missed
    const std::uint64_t old = it->second.second;
    it->second = {events.bytes(i), events.aux0(i)};
    DropMapping(old);
  }
}

void ReservedBeyond::Unmap(EventId event) {
  const EventTable& events = session_.events();
  if (events.layer(event.value) == Layer::kMulticast) return;
  const std::uint64_t begin = events.address(event.value);
  const std::uint64_t end = EndAddress(begin, events.bytes(event.value));
  auto it = mapped_.lower_bound(begin);
  while (it != mapped_.end() && it->first < end) {
    const std::uint64_t handle = it->second.second;
    it = mapped_.erase(it);
    DropMapping(handle);
  }
}

void ReservedBeyond::DropMapping(std::uint64_t key) {
  const auto it = handles_.find(key);
  if (it == handles_.end()) return;
  Handle& handle = it->second;
  if (handle.mappings > 0) --handle.mappings;
  if (!handle.released || handle.mappings > 0) return;
  beyond_[handle.device] -= handle.bytes;
  handles_.erase(it);
}

}  // namespace memprof::analysis
