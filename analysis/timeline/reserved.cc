// Follows pool samples.
#include "analysis/timeline/reserved.h"

#include "analysis/store/lifetime_walk.h"

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
  if (a.layer == Layer::kStreamOrdered || a.layer == Layer::kGraph)
    ChangePool(PoolOf(a), 0, false, static_cast<std::int64_t>(a.bytes));
}

void ReservedBeyond::Death(AllocationId id) {
  const AllocationRecord& a = session_.record(id);
  if (a.layer == Layer::kStreamOrdered || a.layer == Layer::kGraph)
    ChangePool(PoolOf(a), 0, false, -static_cast<std::int64_t>(a.bytes));
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

}  // namespace memprof::analysis
